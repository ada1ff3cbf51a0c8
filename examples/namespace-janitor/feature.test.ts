/** What namespace-janitor promises; any test runner will do, this is Node's own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from 'orrery';
import {
  chartFindings,
  type Manifest,
  matchTranscript,
  play,
  type Simulated,
  simulate,
  type TestCluster,
  testCluster,
} from 'orrery/testing';
import { feature, tenancy } from './feature.ts';

const ttl = 'examples.orrery.dev/ttl';
const startMs = 1_700_000_000_000;
const hour = 3_600_000;
const observed = (text: string, change: object = {}) => {
  const ends: Record<string, number> = { '12h': startMs + 12 * hour, '24h': startMs + 24 * hour };
  const facts = { uid: 'uid-1', deleting: false, text, endsAt: ends[text] ?? null, ...change };
  return { type: 'tenancy.observed', facts };
};
const gone = { type: 'tenancy.observed', facts: null };
const done = (what: string) => ({ type: `namespace.${what}.done`, changed: true });
const failed = (what: string) => ({ type: `namespace.${what}.failed`, message: 'no answer' });

test('every state is reached, ends by itself, and can be read about', () => {
  const events = [
    ...[observed('12h'), observed('24h'), observed('soon'), observed(''), gone],
    observed('12h', { deleting: true }),
    ...['hold', 'warn', 'release', 'delete'].flatMap((what) => [done(what), failed(what)]),
  ];
  const late = observed('12h', { endsAt: startMs - hour });
  const near = observed('12h', { endsAt: startMs + hour / 2 });
  const input = { id: 'tenancy/_/pr-7', namespace: '_', name: 'pr-7' };
  assert.deepEqual(
    chartFindings(tenancy.chart, [{ input, events: [...events, late, near], situationsMax: 300 }]),
    [],
  );
});

test('a namespace that is extended once, as it is told', () => {
  const text = play(feature, 'tenancy/_/pr-7', [
    { prose: 'A namespace that lives for twelve hours.' },
    observed('12h'),
    done('hold'),
    { wait: '11h' },
    done('warn'),
    { prose: 'Somebody reads the warning, and asks for twelve hours more.' },
    { wait: '10m' },
    observed('24h'),
    done('hold'),
    { wait: '710m' },
    done('warn'),
    { prose: 'Nobody does this time.' },
    { wait: '1h' },
    done('delete'),
    observed('24h', { deleting: true }),
    done('release'),
    gone,
  ]);
  matchTranscript(new URL('tenancy.txt', import.meta.url), text);
});

const namespace = (name: string, text: string): Manifest => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, annotations: { [ttl]: text } },
});

async function stage(text: string): Promise<TestCluster> {
  const cluster = testCluster({ features: [feature] });
  await cluster.kube.put(namespace('pr-7', text), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'content', namespace: 'pr-7' },
  });
  await cluster.start('a');
  await cluster.start('b');
  return cluster;
}

const stateOf = (cluster: TestCluster) => cluster.actor('tenancy/_/pr-7')?.state ?? null;
const extend = (cluster: TestCluster, text: string | null) =>
  cluster.kube.patch('v1/Namespace', 'pr-7', { metadata: { annotations: { [ttl]: text } } });

test('it is warned of, extended, warned of anew, and deleted with everything in it', async () => {
  using cluster = await stage('61m');
  const { kube } = cluster;
  await cluster.until('people are warned', () => stateOf(cluster) === 'living.warned');
  await extend(cluster, '63m');
  await cluster.until('it lives on', () => stateOf(cluster) === 'living.young');
  await cluster.until('people are warned again', () => stateOf(cluster) === 'living.warned');
  const events = await kube.list('events.k8s.io/v1/Event');
  assert.equal(events.filter(({ reason }) => reason === 'NamespaceExpires').length, 2);
  await extend(cluster, '1m');
  await cluster.until('it is gone', async () => (await kube.get('v1/Namespace', 'pr-7')) === null);
  assert.equal(await kube.get('v1/ConfigMap', 'content', 'pr-7'), null);
  await cluster.until('its actor has ended', () => stateOf(cluster) === null);
});

test('one whose annotation is taken away is let go, and lives', async () => {
  using cluster = await stage('2h');
  await cluster.until('it is held', () => stateOf(cluster) === 'living.young');
  await extend(cluster, null);
  await cluster.until('it is forgotten', () => stateOf(cluster) === null);
  const left = await cluster.kube.get('v1/Namespace', 'pr-7');
  assert.deepEqual([left?.metadata.finalizers, left?.metadata.deletionTimestamp], [undefined, undefined]);
});

test('a text that is no time deletes nothing, and is told as wrong', async () => {
  using cluster = await stage('next week');
  await cluster.until('it is told', () => cluster.actor('tenancy/_/pr-7')?.health === 'wrong');
  assert.match(cluster.describe(), /"next week" of pr-7 is no time to live, such as 90m, 12h or 7d/);
  await extend(cluster, '2h');
  await cluster.until('it lives', () => stateOf(cluster) === 'living.young');
});

const textOf = ({ metadata }: KubeObject) => metadata.annotations?.[ttl] ?? '';
/** What was just written may be on its way to the replicas for as long as faults last. */
const onItsWayMs = 45_000;

/** The promise that matters: nothing is deleted before its time. */
function neverEarly({ kube, now, breach }: Simulated): void {
  const known = new Map<string, { text: string; since: number }>();
  kube.watch('v1/Namespace', (_, object) => {
    const { name, creationTimestamp = '', deletionTimestamp } = object.metadata;
    const before = known.get(name);
    const text = textOf(object);
    if (before?.text !== text) known.set(name, { text, since: now() });
    const minutes = Number(/^(\d+)m$/.exec(text)?.[1] ?? Number.POSITIVE_INFINITY);
    const isEarly = Date.parse(creationTimestamp) + minutes * 60_000 > now() + 5_000;
    const isSettled = before !== undefined && now() - before.since > onItsWayMs;
    if (deletionTimestamp !== undefined && before?.text === text && isEarly && isSettled)
      breach(`${name} is deleted, though it lives for ${text}`);
  });
}

test('four seeds, in which everything that can fail does', async () => {
  for (let seed = 1; seed <= 4; seed++) {
    const outcome = await simulate(
      {
        features: [feature],
        async begin({ kube }) {
          for (const n of [1, 2, 3]) await kube.put(namespace(`short-${n}`, '1m'));
          await kube.put(namespace('long', '600m'));
        },
        happens: [
          async ({ kube, chance }) => {
            const name = `short-${chance.int(1, 3)}`;
            const body = { metadata: { annotations: { [ttl]: `${chance.int(1, 2)}m` } } };
            if ((await kube.get('v1/Namespace', name)) !== null) await kube.patch('v1/Namespace', name, body);
          },
        ],
        invariants: [{ name: 'never early', watch: neverEarly }],
        // Clocks that are an hour wrong, and replicas that were away for hours, know another time.
        without: ['clockSet', 'away'],
        async unsettled({ kube }) {
          const names = (await kube.list('v1/Namespace')).map(({ metadata }) => metadata.name);
          const late = names
            .filter((name) => name.startsWith('short-'))
            .map((name) => `${name} is still there`);
          return names.includes('long') ? late : [...late, 'long is gone'];
        },
      },
      { seed, chaos: '70s' },
    );
    assert.equal(outcome.breach, null, `seed ${seed}: ${JSON.stringify(outcome.breach)}`);
  }
});
