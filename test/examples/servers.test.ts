/**
 * Both examples in real processes, on the API server that KUBECONFIG names or else on the development one:
 * two replicas, of which one is killed in the middle. Nothing but the API server is there, so the test is
 * what a cluster has beside it: it says what a budget allows, and takes a namespace's content away.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { budget, node, pod } from '../../examples/node-drain/world.ts';
import type { KubeObject, KubeResource } from '../../src/base/kube-port.ts';
import { type OwnStage, startOwnStage } from '../api/own-stage.ts';
import { isDevelopmentServer, uniqueName } from '../conformance/conformance.ts';
import { until } from '../until.ts';

const patience = { timeoutMs: 60_000 };
const { signal } = new AbortController();
const domain = 'examples.orrery.dev';
const textOf = (name: string) =>
  readFileSync(join(import.meta.dirname, `../../examples/${name}/feature.ts`), 'utf8');

let stage: OwnStage;
let kinds: Record<'nodes' | 'pods' | 'budgets' | 'namespaces' | 'events', KubeResource>;

beforeAll(async () => {
  stage = await startOwnStage({
    replicas: 2,
    features: { 'drain.ts': textOf('node-drain'), 'janitor.ts': textOf('namespace-janitor') },
  });
  const of = (apiVersion: string, kind: string) => stage.kube.resolve(apiVersion, kind, signal);
  kinds = {
    nodes: await of('v1', 'Node'),
    pods: await of('v1', 'Pod'),
    budgets: await of('policy/v1', 'PodDisruptionBudget'),
    namespaces: await of('v1', 'Namespace'),
    events: await of('events.k8s.io/v1', 'Event'),
  };
  await Promise.all([stage.untilReady(0), stage.untilReady(1)]);
});
afterAll(() => stage.stop());

const create = (kind: KubeResource, object: object) => stage.kube.create(kind, object as KubeObject, signal);
const annotate = (kind: KubeResource, name: string, annotations: Record<string, string | null>) =>
  stage.kube.patch(kind, { name, type: 'merge', body: { metadata: { annotations } } }, signal);
const namespaceOf = (name: string) => stage.kube.get(kinds.namespaces, undefined, name, signal);

/** What the disruption controller of a cluster says of such a budget; where one runs, it says so itself. */
async function allow(namespace: string, name: string, disruptionsAllowed: number): Promise<void> {
  if (isDevelopmentServer) return;
  const spec = { minAvailable: 1 - disruptionsAllowed };
  const asked = { namespace, name, type: 'merge', body: { spec } } as const;
  const { metadata } = await stage.kube.patch(kinds.budgets, asked, signal);
  const counts = { currentHealthy: 1, desiredHealthy: 1 - disruptionsAllowed, expectedPods: 1 };
  const status = { observedGeneration: metadata.generation, disruptionsAllowed, ...counts };
  const where = { namespace, name, type: 'merge', subresource: 'status' } as const;
  await stage.kube.patch(kinds.budgets, { ...where, body: { status } }, signal);
}

test('node-drain: cordons, evicts as budgets allow, is killed, goes on, and lets the Node work again', {
  timeout: 180_000,
}, async () => {
  const namespace = uniqueName('drain');
  const worker = uniqueName('worker');
  await create(kinds.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await create(kinds.nodes, node(worker));
  const put = { ...budget('db', 1), metadata: { name: 'db', namespace } };
  await create(kinds.budgets, put);
  for (const name of ['db', 'web']) {
    const { status, ...object } = pod(name, { node: worker });
    const metadata = { ...object.metadata, namespace };
    const tolerations = [{ operator: 'Exists' }];
    await create(kinds.pods, { ...object, metadata, spec: { ...(object.spec as object), tolerations } });
    const where = { namespace, name, type: 'merge', subresource: 'status' } as const;
    await stage.kube.patch(kinds.pods, { ...where, body: { status } }, signal);
  }
  await allow(namespace, 'db', 0);
  const names = async () => {
    const { items } = await stage.kube.list(kinds.pods, { namespace }, signal);
    return items
      .map(({ metadata }) => metadata.name)
      .sort()
      .join();
  };
  const isCordoned = async () => {
    const { spec } = await stage.kube.get(kinds.nodes, undefined, worker, signal);
    return (spec as { unschedulable?: boolean } | undefined)?.unschedulable === true;
  };
  await annotate(kinds.nodes, worker, { [`${domain}/drain`]: 'kernel update' });
  await until(async () => (await names()) === 'db', { what: 'one Pod has left, one is held', ...patience });
  expect(await isCordoned()).toBe(true);

  await stage.replicas[0]?.kill('SIGKILL');
  await allow(namespace, 'db', 1);
  if (isDevelopmentServer) await stage.kube.delete(kinds.budgets, namespace, 'db', {}, signal);
  await until(async () => (await names()) === '', { what: 'the Node is empty', ...patience });
  await annotate(kinds.nodes, worker, { [`${domain}/drain`]: null });
  await until(async () => !(await isCordoned()), { what: 'the Node works again', ...patience });
  await stage.kube.delete(kinds.nodes, undefined, worker, {}, signal);
  stage.replicas[0]?.start();
});

test('namespace-janitor: holds, warns, is extended, and deletes what has lived its time', {
  timeout: 180_000,
}, async () => {
  const name = uniqueName('pr');
  const ttl = (text: string) => ({ [`${domain}/ttl`]: text });
  const metadata = { name, annotations: ttl('12h') };
  await create(kinds.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  const isHeld = async () =>
    (await namespaceOf(name)).metadata.finalizers?.includes(`${domain}/janitor`) === true;
  await until(isHeld, { what: 'the namespace is held', ...patience });

  await annotate(kinds.namespaces, name, ttl('30m'));
  const warnings = async () => {
    const { items } = await stage.kube.list(kinds.events, {}, signal);
    return items.filter((event) => (event as { regarding?: { name?: string } }).regarding?.name === name);
  };
  await until(async () => (await warnings()).length > 0, { what: 'somebody is warned', ...patience });
  expect((await warnings())[0]).toMatchObject({ type: 'Warning', reason: 'NamespaceExpires' });

  await annotate(kinds.namespaces, name, ttl('7d'));
  const isExtended = async () => (await stage.actor(`tenancy/_/${name}`))?.reason.health === 'ok';
  await until(isExtended, { what: 'it lives on', ...patience });
  expect((await namespaceOf(name)).metadata.deletionTimestamp).toBeUndefined();

  await annotate(kinds.namespaces, name, ttl('0m'));
  // A bare API server leaves the end of a namespace to a controller that is not there.
  const isLeft = async () => {
    const left = await namespaceOf(name).catch(() => null);
    const { deletionTimestamp, finalizers = [] } = left?.metadata ?? {};
    return left === null || (deletionTimestamp !== undefined && !finalizers.includes(`${domain}/janitor`));
  };
  await until(isLeft, { what: 'it is deleted, and held no more', ...patience });
});
