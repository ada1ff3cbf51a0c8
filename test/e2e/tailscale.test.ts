/**
 * deploy/presets/tailscale.yaml as it is, on objects as Tailscale's operator labels them: real processes,
 * Services that are asked by their names, proxies as real HTTP servers behind a routing that learns of them
 * late.
 *
 * With KUBECONFIG set the same runs against that API server, whose cluster IPs must be loopback addresses
 * (--service-cluster-ip-range=127.96.0.0/16); the objects are deleted in the end, the definition of
 * ProxyGroup stays.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { ensureAll, ensureDefinitions, parseManifest } from '../../packages/dev-cluster/manifests.ts';
import { isTrue, type PodObject } from '../../packages/dev-cluster/objects.ts';
import { pods, statefulSets } from '../../packages/dev-cluster/resources.ts';
import { systemClock } from '../../src/base/clock.ts';
import { hasCode } from '../../src/base/errors.ts';
import type { KubeObject } from '../../src/base/kube-port.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ActorView, Transition } from '../../src/base/views.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';
import { gaps, markings, proofsIn, readStory } from './story.ts';
import {
  conditionType,
  egressService,
  namespace,
  proxies,
  proxyGroup,
  proxyGroupDefinition,
} from './tailscale-objects.ts';
import { startOperator } from './tailscale-operator.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };
const kubeconfig = process.env.KUBECONFIG;
const { signal } = new AbortController();
const healthCheck = { TS_ENABLE_HEALTH_CHECK: 'true' };
const undos: Array<() => Promise<unknown>> = [];

afterEach(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

const manifest = (name: string) =>
  parseManifest(readFileSync(new URL(`../../deploy/presets/${name}`, import.meta.url), 'utf8'), name);

async function apply(cluster: DevCluster, objects: readonly KubeObject[]): Promise<void> {
  await ensureAll(cluster.kube, objects, signal);
  for (const { apiVersion, kind, metadata } of objects)
    undos.push(() => remove(cluster, apiVersion, kind, metadata));
}

async function remove(
  { kube }: DevCluster,
  apiVersion = '',
  kind = '',
  { namespace: at, name }: KubeObject['metadata'],
): Promise<void> {
  try {
    await kube.delete(await kube.resolve(apiVersion, kind, signal), at, name, {}, signal);
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
  }
}

async function installed(): Promise<DevCluster> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-e2e-'));
  undos.push(async () => rmSync(dir, { recursive: true, force: true }));
  const http = { host: '127.0.0.1', port: 0 };
  const options = { dir, program, replicas: 2, http, restarts: false, print: () => {} };
  const cluster = await startDevCluster(
    { ...basics, ...options, ...(kubeconfig === undefined ? {} : { kubeconfig }) },
    signal,
  );
  undos.push(() => cluster.stop());
  await ensureDefinitions(cluster.kube, [proxyGroupDefinition], systemClock, signal);
  await ensureAll(
    cluster.kube,
    [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }],
    signal,
  );
  await apply(cluster, [...manifest('tailscale-access.yaml'), ...manifest('tailscale.yaml')]);
  const operator = startOperator({ ...basics, kube: cluster.kube });
  undos.push(() => operator.stop());
  return cluster;
}

async function podOf({ kube }: DevCluster, name: string): Promise<PodObject> {
  return kube.get(pods, namespace, name, signal);
}

/** Waits until the Pods of the group are Ready; after an update: those that came of it. */
async function untilReady(cluster: DevCluster, names: readonly string[], notUids: readonly string[] = []) {
  return Promise.all(
    names.map((name) =>
      until(
        async () => {
          const pod = await podOf(cluster, name);
          return isTrue(pod, 'Ready') && !notUids.includes(pod.metadata.uid ?? '') ? pod : null;
        },
        { what: `${name} to be Ready`, timeoutMs: 60_000 },
      ),
    ),
  );
}

async function stateOf({ replicas }: DevCluster, pod: string): Promise<string> {
  const answer = await fetch(`${replicas[0]?.url}/api/v1/actors/pod/${namespace}/${pod}`);
  return answer.ok ? ((await answer.json()) as ActorView).state : '';
}

const untilState = (cluster: DevCluster, pod: string, state: string) =>
  until(async () => (await stateOf(cluster, pod)).startsWith(state), {
    what: `${pod} to be ${state}`,
    timeoutMs: 30_000,
  });

/** When each Pod address became reachable through each Service, wall time in ms. */
function reachability(cluster: DevCluster): Map<string, number> {
  const since = new Map<string, number>();
  const end = cluster.routing.onEvent(({ type, service, address, at }) => {
    if (type === 'programmed') since.set(`${service} ${address}`, at);
  });
  undos.push(async () => end());
  return since;
}

const questionsOf = (story: readonly Transition[], group: string) =>
  story.flatMap(({ id, effects }) =>
    id.startsWith(`pod/${namespace}/${group}-`)
      ? effects.filter(({ event }) => (event as { type?: string } | undefined)?.type === 'route.wanted')
      : [],
  );

test("the preset holds the proxies of an egress ProxyGroup until each of the group's Services leads to them by its name", {
  timeout: 180_000,
}, async () => {
  const cluster = await installed();
  const reachable = reachability(cluster);
  const egress = ['egress-0', 'egress-1'];
  const names = ['db', 'mail', 'git'];
  await apply(
    cluster,
    names.map((name) => egressService('egress', name, '300ms-900ms')),
  );
  await apply(cluster, [proxies('egress', 2, healthCheck)]);

  // The Pods are there before the object that owns them is.
  await untilState(cluster, 'egress-0', 'gated.groupMissing');
  expect(isTrue(await podOf(cluster, 'egress-0'), conditionType)).toBe(false);
  await apply(cluster, [proxyGroup('egress', 'egress', 2)]);
  const first = await untilReady(cluster, egress);

  // One more target, then a rolling update: the new Pods owe it a proof too.
  await apply(cluster, [egressService('egress', 'logs', '300ms-900ms')]);
  const update = proxies('egress', 2, { ...healthCheck, TS_EXPERIMENTAL: '1' });
  await cluster.kube.patch(
    statefulSets,
    { namespace, name: 'egress', type: 'merge', body: { spec: update.spec } },
    signal,
  );
  await untilReady(
    cluster,
    egress,
    first.map(({ metadata }) => metadata.uid ?? ''),
  );

  const story = await readStory(cluster.natsUrl);
  const marked = markings(story).filter(({ pod }) => pod.startsWith(`pod/${namespace}/egress-`));
  expect(marked.map(({ wanted }) => wanted.length).sort()).toEqual([3, 3, 4, 4]);
  for (const { pod, wanted, proven } of marked)
    expect([pod, [...proven].sort()]).toEqual([pod, [...wanted].sort()]);
  expect(earlyMarks(story, reachable)).toEqual([]);
  expect(gaps(story)).toEqual([]);
});

/**
 * Conditions that were asked to be True before the routing led to the Pod through every Service that it was
 * proven for.
 */
function earlyMarks(story: readonly Transition[], reachable: ReadonlyMap<string, number>): string[] {
  const proofs = story.flatMap(({ id, at, event }) =>
    id.startsWith(`pod/${namespace}/egress-`) ? proofsIn(event).map((proof) => ({ id, at, proof })) : [],
  );
  expect(proofs.length).toBeGreaterThanOrEqual(14);
  return proofs.flatMap(({ id, at, proof }) => {
    const since = reachable.get(`${proof.service} ${proof.ip}`);
    return since !== undefined && since <= at
      ? []
      : [`${id}: ${proof.service} proven at ${at}, routed ${since}`];
  });
}

test('proxies without the health check count as proven, those of other groups are left alone, and neither is asked for', {
  timeout: 120_000,
}, async () => {
  const cluster = await installed();
  await apply(cluster, [proxyGroup('old', 'egress'), proxyGroup('entry', 'ingress')]);
  await apply(cluster, [egressService('old', 'db', '0ms'), egressService('entry', 'web', '0ms')]);
  await apply(cluster, [proxies('old', 1, {}), proxies('entry', 1, healthCheck)]);
  const [old] = await untilReady(cluster, ['old-0']);
  expect(old?.status?.conditions).toContainEqual(
    expect.objectContaining({ type: conditionType, status: 'True', reason: 'Unverified' }),
  );
  await untilState(cluster, 'entry-0', 'gated.notApplicable');
  expect(isTrue(await podOf(cluster, 'entry-0'), conditionType)).toBe(false);
  const story = await readStory(cluster.natsUrl);
  expect([...questionsOf(story, 'old'), ...questionsOf(story, 'entry')]).toEqual([]);
});
