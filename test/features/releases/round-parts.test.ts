/**
 * A round that takes longer than an effect may goes on where it stopped (docs/features/releases.md §4.6);
 * news that takes longer than a round is no drift.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BundleObject } from '../../../src/features/releases/bundle.ts';
import { BundleRound } from '../../../src/features/releases/bundle-round.ts';
import { until } from '../../until.ts';
import { bundleOf, configMap, find, putOurs, type Scene, signal, startScene } from './round-scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene?.stop());

/** A round over these objects, each part of which has time for so many requests that write. */
function slowRound(objects: readonly BundleObject[], writesMax: number) {
  const bundle = bundleOf(objects);
  const round = new BundleRound(bundle);
  const written: string[] = [];
  const part = () => {
    let writes = 0;
    const { kube } = scene;
    return round.goOn(
      {
        kube: {
          ...kube,
          patch: (resource, options, ended) => {
            writes++;
            written.push(options.name);
            return kube.patch(resource, options, ended);
          },
          delete: (...call) => {
            writes++;
            written.push(`-${call[2]}`);
            return kube.delete(...call);
          },
        },
        joined: new Set(),
        isOver: () => writes >= writesMax,
        onApplied: () => {},
      },
      [],
      signal,
    );
  };
  return { bundle, round, part, written };
}

test('every object is applied once, and what is no longer in the bundle goes at the end', async () => {
  const ns = await scene.namespace();
  await putOurs(scene, ns, 'old-1');
  await putOurs(scene, ns, 'old-2');
  const names = Array.from({ length: 10 }, (_, n) => `c-${n}`);
  const { part, written } = slowRound(
    names.map((name) => configMap(ns, name, { x: '1' })),
    4,
  );
  const first = await part();
  expect(first).toMatchObject({ failed: 0, pruned: 0 });
  expect(first.toGo).toBeGreaterThan(0);
  let last = first;
  for (let parts = 1; last.toGo !== undefined && parts < 20; parts++) last = await part();
  expect(last).toMatchObject({ applied: 10, pruned: 2, failed: 0 });
  expect(written.slice(0, 10).sort()).toEqual(names);
  expect(written.slice(10).sort()).toEqual(['-old-1', '-old-2']);
  expect(await find(scene, ns, 'old-1')).toBeNull();
});

test('an object that drifted meanwhile is applied again in the same round', async () => {
  const ns = await scene.namespace();
  const objects = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => configMap(ns, name, { x: '1' }));
  const { bundle, round, part, written } = slowRound(objects, 4);
  await part();
  const [first] = written;
  const manifest = bundle.objects.find(({ metadata }) => metadata.name === first);
  if (manifest === undefined) throw new Error('nothing was written');
  round.forget(manifest);
  await part();
  await part();
  expect(written.filter((name) => name === first)).toHaveLength(2);
});

test('a list from before a deletion that arrives after the round tells no drift', async () => {
  const ns = await scene.namespace();
  await putOurs(scene, ns, 'goes');
  const { kube } = scene;
  const [read, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let lists = 0;
  const list: typeof kube.list = async (...asked) => {
    const isOfTheWatch = ++lists === 1;
    const answer = await kube.list(...asked);
    if (!isOfTheWatch) return answer;
    expect(answer.items.map(({ metadata }) => metadata.name)).toContain('goes');
    read.resolve();
    await arrived.promise;
    return answer;
  };
  const remove: typeof kube.delete = async (...asked) => {
    await read.promise;
    await kube.delete(...asked);
  };
  const bundle = bundleOf([configMap(ns, 'a', { x: '1' })]);
  const { work, drift } = scene.work(bundle, { ...kube, list, delete: remove });
  await work.round([], signal);
  expect(await find(scene, ns, 'goes')).toBeNull();
  arrived.resolve();
  await putOurs(scene, ns, 'later');
  await until(() => drift.includes(`ConfigMap ${ns}/later`), { what: 'what really drifted' });
  expect(drift).toEqual([`ConfigMap ${ns}/later`]);
});
