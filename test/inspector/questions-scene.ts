/**
 * The cluster to which the ten questions are put: two replicas with a bundle; Pods of two groups that the
 * routing never learns of; a certificate of a day, one of ninety days, and one that cannot be stored; an
 * election with two candidates.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { ensureObject } from '../../packages/dev-cluster/manifests.ts';
import type { DevPart } from '../../packages/dev-cluster/parts.ts';
import { untilReady } from '../../packages/dev-cluster/processes/replicas.ts';
import { namespaces, statefulSets } from '../../packages/dev-cluster/resources.ts';
import { startElectionScenario } from '../../packages/dev-cluster/scenarios/election-scenario.ts';
import { startCertificateScenario } from '../../packages/dev-cluster/scenarios/scenario-certificates.ts';
import {
  type ShopOptions,
  shopNamespace,
  shopRouteGate,
  shopService,
  shopStatefulSet,
} from '../../packages/dev-cluster/scenarios/scenario-objects.ts';
import { prepareBundle } from '../../packages/dev-cluster/scenarios/scenario-release.ts';
import { startScenario } from '../../packages/dev-cluster/scenarios/shop.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { KubeObject, KubePort } from '../../src/base/kube-port.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { routeGates } from '../../src/features/routes/resources.ts';
import { services } from '../../src/kube/api/resources.ts';
import { program } from '../suite/program.ts';

const basics = { clock, random: systemRandom, log: silentLog, print() {} };
export const subjects = subjectsOf('dev');

export interface QuestionsScene {
  readonly cluster: DevCluster;
  readonly bus: Bus;
  /** A folder of its own, without a development cluster that a command would find. */
  readonly dir: string;
  /** Of the first replica. */
  readonly base: string;
  stop(): Promise<void>;
}

export async function startQuestionsScene(): Promise<QuestionsScene> {
  const { signal } = new AbortController();
  const dir = mkdtempSync(join(tmpdir(), 'orrery-questions-'));
  const cluster = await startDevCluster(
    {
      ...{ ...basics, dir, program, replicas: 2, http: { host: '127.0.0.1', port: 0 }, restarts: true },
      replicaFlags: (folder) => [...prepareBundle(folder), '--inspector-auth', 'none'],
    },
    signal,
  );
  const { kube, natsUrl, routing, replicas } = cluster;
  const bus = await connectNats({ ...basics, servers: [natsUrl], name: 'test', cluster: 'dev' });
  const parts: DevPart[] = [
    startScenario({ ...basics, kube, routing, routingDelay: '30m', replicas: 1 }),
    startElectionScenario({ ...basics, kube, bus, subjects, changeEveryMs: 3_600_000 }),
    startCertificateScenario({ ...basics, kube, failingMs: 3_600_000, shortLifetime: '2160h' }),
  ];
  await openBakery(kube, signal);
  for (const replica of replicas) await untilReady(replica, clock, signal);
  return {
    ...{ cluster, bus, dir, base: replicas[0]?.url ?? '' },
    async stop() {
      for (const part of parts) await part.stop();
      await bus.close();
      await cluster.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const bakery: ShopOptions = {
  ...{ namespace: 'bakery', replicas: 2, services: ['bread'], isGated: true },
  ...{ routingDelay: '30m', routingRemovalDelay: '0ms', drain: '0s' },
};

/** Two Pods wait for the Service bread at once; for each of the shop's Services one does. */
async function openBakery(kube: KubePort, signal: AbortSignal): Promise<void> {
  const set = shopStatefulSet(bakery);
  const parallel = {
    ...set,
    spec: { ...(set.spec as object), podManagementPolicy: 'Parallel' },
  } as KubeObject;
  await ensureObject(kube, namespaces, shopNamespace(bakery), signal);
  await ensureObject(kube, routeGates, shopRouteGate(bakery), signal);
  for (const name of bakery.services) await ensureObject(kube, services, shopService(bakery, name), signal);
  await ensureObject(kube, statefulSets, parallel, signal);
}
