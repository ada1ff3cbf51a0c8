/** Replicas that hear one another, and work with streams of different JetStreams. */
import { expect, test } from 'vitest';
import { type Directory, startDirectory } from '../../../src/actors/members/directory.ts';
import { OneStore } from '../../../src/actors/members/one-store.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { Bus, StreamState } from '../../../src/bus/bus.ts';
import { unreachable } from '../../../src/bus/bus-errors.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');
type Stream = Pick<StreamState, 'created' | 'domain'>;
const hub: Stream = { created: '2026-01-01T00:00:00.1Z', domain: 'hub' };
const leaf: Stream = { created: '2026-03-01T00:00:00.2Z', domain: 'leaf' };
const standsAside =
  /^replica \w+ works with the streams of another JetStream \(domain hub\) under the same --cluster test, this one with those of a JetStream \(domain leaf\) of its own: /;

const stateOf =
  (stream: () => Stream): Bus['streamState'] =>
  async () => ({ lastSequence: 0, firstSequence: 1, messages: 0, copies: 1, ...stream() });

function scene() {
  const clock = new VirtualClock();
  const server = memoryHub({ clock, cluster: 'test' });
  /** @param stream what its JetStream says of the state stream */
  const start = async (replica: string, stream: () => Stream, startsTo: 'serve' | 'claim' = 'serve') => {
    const bus = server.connect(replica);
    const errors: string[] = [];
    const log = { ...silentLog, error: (_: object, text: string) => void errors.push(text) };
    const told = { streamState: stateOf(stream), onStatus: bus.onStatus.bind(bus) };
    const one = new OneStore({ clock, random: seededRandom(1), log, cluster: 'test', bus: told });
    let directory: Directory | undefined;
    const engine = {
      get directory(): Directory {
        if (directory === undefined) throw new Error('not started');
        return directory;
      },
    };
    const run = one.run(engine);
    const blocked = () => run.blocked?.() ?? null;
    expect(blocked()).toBeNull();
    await run.prepare?.();
    let isLeaving = true;
    directory = startDirectory({
      ...{ bus, subjects, clock, replica, incarnation: `${replica}-${clock.now()}` },
      describe: () => ({
        ...{ release: '1', leaving: isLeaving, tells: true, shards: [], editions: [] },
        ...{ serving: blocked() === null, actors: 0, stepsPerSecond: 0, ...one.told() },
      }),
      onChange: () => void blocked(),
    });
    const claim = () => {
      isLeaving = false;
      directory?.beat();
      run.started?.();
    };
    if (startsTo === 'serve') {
      await clock.advance(200);
      claim();
      await clock.advance(1_000);
    }
    const stop = ({ isKilled = false } = {}) => {
      isLeaving = true;
      if (!isKilled) directory?.beat();
      directory?.stop();
      void run.stop?.();
    };
    return {
      blocked,
      remarks: () => run.remarks?.() ?? [],
      isOutside: () => run.isOutside?.(),
      doubt: () => [...(run.gauges?.() ?? [])].map(({ value }) => value),
      errors,
      claim,
      stop,
    };
  };
  return { clock, start };
}

const notOne = (one: Awaited<ReturnType<ReturnType<typeof scene>['start']>>) => [
  one.blocked(),
  one.remarks(),
  one.errors,
];
const fine = [null, [], []];

test('replicas that work with the same streams serve, and nothing is said', async () => {
  const { clock, start } = scene();
  const replicas = [await start('a', () => hub), await start('b', () => hub)];
  await clock.advance(5_000);
  for (const one of replicas) expect([...notOne(one), one.doubt()]).toEqual([...fine, [0]]);
});

test('one that starts with other streams than those who serve never serves, also while they are away', async () => {
  const { clock, start } = scene();
  const a = await start('a', () => hub);
  const b = await start('b', () => leaf);
  expect(b.blocked()).toMatch(standsAside);
  expect(b.isOutside()).toBe(true);
  expect([a.blocked(), a.isOutside()]).toEqual([null, false]);
  expect([a.doubt(), b.doubt()]).toEqual([[1], [1]]);
  expect(a.remarks()).toEqual([
    expect.stringMatching(
      /^work with the streams of another JetStream under the same --cluster: b \(domain leaf\)\. /,
    ),
  ]);
  expect([a.errors, b.errors].map(({ length }) => length)).toEqual([1, 1]);
  await clock.advance(20_000);
  a.stop({ isKilled: true });
  await clock.advance(120_000);
  expect(b.blocked()).toMatch(standsAside);
  const again = await start('a', () => hub);
  await clock.advance(5_000);
  expect(again.blocked()).toBeNull();
});

test('where both serve when they hear one another, those with the younger stream stand aside at once', async () => {
  const { clock, start } = scene();
  const replicas = [
    await start('a', () => leaf, 'claim'),
    await start('b', () => hub, 'claim'),
    await start('c', () => hub, 'claim'),
  ];
  for (const one of replicas) one.claim();
  await clock.advance(700);
  const [a, b, c] = replicas;
  expect(a?.blocked()).toMatch(standsAside);
  await clock.advance(60_000);
  expect([b, c].map((one) => one?.blocked())).toEqual([null, null]);
});

test('a stream that is made again, which some know earlier than others, keeps nobody from serving', async () => {
  const { clock, start } = scene();
  let isAnew = false;
  const now = () => (isAnew ? { ...hub, created: '2026-05-05T00:00:00.5Z' } : hub);
  const a = await start('a', now);
  const b = await start('b', now);
  isAnew = true;
  const c = await start('c', now);
  await clock.advance(4_000);
  for (const one of [a, b, c]) expect(one.blocked()).toBeNull();
  for (const one of [a, b, c]) expect(one.remarks()).toEqual([]);
});

test('whoever is led to the same JetStream as the others serves with them', async () => {
  const { clock, start } = scene();
  await start('a', () => hub);
  let stream = leaf;
  const b = await start('b', () => stream);
  expect(b.blocked()).toMatch(standsAside);
  stream = hub;
  await clock.advance(2_000);
  expect(b.blocked()).toBeNull();
});

test('whoever stood aside for a process serves once another of its name serves with the same streams', async () => {
  const { clock, start } = scene();
  const a = await start('a', () => hub);
  const b = await start('b', () => leaf);
  await clock.advance(20_000);
  a.stop();
  await clock.advance(30_000);
  expect(b.blocked()).toMatch(standsAside);
  await start('a', () => leaf);
  await clock.advance(5_000);
  expect(b.blocked()).toBeNull();
});

test('where the stream cannot be read, all goes on as if there were one', async () => {
  const { clock, start } = scene();
  const a = await start('a', () => hub);
  const b = start('b', () => {
    throw unreachable('timeout');
  });
  await clock.advance(10_000);
  for (const one of [a, await b]) expect(notOne(one)).toEqual(fine);
});
