/** An object that cannot be read because a call was interrupted, perhaps that for another object. */
import { expect, test } from 'vitest';
import { v, watch } from '../../src/api/index.ts';
import { declarationOf } from '../../src/api/watch.ts';
import type { ObjectDigest } from '../../src/base/digests.ts';
import { OrreryError } from '../../src/base/errors.ts';
import type { KubeObject } from '../../src/base/kube-port.ts';
import { pods } from '../../src/features/routes/resources.ts';
import { mergeOne } from '../../src/kube/mirror/merged-watch.ts';
import { Scene } from '../kube/mirror/mirror-scene.ts';
import { VirtualClock } from '../virtual-clock.ts';

test('what was kept of it before stays, until it is read again; of another of its name nothing does', () => {
  let isInterrupted = false;
  const maps = watch('v1/ConfigMap', { digest: v.object({ size: v.number() }), read: () => ({ size: 7 }) });
  const declaration = declarationOf({ name: 'f', kinds: ['parcel'] }, maps, {
    report() {},
    clock: new VirtualClock(),
    call(_what, work) {
      if (isInterrupted)
        throw new OrreryError('INVARIANT', 'it did not yield', { facts: { interrupted: true } });
      return work();
    },
  });
  const base = { kind: 'kept', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} };
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } };
  const seen = (uid: string, before: ObjectDigest | null) => {
    const digest = { ...base, uid, ...declaration.digest(object, undefined) } as ObjectDigest;
    return declaration.carry?.(before, digest) ?? digest;
  };
  const first = seen('a', null);
  expect(first).toMatchObject({ kept: { size: 7 } });
  isInterrupted = true;
  expect(seen('a', first)).toMatchObject({ kept: { size: 7 } });
  expect(seen('b', first)).toMatchObject({ kept: null });
  expect(seen('a', null)).toMatchObject({ kept: null });
  isInterrupted = false;
  expect(seen('a', first)).toEqual(first);
});

/** Calls as care does: one that does not yield is interrupted, and the same fails at once for a while. */
function careful(scene: Scene, loopsIn: 'read' | 'wants') {
  const calls: string[] = [];
  let interruptedAt = Number.NEGATIVE_INFINITY;
  const failure = (cause?: Error) =>
    new OrreryError('INVARIANT', 'it did not yield', { facts: { interrupted: true }, cause });
  return {
    calls,
    call<T>(what: string, work: () => T): T {
      const isLater = scene.clock.monotonic() - interruptedAt < 2_500;
      if (what.endsWith(loopsIn) && isLater) throw failure();
      return work();
    },
    enter(call: 'read' | 'wants', name: string, isLooping: boolean): void {
      calls.push(`${call} ${name}`);
      if (call !== loopsIn || !isLooping) return;
      interruptedAt = scene.clock.monotonic();
      throw failure(new Error('its time is over'));
    },
  };
}

const podOf = (loops: boolean) => ({ labels: loops ? { loops: 'yes' } : {} });

/** A mirror of Pods for a feature, whose code does not yield for Pods with the label `loops`. */
async function mirrored(loopsIn: 'read' | 'wants') {
  const scene = new Scene();
  const { calls, call, enter } = careful(scene, loopsIn);
  const its = watch('v1/Pod', {
    digest: v.object({ name: v.string(), loops: v.boolean() }),
    read: ({ metadata: { name, labels = {} } }) => ({ name, loops: labels.loops === 'yes' }),
    wants({ name, loops }) {
      enter('wants', name, loops);
      return true;
    },
  });
  const read = (object: KubeObject) => {
    const result = its.keep(object);
    enter('read', object.metadata.name, object.metadata.labels?.loops === 'yes');
    return result;
  };
  const reported: string[] = [];
  const declaration = declarationOf(
    { name: 'f', kinds: ['parcel'] },
    { ...its, keep: read },
    { report: ({ metadata }) => void reported.push(metadata.name), clock: scene.clock, call },
  );
  const put = (name: string, loops = false) => scene.kube.put(pods, 'shop', name, podOf(loops));
  put('a');
  put('b', true);
  put('c');
  const replica = await scene.replica();
  await scene.start(replica.mirror(pods, null, mergeOne([declaration])));
  const names = () => scene.names('f/v1/Pod').map((key) => key.slice(-1));
  return { scene, calls, names, put, reported };
}

test.each(['read', 'wants'] as const)(
  'new objects whose %s failed because of another one are in the world soon; that one, once it has changed',
  async (loopsIn) => {
    const { scene, calls, names, put, reported } = await mirrored(loopsIn);
    await scene.clock.advance(100);
    expect(names()).not.toContain('b');
    put('d');
    await scene.clock.advance(3_000);
    expect(names()).toEqual(['a', 'c', 'd']);
    await scene.clock.advance(600_000);
    expect(calls.filter((call) => call === `${loopsIn} b`)).toHaveLength(1);
    expect(reported).toEqual(loopsIn === 'read' ? ['b'] : []);
    put('b');
    await scene.clock.advance(1_000);
    expect(names()).toEqual(['a', 'b', 'c', 'd']);
    put('a', true);
    await scene.clock.advance(100);
    put('c');
    await scene.clock.advance(10_000);
    expect(names()).toEqual(['a', 'b', 'c', 'd']);
  },
);
