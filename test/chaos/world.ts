/**
 * The world of a run: the shop with its RouteGate under requests, certificates that are renewed, nodes whose
 * proxies report, and the simulation's worlds of endpoints and elections, all on a real API. Each brings the
 * checkers of its feature's promises, and says what is not as it must be after the last fault.
 */
import type { DevCluster } from '../../packages/dev-cluster/cluster.ts';
import { ensureObject } from '../../packages/dev-cluster/manifests.ts';
import { namespaces } from '../../packages/dev-cluster/resources.ts';
import { startCertificateScenario } from '../../packages/dev-cluster/scenarios/scenario-certificates.ts';
import type { ShopOptions } from '../../packages/dev-cluster/scenarios/scenario-objects.ts';
import { type Scenario, startScenario } from '../../packages/dev-cluster/scenarios/shop.ts';
import type { CheckerKind, Scene } from '../../packages/testing/checkers/checker.ts';
import type { Sighting } from '../../packages/testing/simulation/sightings.ts';
import type { Chance } from '../../packages/testing/time/chance.ts';
import { startProxies } from '../../scripts/roll-over/load.ts';
import type { ActorRecord } from '../../src/actors/host/records.ts';
import { type Clock, systemClock as clock } from '../../src/base/clock.ts';
import type { KubeObject, KubeResource } from '../../src/base/kube-port.ts';
import { silentLog as log } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { domains } from '../../src/features/certificates/resources.ts';
import { elections, leases } from '../../src/features/elections/resources.ts';
import { externalWorkloads } from '../../src/features/endpoints/resources.ts';
import { endpointSlices, services } from '../../src/kube/api/resources.ts';
import { neverReadyExpired } from '../sim/certificates/checkers/never-ready-expired.ts';
import { askedTwice } from '../sim/checkers/asked-twice.ts';
import { neverEarly } from '../sim/checkers/never-early.ts';
import { podsNotReady } from '../sim/checkers/settled.ts';
import { trueAndUnproven, withdrawn } from '../sim/checkers/withdrawn.ts';
import { worldOrder } from '../sim/checkers/world-order.ts';
import { electionsOf } from '../sim/elections/election-world.ts';
import { createEndpoints } from '../sim/endpoints/endpoint-world.ts';
import type { ActingParts, FeatureWorld } from '../sim/features/feature-world.ts';
import type { RoutesScene } from '../sim/routes-scene.ts';
import { contenders, openLines } from './contenders.ts';
import { endingClock } from './ending-clock.ts';
import { collectSlices } from './garbage.ts';
import { type MirroredApi, mirrorApi } from './mirrored-api.ts';
import { watchRoutes } from './route-sightings.ts';
import { type SeenRoutes, seeRoutes } from './seen-routes.ts';
import type { Witness } from './witness.ts';

export interface WorldParts {
  readonly cluster: DevCluster;
  readonly clusterName: string;
  readonly bus: Bus;
  readonly witness: Pick<Witness, 'later'>;
  readonly natsPorts: ReadonlyArray<() => number>;
  readonly chance: Chance;
  readonly shards: number;
  readonly say: (text: string) => void;
  readonly shop: Partial<ShopOptions>;
  /** How far watches of the API may be apart, ms. */
  readonly holdMs: number;
  /** false: clocks are set, which elections cannot survive (docs/features/elections.md, Limits). */
  readonly hasElections: boolean;
}

export interface ChaosWorld {
  readonly scene: RoutesScene;
  readonly checkers: readonly CheckerKind<RoutesScene>[];
  see(sighting: Sighting): void;
  /** Resolves once everything exists and the shop's Pods are Ready. */
  begin(): Promise<void>;
  act(): void;
  /** Kubernetes is put back to an earlier state; its servers are dead. */
  restoring(): void;
  /** It was, and those who have to be started again were. */
  restored(): void;
  /** Removes every obstacle; nothing new happens. */
  heal(): Promise<void>;
  unsettled(records: ReadonlyMap<string, ActorRecord>): readonly string[];
  /** One line for people. */
  summary(): string;
  stop(): Promise<void>;
}

const shopNamespace = 'shop';
const outsideNamespace = 'outside';
/** Allowance for a busy event loop, ms. */
const slackMs = 100;
/** If the API is slow to answer us, our writes, and what follows them, are reported late. */
const seenMs = 1_500;
const linesMost = 6;
const load = { rollOverEveryMs: 20_000, requestsPerSecond: 20 };

/** Watches everything from now on; nothing exists yet. */
export async function startWorld(parts: WorldParts): Promise<ChaosWorld> {
  const { cluster, bus, chance, say } = parts;
  const { kube, routing, nodeName } = cluster;
  const undos: Array<() => unknown> = [];
  const stop = async () => {
    for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
  };
  const keep = <T extends { stop(): unknown }>(part: T): T => {
    undos.push(() => part.stop());
    return part;
  };
  try {
    for (const name of [shopNamespace, outsideNamespace])
      await ensureObject(kube, namespaces, { metadata: { name } }, new AbortController().signal);
    const basics = { kube, clock, random, log };
    const { holdMs } = parts;
    const worldClock = endingClock();
    const routes = keep(seeRoutes({ ...basics, namespace: shopNamespace }));
    const shopApi = keep(
      mirrorApi({
        ...{ ...basics, holdMs, namespace: shopNamespace, called: shopNamespace },
        resources: [elections, leases, domains],
      }),
    );
    const outsideApi = keep(
      mirrorApi({
        ...{ ...basics, holdMs, namespace: outsideNamespace, called: shopNamespace, dressed },
        resources: [services, endpointSlices, externalWorkloads],
      }),
    );
    await Promise.all([routes.synced, shopApi.synced, outsideApi.synced]);
    collectSlices(outsideApi);
    const features = [
      createEndpoints({ stage: { api: outsideApi, clock: worldClock }, chance: chance.of('endpoints'), say }),
      ...(parts.hasElections ? [await electionWorld(parts, shopApi, worldClock, keep)] : []),
    ];
    const seen = watchRoutes(routes, routing, parts.witness, shopNamespace);
    undos.push(() => seen.stop());
    keep(worldClock);
    const begin = async () => {
      const quiet = { ...basics, print: () => {} };
      const shop = keep(startScenario({ ...quiet, ...load, ...parts.shop, routing, nodeName }));
      keep(startCertificateScenario({ ...quiet, failingMs: 15_000, shortLifetime: '1m' }));
      keep(startProxies({ bus }));
      for (const feature of features) feature.begin();
      await shop.started;
      return shop;
    };
    return worldOf(parts, { routes, shopApi, outsideApi, features, begin, see: seen.see, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Made {
  readonly routes: SeenRoutes;
  readonly shopApi: MirroredApi;
  readonly outsideApi: MirroredApi;
  readonly features: readonly FeatureWorld[];
  readonly begin: () => Promise<Scenario>;
  readonly see: (sighting: Sighting) => void;
  readonly stop: () => Promise<void>;
}

function worldOf({ chance, shards }: WorldParts, made: Made): ChaosWorld {
  const { routes, shopApi, outsideApi, features, see, stop } = made;
  let shop: Scenario | undefined;
  const scene: RoutesScene & Scene = { clock, shards, kube: routes.kube };
  const next = chance.of('which');
  return {
    scene,
    see,
    stop,
    async begin() {
      shop = await made.begin();
    },
    checkers: [
      ...features.flatMap(({ checkers }) => checkers),
      ...[neverEarly, askedTwice, withdrawn, worldOrder],
      neverReadyExpired({ api: shopApi }),
    ],
    act: () => next.pick(features)?.act(),
    restoring() {
      for (const api of [shopApi, outsideApi]) api.restoring();
    },
    restored() {
      for (const api of [shopApi, outsideApi]) api.restored();
      for (const feature of features) feature.restored?.();
    },
    async heal() {
      for (const feature of features) feature.heal();
      await shop?.stop();
    },
    unsettled: (records) => [
      ...features.flatMap((feature) => feature.unsettled(records)),
      ...podsNotReady({ world: scene }, new Set()),
      ...trueAndUnproven(scene, records),
    ],
    summary() {
      const { sent, lost, reasons } = shop?.counts() ?? { sent: 0, lost: 0, reasons: {} };
      const refusals = [...shopApi.refused, ...outsideApi.refused].map(([text, n]) => `; ${n} × ${text}`);
      const why = lost === 0 ? '' : ` ${JSON.stringify(reasons)}`;
      return `${shop?.rollOvers() ?? 0} rolling updates, ${sent} requests, ${lost} lost${why}${refusals.join('')}`;
    },
  };
}

async function electionWorld(
  { natsPorts, clusterName, chance, say }: WorldParts,
  api: MirroredApi,
  clock: Clock,
  keep: <T extends { stop(): unknown }>(part: T) => T,
): Promise<FeatureWorld> {
  const lines = keep(await openLines(linesMost, natsPorts, clusterName));
  const subjects = subjectsOf(clusterName);
  const parts: ActingParts = { stage: { api, clock }, chance: chance.of('elections'), say };
  const people = { clock, lines, kube: api.port, subjects, chance: chance.of('contenders') };
  return electionsOf(parts, (them) => contenders(people, them), {
    pace: 'quick',
    slackMs,
    seenMs,
    isAdmitted: true,
  });
}

/** The API assigns cluster IPs, of one family; an ExternalWorkload has an identity. */
function dressed({ plural }: KubeResource, object: KubeObject): KubeObject {
  const { name } = object.metadata;
  if (plural === 'services') {
    const { clusterIP: _, ...spec } = object.spec as { readonly clusterIP?: string };
    return { ...object, spec: { ...spec, ipFamilies: ['IPv4'] } };
  }
  if (plural !== 'externalworkloads') return object;
  const meshTLS = { identity: `spiffe://outside/${name}`, serverName: `${name}.example.com` };
  return { ...object, spec: { ...(object.spec as object), meshTLS } };
}
