/** A join in one replica (src/api/join.ts): what an actor is told of the objects that belong to its own. */
import { expect, test } from 'vitest';
import { featureLimits } from '../../src/actors/feature-limits.ts';
import { join, related, v, watch } from '../../src/api/index.ts';
import { type JoinOf, runJoin } from '../../src/api/join.ts';
import type { WorldEntry } from '../../src/base/digests.ts';
import { OrreryError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/log-port.ts';
import { VirtualClock } from '../virtual-clock.ts';

const nodes = watch('v1/Node', { digest: v.object({}) });
const pods = watch('v1/Pod', { digest: v.object({ node: v.string() }) });
const asked = join(nodes, {
  with: { pods: related(pods, ({ node }) => [{ name: node }]) },
  facts: (_, found) => ({ pods: found.pods.map(({ namespace, name }) => `${namespace}/${name}`) }),
});

const digest = (kept: object) => ({
  ...{ kind: 'kept' as const, uid: 'u', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} },
  kept,
});

/** As care does it: this call, or the same one shortly before, did not yield. */
const interruption = () => new OrreryError('INVARIANT', 'it did not yield', { facts: { interrupted: true } });

function stage(spec: JoinOf = asked) {
  const clock = new VirtualClock();
  const again: string[] = [];
  const world = {
    get: () => digest({}),
    entries: () => [{ namespace: '', name: 'worker' }],
    statement: () => ({}),
  };
  const parts = { feature: 'f', kind: 'drain', world: world as never, log: silentLog, clock };
  const tellAgain = (ids: Iterable<string>) => {
    for (const id of ids) {
      again.push(id);
      own.observe('drain', '_', 'worker');
    }
  };
  const own = runJoin(spec, { ...parts, tellAgain });
  const put = (namespace: string, name: string) => {
    const entry = { resource: 'f/v1/Pod', namespace, name, digest: digest({ node: 'worker' }) };
    return [...own.fold(entry as unknown as WorldEntry, null)];
  };
  return { own, put, clock, again };
}

test('what belongs to an object comes by namespace and name, in whatever order it came', () => {
  const { own, put } = stage();
  for (const [namespace, name] of [
    ['b', 'x'],
    ['a', 'y'],
    ['a', 'x'],
  ] as const)
    expect(put(namespace, name)).toEqual(['drain/_/worker']);
  const told = () => own.observe('drain', '_', 'worker')?.facts;
  expect(told()).toEqual({ pods: ['a/x', 'a/y', 'b/x'] });
  // Changed, and so kept anew: it stays where it was.
  put('a', 'x');
  expect(told()).toEqual({ pods: ['a/x', 'a/y', 'b/x'] });
});

test('every object is told of, and facts are worked out then', () => {
  expect([...stage().own.members()]).toEqual(['drain/_/worker']);
});

/** A Pod whose relation never yields, and a call that fails at once for all others while it was just so. */
function withLoop(loops: (name: string) => boolean) {
  let failsUntil = Number.NEGATIVE_INFINITY;
  const scene = stage({
    ...asked,
    relations: {
      pods: {
        of: pods as never,
        to(pod) {
          const now = scene.clock.monotonic();
          if (now >= failsUntil && !loops(pod.name)) return [{ name: 'worker' }];
          if (now >= failsUntil) failsUntil = now + featureLimits.callAgainMs;
          throw interruption();
        },
      },
    },
  });
  return { ...scene, told: () => scene.own.observe('drain', '_', 'worker')?.facts };
}

test('a relation whose call was interrupted is asked again, and nobody is told of a part meanwhile', async () => {
  let isLooping = true;
  const { put, told, clock, again } = withLoop(() => isLooping);
  for (const name of ['x', 'y', 'z']) put('a', name);
  expect(told()).toBeUndefined();
  isLooping = false;
  await clock.advance(featureLimits.callAgainMs);
  expect(again).toEqual(['drain/_/worker']);
  expect(told()).toEqual({ pods: ['a/x', 'a/y', 'a/z'] });
});

test('one that never yields costs no other object its place, and the actors are told without it', async () => {
  const { put, told, clock, again } = withLoop((name) => name === 'x');
  for (const name of ['x', 'y', 'z']) put('a', name);
  await clock.advance(8_000);
  expect([told(), again]).toEqual([undefined, []]);
  await clock.advance(12_000);
  expect(again).toEqual(['drain/_/worker']);
  expect(told()).toEqual({ pods: ['a/y', 'a/z'] });
});

test('a relation that is missing holds nobody back once its object is gone', async () => {
  const { own, put, told, clock, again } = withLoop(() => true);
  put('a', 'x');
  expect(told()).toBeUndefined();
  own.fold({ resource: 'f/v1/Pod', namespace: 'a', name: 'x', digest: null }, null);
  await clock.advance(featureLimits.callAgainMs);
  expect(again).toEqual(['drain/_/worker']);
  expect(told()).toEqual({ pods: [] });
});

test('an actor whose facts were interrupted is told again, later and later while they are', async () => {
  let calls = 0;
  const { own, clock, again } = stage({
    ...asked,
    facts() {
      if (++calls < 3) throw interruption();
      return { calls };
    },
  });
  expect(own.observe('drain', '_', 'worker')).toBeNull();
  for (const [restMs, times] of [[2_500, 1] as const, [2_500, 1] as const, [2_500, 2] as const]) {
    await clock.advance(restMs);
    expect(again).toHaveLength(times);
  }
  expect(own.observe('drain', '_', 'worker')?.facts).toEqual({ calls: 4 });
  await clock.advance(600_000);
  expect(again).toHaveLength(2);
});
