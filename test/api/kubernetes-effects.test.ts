/**
 * The effects on Kubernetes that come with the package, over HTTP: on the server that KUBECONFIG names, or
 * else on the development API. Each is done twice where a crash could do it twice.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startKubeApi } from '../../packages/kube-api/server.ts';
import { type Effect, kubernetes, type Tools } from '../../src/api/index.ts';
import { createKinds, kubernetesTools } from '../../src/api/kubernetes/calls.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { KubeObject } from '../../src/base/kube-port.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import { connectKube, type KubeConnection } from '../../src/kube/api/kube-connection.ts';
import { uniqueName } from '../conformance/conformance.ts';
import { until } from '../until.ts';

const { signal } = new AbortController();
const apiVersion = 'widgets.example.com/v1';
let kube: KubeConnection;
let tools: Tools;
let namespace: string;
const undo: Array<() => unknown> = [];

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.widgets.example.com' },
  spec: {
    group: 'widgets.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

beforeAll(async () => {
  let kubeconfig = process.env.KUBECONFIG ?? '';
  if (kubeconfig === '') {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-effects-'));
    const api = await startKubeApi({ clock, random, log: silentLog });
    kubeconfig = join(dir, 'kubeconfig');
    writeFileSync(kubeconfig, api.kubeconfig());
    undo.push(
      () => rmSync(dir, { recursive: true, force: true }),
      () => api.stop(),
    );
  }
  kube = connectKube({ kubeconfig, clock, random, log: silentLog });
  undo.push(() => kube.close());
  const parts = { kube, kinds: createKinds(kube, clock), signal, now: () => clock.now() };
  const of = {
    key: 'widget/shop/a/1/0',
    actor: 'widget/shop/a' as const,
    replica: 'test',
    fieldManager: 'orrery-widgets',
  };
  tools = { ...of, signal, kubernetes: kubernetesTools({ ...parts, ...of }) } as unknown as Tools;
  const crd = await kube.resolve('apiextensions.k8s.io/v1', 'CustomResourceDefinition', signal);
  await kube.patch(
    crd,
    { name: definition.metadata.name, type: 'apply', fieldManager: 'test', body: definition },
    signal,
  );
  const isServed = async () => (await kube.resolve(apiVersion, 'Widget', signal)) !== null;
  await until(isServed, { what: 'widgets are served', timeoutMs: 30_000 });
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

beforeEach(async () => {
  namespace = uniqueName('own');
  const namespaces = await kube.resolve('v1', 'Namespace', signal);
  await kube.create(
    namespaces,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    signal,
  );
});

const run = <P extends object, R>(effect: Effect<string, P, R>, params: P): Promise<R> =>
  effect.run(params, tools);
const get = (kind: `${string}/${string}`, name: string): Promise<KubeObject> =>
  tools.kubernetes.get(kind, { namespace, name });
const code = async (running: Promise<unknown>) =>
  running.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );

const apply = kubernetes.apply('map.apply', { resource: 'v1/ConfigMap' });
const patch = kubernetes.patch('map.patch', { resource: 'v1/ConfigMap' });
const hold = kubernetes.addFinalizer('map.hold', { resource: 'v1/ConfigMap', finalizer: 'example.com/hold' });
const free = kubernetes.removeFinalizer('map.free', {
  resource: 'v1/ConfigMap',
  finalizer: 'example.com/hold',
});
const own = kubernetes.own('map.own', { resource: 'v1/ConfigMap' });
const remove = kubernetes.delete('map.delete', { resource: 'v1/ConfigMap' });
const event = kubernetes.event('map.tell');
const widget = kubernetes.apply('widget.apply', { resource: 'widgets.example.com/v1/Widget' });
const status = kubernetes.status('widget.tell', { resource: 'widgets.example.com/v1/Widget' });
const evict = kubernetes.evict('pod.evict');

const object = (name: string, data: Record<string, string> = { a: '1' }) => ({
  metadata: { namespace, name },
  data,
});
const made = (name = 'a') => run(apply, { object: object(name) });

describe('apply', () => {
  test('makes the object under the feature’s own field manager, and changes nothing the second time', async () => {
    const first = await made();
    const { metadata, data } = await get('v1/ConfigMap', 'a');
    expect(data).toEqual({ a: '1' });
    const managers = (metadata as { managedFields?: readonly { manager: string }[] }).managedFields ?? [];
    expect(managers.map(({ manager }) => manager)).toEqual(['orrery-widgets']);
    expect(await made()).toEqual(first);
  });

  test('takes back what it applies no more, and leaves what others have set', async () => {
    await made();
    await run(patch, { namespace, name: 'a', patch: { data: { other: 'theirs' } } });
    await run(apply, { object: object('a', { b: '2' }) });
    expect((await get('v1/ConfigMap', 'a')).data).toEqual({ b: '2', other: 'theirs' });
  });

  test('fields of another manager are a conflict, unless they are taken over', async () => {
    await made();
    const other = kubernetes.apply('map.take', { resource: 'v1/ConfigMap', fieldManager: 'other' });
    expect(await code(run(other, { object: object('a', { a: '9' }) }))).toBe('KUBE_CONFLICT');
    const force = kubernetes.apply('map.force', {
      resource: 'v1/ConfigMap',
      fieldManager: 'other',
      force: true,
    });
    await run(force, { object: object('a', { a: '9' }) });
    expect((await get('v1/ConfigMap', 'a')).data).toEqual({ a: '9' });
  });

  test('an owner is set with it', async () => {
    const { uid } = await made('parent');
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'parent', uid, controller: true };
    await run(apply, { object: object('child'), owner });
    expect((await get('v1/ConfigMap', 'child')).metadata.ownerReferences).toEqual([owner]);
  });
});

describe('patch', () => {
  test('changes the very object of its uid and version, and no other', async () => {
    const { uid, resourceVersion } = await made();
    const change = { namespace, name: 'a', patch: { data: { a: '2' } } };
    expect(await code(run(patch, { ...change, uid: 'b27ce7ce-0000-4000-8000-000000000000' }))).toBe(
      'KUBE_NOT_FOUND',
    );
    await run(patch, { ...change, uid, resourceVersion });
    expect(await code(run(patch, { ...change, uid, resourceVersion }))).toBe('KUBE_CONFLICT');
    expect(await code(run(patch, { ...change, name: 'nobody' }))).toBe('KUBE_NOT_FOUND');
  });
});

describe('status', () => {
  const ready = (isReady: boolean, message = 'all is well') => ({
    type: 'Ready',
    status: isReady ? ('True' as const) : ('False' as const),
    reason: isReady ? 'Ready' : 'Waiting',
    message,
  });
  const statusOf = async () =>
    (await get('widgets.example.com/v1/Widget', 'a')).status as Record<string, unknown>;
  const conditionsOf = async () => (await statusOf()).conditions as Record<string, unknown>[];

  beforeEach(async () => {
    await run(widget, { object: { metadata: { namespace, name: 'a' }, spec: { size: 1 } } });
  });

  test('conditions tell of which generation they are, and when they changed; the same again writes nothing', async () => {
    const at = { namespace, name: 'a', observedGeneration: 1 };
    expect(await run(status, { ...at, conditions: [ready(false)], fields: { size: 1 } })).toEqual({
      changed: true,
    });
    expect(await statusOf()).toMatchObject({ observedGeneration: 1, size: 1 });
    const [before] = await conditionsOf();
    expect(before).toMatchObject({ ...ready(false), observedGeneration: 1 });
    expect(before?.lastTransitionTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(await run(status, { ...at, conditions: [ready(false)], fields: { size: 1 } })).toEqual({
      changed: false,
    });
    // Another message of the same status is no transition.
    await run(status, { ...at, observedGeneration: 2, conditions: [ready(false, 'soon')] });
    const [after] = await conditionsOf();
    expect(after).toEqual({ ...before, message: 'soon', observedGeneration: 2 });
  });

  test('conditions of other types stay, in their order', async () => {
    const at = { namespace, name: 'a' };
    await run(status, { ...at, conditions: [{ ...ready(true), type: 'Valid' }, ready(false)] });
    await run(status, { ...at, conditions: [ready(true)] });
    expect((await conditionsOf()).map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      'Valid=True',
      'Ready=True',
    ]);
  });

  test('an object of another uid is left alone', async () => {
    const at = { namespace, name: 'a', uid: 'b27ce7ce-0000-4000-8000-000000000000' };
    expect(await code(run(status, { ...at, conditions: [ready(true)] }))).toBe('KUBE_NOT_FOUND');
    expect(await statusOf()).toBeUndefined();
  });
});

test('an Event is written about the object; the same again is counted, not written anew', async () => {
  const { uid } = await made();
  const regarding = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'a', uid };
  const tell = () => run(event, { regarding, eventType: 'Warning', reason: 'Tired', note: 'it sleeps' });
  await tell();
  await tell();
  const { items } = await tools.kubernetes.list('events.k8s.io/v1/Event', { namespace });
  expect(items).toHaveLength(1);
  expect(items[0]).toMatchObject({
    type: 'Warning',
    reason: 'Tired',
    note: 'it sleeps',
    regarding: { name: 'a', uid },
  });
});

describe('finalizers and owners', () => {
  test('a finalizer is added once, holds the object, and is taken away once', async () => {
    const { uid } = await made();
    const at = { namespace, name: 'a', uid };
    expect(await run(hold, at)).toEqual({ changed: true });
    expect(await run(hold, at)).toEqual({ changed: false });
    expect(await run(remove, at)).toEqual({ existed: true });
    expect((await get('v1/ConfigMap', 'a')).metadata.deletionTimestamp).toBeDefined();
    expect(await run(free, at)).toEqual({ changed: true });
    expect(await code(get('v1/ConfigMap', 'a'))).toBe('KUBE_NOT_FOUND');
    expect(await run(free, at)).toEqual({ changed: false });
  });

  test('one that others have set meanwhile stays', async () => {
    const { uid } = await made();
    const other = kubernetes.addFinalizer('map.other', {
      resource: 'v1/ConfigMap',
      finalizer: 'example.com/other',
    });
    await Promise.all([run(hold, { namespace, name: 'a', uid }), run(other, { namespace, name: 'a', uid })]);
    const { finalizers = [] } = (await get('v1/ConfigMap', 'a')).metadata;
    expect([...finalizers].sort()).toEqual(['example.com/hold', 'example.com/other']);
    await run(free, { namespace, name: 'a' });
    expect((await get('v1/ConfigMap', 'a')).metadata.finalizers).toEqual(['example.com/other']);
    await run(patch, { namespace, name: 'a', patch: { metadata: { finalizers: null } } });
  });

  test('an owner is added once', async () => {
    const { uid } = await made('parent');
    await made('child');
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'parent', uid };
    expect(await run(own, { namespace, name: 'child', owner })).toEqual({ changed: true });
    expect(await run(own, { namespace, name: 'child', owner })).toEqual({ changed: false });
    expect((await get('v1/ConfigMap', 'child')).metadata.ownerReferences).toEqual([owner]);
  });
});

describe('delete', () => {
  test('what is gone is done; what is another one, or was changed, is a conflict', async () => {
    const { uid, resourceVersion } = await made();
    const at = { namespace, name: 'a' };
    expect(await code(run(remove, { ...at, uid: 'b27ce7ce-0000-4000-8000-000000000000' }))).toBe(
      'KUBE_CONFLICT',
    );
    await run(patch, { ...at, patch: { data: { a: '2' } } });
    expect(await code(run(remove, { ...at, uid, resourceVersion }))).toBe('KUBE_CONFLICT');
    expect(await run(remove, { ...at, uid })).toEqual({ existed: true });
    expect(await run(remove, { ...at, uid })).toEqual({ existed: false });
  });
});

describe('evict', () => {
  const pods = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: 'web' } },
    spec: {
      schedulerName: 'nobody',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'example.com/app:1' }],
    },
  });

  test('a Pod without a budget goes; one that is gone, or another one by now, is gone', async () => {
    const { metadata } = await tools.kubernetes.create('v1/Pod', pods('web'));
    const at = { namespace, name: 'web' };
    const other = await run(evict, { ...at, uid: 'b27ce7ce-0000-4000-8000-000000000000' });
    expect(other.outcome).toBe('gone');
    const { uid = '' } = metadata;
    expect(await run(evict, { ...at, uid, gracePeriodSeconds: 0 })).toMatchObject({ outcome: 'evicted' });
    expect(await run(evict, { ...at, uid })).toMatchObject({ outcome: 'gone' });
  });

  test('a budget that says no is told in its own words', async () => {
    await tools.kubernetes.create('v1/Pod', pods('web'));
    const running = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
    const resource = await kube.resolve('v1', 'Pod', signal);
    await kube.patch(
      resource,
      { namespace, name: 'web', type: 'merge', body: running, subresource: 'status' },
      signal,
    );
    await tools.kubernetes.create('policy/v1/PodDisruptionBudget', {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web', namespace },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    });
    const answer = await run(evict, { namespace, name: 'web' });
    expect(answer.outcome).toBe('blocked');
    expect(answer.message).toContain('disruption budget');
  });
});
