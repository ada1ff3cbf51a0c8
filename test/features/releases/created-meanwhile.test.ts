/**
 * Somebody creates a bundle's object between our look and our first apply, against an API server (the one of
 * KUBECONFIG, else the development one).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import {
  bundleOf,
  configMap,
  configMaps,
  find,
  put,
  type Scene,
  signal,
  startScene,
  wholeRound,
} from './round-scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene?.stop());

describe('an object that somebody creates between the look and the apply (§3.4)', () => {
  /** @param isLost whether the first giving back fails */
  async function raced(create: (ns: string) => Promise<KubeObject>, isLost = false) {
    const ns = await scene.namespace();
    const { kube } = scene;
    let theirs: KubeObject | null = null;
    let patches = 0;
    const patch: typeof kube.patch = async (resource, options, ended) => {
      theirs ??= await create(ns);
      if (isLost && ++patches === 2) throw new OrreryError('KUBE_UNREACHABLE', 'lost');
      return kube.patch(resource, options, ended);
    };
    const bundle = bundleOf([configMap(ns, 'a', { x: '1', both: 'same' })]);
    const parts = { kube: { ...kube, patch }, joined: new Set<string>(), bundle, onApplied: () => {} };
    const first = await wholeRound(parts, [], signal);
    const next = async () => (isLost ? await wholeRound(parts, [], signal) : first);
    return {
      first,
      last: await next(),
      theirs: theirs as KubeObject | null,
      now: await find(scene, ns, 'a'),
    };
  }
  const isTheirs = {
    failed: 1,
    errors: [expect.stringMatching(/ConfigMap .*\/a: it exists without the label orrery\.dev\/bundle/)],
  };
  const data = { both: 'same', their: 'own' };

  test('is given back as it was, and is an error', async () => {
    const made = (name: string, namespace: string) =>
      scene.kube.create(configMaps, { metadata: { name, namespace, labels: { app: 'x' } }, data }, signal);
    const { last, theirs, now } = await raced((ns) => made('a', ns));
    expect(last).toMatchObject(isTheirs);
    const plain = ({ metadata: { name, uid, labels: said }, data }: KubeObject) => ({
      name,
      uid,
      said,
      data,
    });
    expect(now && plain(now)).toEqual(theirs && plain(theirs));
    expect(now?.metadata.managedFields?.map(({ manager }) => manager)).not.toContain('orrery-release');
  });

  test('the same if its creator applies it', async () => {
    const applied = (namespace: string) => {
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace }, data };
      const by = { type: 'apply', fieldManager: 'somebody', force: false } as const;
      return scene.kube.patch(configMaps, { namespace, name: 'a', body, ...by }, signal);
    };
    const { last, now } = await raced(applied);
    expect(last).toMatchObject(isTheirs);
    expect([now?.data, now?.metadata.labels]).toEqual([data, undefined]);
    expect(now?.metadata.managedFields).toMatchObject([{ manager: 'somebody' }]);
  });

  test('with the next round, if giving it back fails', async () => {
    const { first, last, now } = await raced((ns) => put(scene, ns, 'a', { app: 'x' }), true);
    expect(first).toMatchObject({ failed: 1, errors: [expect.stringContaining('lost')] });
    expect(last).toMatchObject(isTheirs);
    expect([now?.data, now?.metadata.labels]).toEqual([{ from: 'elsewhere' }, { app: 'x' }]);
  });

  test('is adopted, if the manifest says so', async () => {
    const ns = await scene.namespace();
    const { kube } = scene;
    let made: Promise<KubeObject> | null = null;
    const patch: typeof kube.patch = async (...call) => {
      made ??= put(scene, ns, 'a', { app: 'x' });
      await made;
      return kube.patch(...call);
    };
    const adopting = configMap(ns, 'a', { x: '1' }, { annotations: { 'orrery.dev/adopt': 'true' } });
    const parts = { bundle: bundleOf([adopting]), joined: new Set<string>(), onApplied: () => {} };
    expect(await wholeRound({ kube: { ...kube, patch }, ...parts }, [], signal)).toMatchObject({
      failed: 0,
    });
    expect(await find(scene, ns, 'a')).toMatchObject({ data: { x: '1', from: 'elsewhere' } });
  });
});
