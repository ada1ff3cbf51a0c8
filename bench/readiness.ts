/**
 * Pod readiness with real processes: how long from "the balancer reaches the Pod through its last Service" to
 * the Pod's condition True, how many HTTP calls that takes, and what it costs the replicas.
 *
 * Run: node bench/readiness.ts [--only roll|wide|groups|crowd|killed|lost|plain] [--rolls 40]
 * [--delay 200ms-2s] [--pods 1000] [--replicas 3] [--program dist/main.js] [--node-options …]
 * - roll: a group of 3 Pods × 20 Services whose Pods are replaced one by one, `--rolls` times, by
 *   `--replicas` replicas
 * - wide: 3 Pods × 200 Services, all new at once
 * - groups: `--pods` Pods in groups of 20, each with 20 Services of its own, all new at once
 * - crowd: `--pods` Pods × 20 Services as one group, all new at once
 * - killed: 3 Pods × 100 Services in each of 5 groups, all new at once; a replica is killed when a third of
 *   the routes are there
 * - lost: 6 Pods × 20 Services, withdrawn where a route is lost; one after the other answers with 503 from
 *   some moment on, while another Pod of the group, which always did, waits
 * - plain: what `groups` takes a plain program in one process (plain-prober.ts)
 *
 * `--program` and `--node-options` are for the replicas; as deployed they run dist/main.js (npm run build)
 * with `--max-old-space-size=640 --max-semi-space-size=8`. Processor time is told of the replicas, of
 * nats-server and of this process: the API server, the routing and all Pods.
 */

import { pods } from '../packages/dev-cluster/resources.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import {
  attempts,
  type Bench,
  costs,
  detection,
  isReady,
  namespace,
  pod,
  quantiles,
  row,
  setUp,
  signal,
  until,
  values,
} from './readiness-stage.ts';

/** A scenario ends after this time, ms, with what it has measured by then. */
const scenarioMs = 170_000;

async function roll(): Promise<void> {
  const serviceCount = 20;
  const bench = await setUp({ services: serviceCount, delay: values.delay });
  const { kube } = bench.cluster;
  const names = ['web-0', 'web-1', 'web-2'];
  for (const name of names) await kube.create(pods, pod(name), signal);
  await until(() => names.every((name) => isReady(bench, name)), 60_000);
  const before = new Set(bench.seen.keys());
  const callsBefore = bench.calls();
  const started = clock.monotonic();
  let rolls = 0;
  while (rolls < values.rolls && clock.monotonic() - started < scenarioMs) {
    const name = names[rolls % 3] ?? '';
    await kube.delete(pods, namespace, name, {}, signal);
    await until(() => !bench.cluster.kubelet.running().has(`${namespace}/${name}`), 10_000);
    await kube.create(pods, pod(name), signal);
    if (!(await until(() => isReady(bench, name), 60_000))) row('not ready within 60 s', name);
    rolls += 1;
  }
  const seconds = (clock.monotonic() - started) / 1000;
  const { times, early } = detection(
    [...bench.seen].flatMap(([ip, one]) => (before.has(ip) ? [] : [one])),
    serviceCount,
  );
  const calls = bench.calls() - callsBefore;
  row(`roll: 3 Pods × ${serviceCount} Services, delay ${values.delay}: last route → True`, quantiles(times));
  row('  marked before the last route was programmed', String(early));
  row(
    '  HTTP calls for each roll; in a second',
    `${Math.round(calls / rolls)}; ${Math.round(calls / seconds)}`,
  );
  await costs(bench);
  await bench.stop();
}

async function createPods({ cluster }: Bench, podCount: number, groups: number): Promise<void> {
  let next = 0;
  const maker = async () => {
    for (let n = next++; n < podCount; n = next++)
      await cluster.kube.create(pods, pod(`web-${n}`, `g${n % groups}`), signal);
  };
  await Promise.all(Array.from({ length: 16 }, maker));
}

const markedOf = ({ seen }: Bench) => [...seen.values()].filter(({ trueAt }) => trueAt !== null);

/** All Pods are new at once. */
async function allAtOnce(
  title: string,
  podCount: number,
  serviceCount: number,
  delay: string,
  { groups = 1, isPlain = false } = {},
): Promise<void> {
  const bench = await setUp({ services: serviceCount, delay, groups, isSteady: true, isPlain });
  await costs(bench);
  const started = clock.monotonic();
  await createPods(bench, podCount, groups);
  const marked = () => markedOf(bench).length;
  const isDone = await until(() => marked() >= podCount, scenarioMs);
  const all = [...bench.seen.values()];
  const { times, early } = detection(all, serviceCount);
  const lastRoute = Math.max(...all.map(({ programmedAt }) => programmedAt));
  const lastTrue = Math.max(...all.map(({ trueAt }) => trueAt ?? 0));
  const bound = 2 * attempts * podCount * serviceCount;
  const grouped = groups === 1 ? '' : ` in ${groups} groups`;
  row(
    `${title}: ${podCount} Pods × ${serviceCount} Services${grouped}: last route of a Pod → True`,
    quantiles(times),
  );
  row(
    '  Pods that are ready; from the first Pod made',
    `${marked()}; ${Math.round(clock.monotonic() - started)} ms`,
  );
  row(
    '  from the last route of all to the last Pod ready',
    isDone ? `${lastTrue - lastRoute} ms` : 'not all are',
  );
  row('  marked before the last route was programmed', String(early));
  // Whatever is in progress ends within a round trip or two.
  await sleep(clock, 500);
  row('  HTTP calls; 2 × attempts × replicas × Services', `${bench.calls()}; ${bound}`);
  row('  saved steps', bench.steps());
  await costs(bench);
  await bench.stop();
}

/** A replica dies while 15 Pods prove 1,500 routes. */
async function killed(): Promise<void> {
  const [groups, serviceCount, podCount] = [5, 100, 15];
  const bench = await setUp({ services: serviceCount, groups, delay: '0ms-200ms', isSteady: true });
  const routes = () => [...bench.seen.values()].reduce((sum, { programmed }) => sum + programmed, 0);
  await createPods(bench, podCount, groups);
  await until(() => routes() >= (podCount * serviceCount) / 3, 60_000);
  const killedAt = clock.now();
  const before = markedOf(bench).length;
  await bench.cluster.kill(0);
  const isDone = await until(() => markedOf(bench).length >= podCount, 60_000);
  const all = [...bench.seen.values()];
  const lastRoute = Math.max(...all.map(({ programmedAt }) => programmedAt));
  const lastTrue = Math.max(...all.map(({ trueAt }) => trueAt ?? 0));
  const { early } = detection(all, serviceCount);
  row(
    `killed: ${podCount} Pods × ${serviceCount} Services in ${groups} groups: replica killed → all ready`,
    isDone ? `${lastTrue - killedAt} ms` : 'not all are',
  );
  row('  from the last route of all', `${lastTrue - lastRoute} ms`);
  row('  ready when it was killed; marked before the last route', `${before}; ${early}`);
  await costs(bench);
  await bench.stop();
}

/** Pods lose every route, and no object says so. */
async function lost(): Promise<void> {
  const bench = await setUp({ services: 20, delay: '0ms-200ms', whenRouteIsLost: 'withdraw' });
  const { kube, kubelet } = bench.cluster;
  const unhealthy = { 'dev.orrery.dev/health': 'unhealthy' };
  const names = Array.from({ length: 6 }, (_, n) => `web-${n}`);
  for (const name of names) await kube.create(pods, pod(name), signal);
  await kube.create(pods, pod('never', 'g0', unhealthy), signal);
  await until(() => names.every((name) => isReady(bench, name)), 60_000);
  // Watched routes are looked at each ten seconds or so: by then the rounds are those of everyday.
  await sleep(clock, 15_000);
  const since = new Map<string, number>();
  for (const name of names) {
    const body = { metadata: { annotations: unhealthy } };
    since.set(name, clock.now());
    await kube.patch(pods, { namespace, name, type: 'merge', body }, signal);
    await sleep(clock, 1_700);
  }
  const seenOfPod = (name: string) => bench.seen.get(kubelet.running().get(`${namespace}/${name}`) ?? '');
  await until(() => names.every((name) => seenOfPod(name)?.lostAt != null), 90_000);
  const times = names.flatMap((name) => {
    const at = seenOfPod(name)?.lostAt ?? null;
    return at === null ? [] : [at - (since.get(name) ?? 0)];
  });
  row('lost: 6 Pods × 20 Services: routes lost → condition False', quantiles(times));
  row('  condition is False', `${times.length} of ${names.length}`);
  row('  HTTP calls', String(bench.calls()));
  await costs(bench);
  await bench.stop();
}

const inGroups = () => ({ groups: Math.ceil(values.pods / 20) });
const scenarios: Readonly<Record<string, () => Promise<void>>> = {
  roll,
  wide: () => allAtOnce('wide', 3, 200, '0ms-200ms'),
  groups: () => allAtOnce('groups', values.pods, 20, '0ms-200ms', inGroups()),
  crowd: () => allAtOnce('crowd', values.pods, 20, '0ms-200ms'),
  killed,
  lost,
  plain: () => allAtOnce('plain', values.pods, 20, '0ms-200ms', { ...inGroups(), isPlain: true }),
};
for (const [name, measure] of Object.entries(scenarios)) {
  if (values.only === undefined || values.only === name) await measure();
}
