/**
 * Rounds over a bundle against an API server (the one of KUBECONFIG, else the development one): what is
 * applied, adopted, left alone, replaced, pruned, and what is told of drift.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BundleObject } from '../../../src/features/releases/bundle.ts';
import { until } from '../../until.ts';
import {
  builtin,
  bundleOf,
  configMap,
  configMaps,
  find,
  ours,
  put,
  putOurs,
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

const configMapKind = { apiVersion: 'v1', kind: 'ConfigMap' };
const round = (objects: readonly BundleObject[]) => scene.work(bundleOf(objects)).work.round([], signal);
const labels = ({ metadata }: { metadata: { labels?: Readonly<Record<string, string>> } }) => metadata.labels;

test('every object is applied under the field manager orrery-release, and a second round changes nothing', async () => {
  const ns = await scene.namespace();
  const { work } = scene.work(bundleOf([configMap(ns, 'a', { x: '1' }), configMap(ns, 'b', { y: '2' })]));
  expect(await work.round([], signal)).toMatchObject({ applied: 2, replaced: 0, failed: 0, errors: [] });
  const made = await find(scene, ns, 'a');
  expect(made).toMatchObject({ data: { x: '1' }, metadata: { labels: ours } });
  const { managedFields } = { ...made?.metadata } as { managedFields?: readonly object[] };
  expect(managedFields).toMatchObject([{ manager: 'orrery-release', operation: 'Apply' }]);
  await work.round([], signal);
  expect((await find(scene, ns, 'a'))?.metadata.resourceVersion).toBe(made?.metadata.resourceVersion);
});

test('a field that the manifest no longer has is removed; what others wrote elsewhere stays', async () => {
  const ns = await scene.namespace();
  await round([configMap(ns, 'a', { x: '1', old: 'yes' })]);
  await scene.kube.patch(
    configMaps,
    { namespace: ns, name: 'a', type: 'merge', body: { data: { theirs: 'kept' } } },
    signal,
  );
  await round([configMap(ns, 'a', { x: '2' })]);
  expect((await find(scene, ns, 'a'))?.data).toEqual({ x: '2', theirs: 'kept' });
});

test('an object of that name without the label is left alone and is an error, which does not stop the others', async () => {
  const ns = await scene.namespace();
  await put(scene, ns, 'theirs', { app: 'other' });
  const summary = await round([configMap(ns, 'theirs', { x: '1' }), configMap(ns, 'ours', { x: '1' })]);
  expect(summary).toMatchObject({ applied: 1, failed: 1 });
  expect(summary.errors[0]).toMatch(
    /ConfigMap .*\/theirs: .*orrery\.dev\/bundle.*orrery\.dev\/builtin.*orrery\.dev\/adopt/,
  );
  expect(await find(scene, ns, 'theirs')).toMatchObject({ data: { from: 'elsewhere' } });
  expect(await find(scene, ns, 'ours')).toMatchObject({ data: { x: '1' } });
});

test('with orrery.dev/adopt: "true" in the manifest such an object is adopted', async () => {
  const ns = await scene.namespace();
  const before = await put(scene, ns, 'theirs', { app: 'other' });
  const adopting = configMap(ns, 'theirs', { x: '1' }, { annotations: { 'orrery.dev/adopt': 'true' } });
  expect(await round([adopting])).toMatchObject({ applied: 1, failed: 0 });
  const after = await find(scene, ns, 'theirs');
  expect(after?.metadata.uid).toBe(before.metadata.uid);
  expect(after).toMatchObject({
    data: { x: '1', from: 'elsewhere' },
    metadata: { labels: { ...ours, app: 'other' } },
  });
});

test('a field that cannot be changed: the round fails and names the object, which stands as it stood (§3.5)', async () => {
  const ns = await scene.namespace();
  await round([configMap(ns, 'a', { x: '1' }, { immutable: true })]);
  const before = await find(scene, ns, 'a');
  const summary = await round([configMap(ns, 'a', { x: '2' }, { immutable: true })]);
  expect(summary).toMatchObject({ applied: 0, replaced: 0, failed: 1 });
  expect(summary.errors[0]).toMatch(/^ConfigMap .*\/a: .*immutable.*orrery\.dev\/on-immutable: recreate/);
  expect(await find(scene, ns, 'a')).toEqual(before);
});

test('with orrery.dev/on-immutable: recreate it is deleted and made anew', async () => {
  const ns = await scene.namespace();
  const annotations = { 'orrery.dev/on-immutable': 'recreate' };
  await round([configMap(ns, 'a', { x: '1' }, { immutable: true })]);
  const before = await find(scene, ns, 'a');
  expect(await round([configMap(ns, 'a', { x: '2' }, { immutable: true, annotations })])).toMatchObject({
    applied: 1,
    replaced: 1,
    failed: 0,
  });
  const after = await find(scene, ns, 'a');
  expect(after?.data).toEqual({ x: '2' });
  expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
});

/**
 * Objects of which a field cannot be changed, in two forms; the server says so in words of its own for each.
 */
function unchangeable(ns: string): Array<readonly [string, BundleObject, BundleObject]> {
  const named = (name: string, namespace?: string) => ({
    name,
    labels: builtin,
    annotations: { 'orrery.dev/on-immutable': 'recreate' },
    ...(namespace === undefined ? {} : { namespace }),
  });
  const binding = (role: string): BundleObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: named(ns),
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [],
  });
  const deployment = (app: string): BundleObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: named('web', ns),
    spec: {
      replicas: 0,
      selector: { matchLabels: { app } },
      template: {
        metadata: { labels: { app } },
        spec: { containers: [{ name: 'web', image: 'example.com/web:1' }] },
      },
    },
  });
  const service = (clusterIP: string | undefined): BundleObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: named('web', ns),
    spec: { ports: [{ port: 80 }], ...(clusterIP === undefined ? {} : { clusterIP }) },
  });
  return [
    ['roleRef of a binding', binding('view'), binding('edit')],
    ['selector of a Deployment', deployment('a'), deployment('b')],
    ['cluster IP of a Service', service(undefined), service('None')],
  ];
}

test('so are a binding with another role, a Deployment with another selector, a Service that becomes headless', async () => {
  const ns = await scene.namespace();
  for (const [what, before, after] of unchangeable(ns)) {
    const first = scene.work(bundleOf([before])).work;
    expect([what, await first.round([], signal)]).toMatchObject([what, { applied: 1, failed: 0 }]);
    first.stop();
    const then = scene.work(bundleOf([after])).work;
    expect([what, await then.round([], signal)]).toMatchObject([
      what,
      { applied: 1, replaced: 1, failed: 0 },
    ]);
    then.stop();
  }
  // What is left of it has no namespace that would take it along.
  await scene
    .work(bundleOf([configMap(ns, 'last', {})]))
    .work.round([{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' }], signal);
});

test('labelled objects that the bundle no longer has are deleted, others of the kind are not', async () => {
  const ns = await scene.namespace();
  await round([configMap(ns, 'stays', { x: '1' }), configMap(ns, 'goes', { x: '1' })]);
  await put(scene, ns, 'foreign', { app: 'other' });
  await put(scene, ns, 'says-no', { 'orrery.dev/builtin': 'false' });
  const summary = await round([configMap(ns, 'stays', { x: '1' })]);
  expect(summary.failed).toBe(0);
  expect(summary.pruned).toBeGreaterThanOrEqual(1);
  expect(await find(scene, ns, 'goes')).toBeNull();
  expect(labels((await find(scene, ns, 'stays')) ?? { metadata: {} })).toEqual(ours);
  expect(await find(scene, ns, 'foreign')).not.toBeNull();
  expect(await find(scene, ns, 'says-no')).not.toBeNull();
});

test('objects of kinds that only the last status names are deleted too', async () => {
  const ns = await scene.namespace();
  await round([configMap(ns, 'old', { x: '1' })]);
  const account: BundleObject = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'new', namespace: ns, labels: builtin },
  };
  const { work } = scene.work(bundleOf([account]));
  await work.round([], signal);
  expect(await find(scene, ns, 'old')).not.toBeNull();
  await work.round([configMapKind, { apiVersion: 'gone.example.com/v1', kind: 'Thing' }], signal);
  expect(await find(scene, ns, 'old')).toBeNull();
});

test('an object that changed since it was listed is not deleted in that round', async () => {
  const ns = await scene.namespace();
  await round([configMap(ns, 'old', { x: '1' })]);
  const account: BundleObject = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'new', namespace: ns, labels: builtin },
  };
  const { kube } = scene;
  const list: typeof kube.list = async (resource, options, ended) => {
    const answer = await kube.list(resource, options, ended);
    if (resource.plural === 'configmaps' && (await find(scene, ns, 'old')) !== null)
      await kube.patch(
        configMaps,
        { namespace: ns, name: 'old', type: 'merge', body: { data: { just: 'now' } } },
        ended,
      );
    return answer;
  };
  const racing = { ...scene, kube: { ...kube, list } };
  const parts = {
    kube: racing.kube,
    joined: new Set<string>(),
    bundle: bundleOf([account]),
    onApplied: () => {},
  };
  const summary = await wholeRound(parts, [configMapKind], signal);
  expect(summary.failed).toBeGreaterThanOrEqual(1);
  expect(summary.errors.join()).toMatch(/to be deleted/);
  expect((await find(scene, ns, 'old'))?.data).toMatchObject({ just: 'now' });
});

test('one bad object – refused, of an unknown kind, in a namespace that is not there – does not stop the others', async () => {
  const ns = await scene.namespace();
  const summary = await round([
    configMap(ns, 'first', { x: '1' }),
    { ...configMap(ns, 'unknown', {}), apiVersion: 'nowhere.example.com/v1', kind: 'Nothing' },
    configMap(`${ns}-missing`, 'homeless', { x: '1' }),
    configMap(ns, 'Not A Name', { x: '1' }),
    configMap(ns, 'last', { x: '1' }),
  ]);
  expect(summary).toMatchObject({ applied: 2, failed: 3 });
  expect(summary.errors).toHaveLength(3);
  expect(await find(scene, ns, 'last')).not.toBeNull();
});

test('namespaces and definitions are applied before what needs them, whatever their place in the bundle', async () => {
  const ns = `${await scene.namespace()}-b`;
  const summary = await round([
    configMap(ns, 'a', { x: '1' }),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ns, labels: builtin } },
  ]);
  expect(summary).toMatchObject({ applied: 2, failed: 0 });
});

test('drift is told: a changed field, a lost label, a deletion; a change elsewhere in the object is none', async () => {
  const ns = await scene.namespace();
  const objects = ['changed', 'unlabelled', 'deleted', 'extended'].map((name) =>
    configMap(ns, name, { x: '1' }),
  );
  const { work, drift } = scene.work(bundleOf(objects));
  await work.round([], signal);
  const patch = (name: string, body: object) =>
    scene.kube.patch(configMaps, { namespace: ns, name, type: 'merge', body }, signal);
  let times = 0;
  await patch('extended', { data: { theirs: 'too' } });
  await until(
    async () => {
      await patch('changed', { data: { x: `other ${++times}` } });
      return drift.some((object) => object.includes('changed'));
    },
    { what: 'drift in the changed object' },
  );
  await patch('unlabelled', { metadata: { labels: { 'orrery.dev/builtin': null } } });
  await scene.kube.delete(configMaps, ns, 'deleted', {}, signal);
  await until(
    () => ['unlabelled', 'deleted'].every((name) => drift.some((object) => object.includes(name))),
    { what: 'drift in the others' },
  );
  expect(drift.filter((object) => object.includes('extended'))).toEqual([]);
  const counted = drift.length;
  await work.round([], signal);
  expect((await find(scene, ns, 'changed'))?.data).toEqual({ x: '1' });
  expect((await find(scene, ns, 'deleted'))?.data).toEqual({ x: '1' });
  expect(drift.length - counted).toBeLessThanOrEqual(2);
});

test('a labelled object that the bundle does not have is told as drift too, and what a round itself deletes is not', async () => {
  const ns = await scene.namespace();
  await putOurs(scene, ns, 'left');
  const { work, drift } = scene.work(bundleOf([configMap(ns, 'a', { x: '1' })]));
  await work.round([], signal);
  expect(await find(scene, ns, 'left')).toBeNull();
  await put(scene, ns, 'forged', ours);
  await putOurs(scene, ns, 'later');
  await until(() => drift.length > 0, { what: 'drift' });
  expect(drift).toEqual([`ConfigMap ${ns}/later`]);
});

test('an object that has our label from somebody else is never deleted, and is named (§3.6)', async () => {
  const ns = await scene.namespace();
  const forged = await put(scene, ns, 'forged', ours);
  const summary = await round([configMap(ns, 'a', { x: '1' })]);
  expect(summary).toMatchObject({ failed: 0, left: expect.arrayContaining([`ConfigMap ${ns}/forged`]) });
  expect(await find(scene, ns, 'forged')).toEqual(forged);
});

test('a value of the wrong type is not told: it may be a password that lacks its quotes', async () => {
  const ns = await scene.namespace();
  const secret = (fields: object): BundleObject => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: ns, labels: builtin } },
    ...fields,
  });
  for (const fields of [{ stringData: { key: 48151623 } }, { stringData: 'a\n48151623' }]) {
    const { failed, errors } = await round([secret(fields)]);
    expect([failed, errors.join()]).toEqual([1, expect.stringMatching(/Secret .*\.stringData.*: expected/)]);
    expect(errors.join()).not.toContain('48151623');
  }
});

test('after the work has ended nothing more is applied', async () => {
  const ns = await scene.namespace();
  const { work } = scene.work(bundleOf([configMap(ns, 'a', { x: '1' })]));
  work.stop();
  await expect(work.round([], signal)).rejects.toThrow(/leadership is over/);
  expect(await find(scene, ns, 'a')).toBeNull();
});

describe('what is deleted', () => {
  test('nothing, after a round with a failure: who cannot apply knows too little to delete (§3.7)', async () => {
    const ns = await scene.namespace();
    await round([configMap(ns, 'goes', { x: '1' }), configMap(ns, 'stays', { x: '1' })]);
    const failing = [configMap(ns, 'stays', { x: '1' }), configMap(`${ns}-missing`, 'homeless', {})];
    expect(await round(failing)).toMatchObject({ applied: 1, failed: 1, pruned: 0 });
    expect(await find(scene, ns, 'goes')).not.toBeNull();
    expect(await round([configMap(ns, 'stays', { x: '1' })])).toMatchObject({ failed: 0, pruned: 1 });
    expect(await find(scene, ns, 'goes')).toBeNull();
  });

  test('nothing of another Orrery, of another bundle, or with the bare label of earlier releases (§3.4)', async () => {
    const ns = await scene.namespace();
    await put(scene, ns, 'another', { ...builtin, 'orrery.dev/bundle': 'elsewhere.platform' });
    await put(scene, ns, 'bare', builtin);
    expect(await round([configMap(ns, 'a', { x: '1' })])).toMatchObject({ failed: 0 });
    expect(await find(scene, ns, 'another')).not.toBeNull();
    expect(await find(scene, ns, 'bare')).not.toBeNull();
  });
});

test('an object of another bundle is never changed, though the manifest adopts (§3.4)', async () => {
  const ns = await scene.namespace();
  await put(scene, ns, 'theirs', { ...builtin, 'orrery.dev/bundle': 'elsewhere.platform' });
  const adopting = configMap(ns, 'theirs', { x: '1' }, { annotations: { 'orrery.dev/adopt': 'true' } });
  const summary = await round([adopting]);
  expect(summary).toMatchObject({ applied: 0, failed: 1 });
  expect(summary.errors[0]).toMatch(/belongs to the bundle elsewhere\.platform/);
  expect((await find(scene, ns, 'theirs'))?.data).toEqual({ from: 'elsewhere' });
});

test('an object with the bare label of earlier releases becomes this bundle’s, and no other one can have it then (§3.3)', async () => {
  const ns = await scene.namespace();
  await put(scene, ns, 'a', builtin);
  expect(await round([configMap(ns, 'a', { x: '1' })])).toMatchObject({ applied: 1, failed: 0 });
  expect(await find(scene, ns, 'a')).toMatchObject({ data: { x: '1' }, metadata: { labels: ours } });
  const other = bundleOf([configMap(ns, 'a', { x: '2' })], '0.1.0', 'other.platform');
  expect(await scene.work(other).work.round([], signal)).toMatchObject({ applied: 0, failed: 1 });
  expect((await find(scene, ns, 'a'))?.data).toMatchObject({ x: '1' });
});

test('a round tells what it made, changed and deleted, field by field; of a Secret no value (§6)', async () => {
  const ns = await scene.namespace();
  const secret = (value: string): BundleObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: ns, labels: builtin },
    stringData: { key: value },
  });
  const first = await round([configMap(ns, 'a', { x: '1' }), configMap(ns, 'b', {}), secret('hidden-1')]);
  expect(first.changes?.made.toSorted()).toEqual([
    `ConfigMap ${ns}/a`,
    `ConfigMap ${ns}/b`,
    `Secret ${ns}/s`,
  ]);
  expect(
    await round([configMap(ns, 'a', { x: '1' }), configMap(ns, 'b', {}), secret('hidden-1')]),
  ).not.toHaveProperty('changes');
  const { changes } = await round([configMap(ns, 'a', { x: '2', password: 'hidden-3' }), secret('hidden-2')]);
  expect(changes).toMatchObject({ made: [], pruned: [`ConfigMap ${ns}/b`], more: 0 });
  expect(changes?.changed.find(({ object }) => object.endsWith('/a'))).toEqual({
    object: `ConfigMap ${ns}/a`,
    fields: expect.arrayContaining([
      { path: 'data.x', from: '"1"', to: '"2"' },
      { path: 'data.password', from: null, to: '…' },
    ]),
  });
  expect(changes?.changed.some(({ object }) => object === `Secret ${ns}/s`)).toBe(true);
  const told = JSON.stringify([first, changes]);
  for (const text of ['hidden', Buffer.from('hidden').toString('base64').slice(0, 7)])
    expect(told).not.toContain(text);
});
