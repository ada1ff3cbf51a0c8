/**
 * The scenario: a shop whose Pods are replaced again and again while requests continue, and none of them is
 * lost.
 *
 * Three Pods are behind five Services whose routing learns of new Pods late. Readiness gates hold a new Pod
 * back until Orrery has proven every route to it, so the rolling update never takes the last Pod that traffic
 * can reach. With `isGated: false` the same scenario loses requests. Plays until it is stopped; its objects
 * stay.
 */

import { type Clock, sleep, timestamp } from '../../../src/base/clock.ts';
import { asError, hasCode, OrreryError } from '../../../src/base/errors.ts';
import { routeGates } from '../../../src/features/routes/resources.ts';
import { services as serviceResource } from '../../../src/kube/api/resources.ts';
import { isLoopback } from '../../kube-api/socket-addresses.ts';
import { clusterLimits } from '../limits.ts';
import { ensureObject } from '../manifests.ts';
import {
  type Load,
  type LoadCounts,
  type LoadParts,
  type LoadTarget,
  sendRequest,
  startLoad,
} from '../network/load.ts';
import type { Routing } from '../network/routing.ts';
import type { ServiceObject, WorkloadObject } from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { namespaces, serviceAccounts, statefulSets } from '../resources.ts';
import { inSeconds } from './durations.ts';
import { Narrator, type PodReady } from './narrator.ts';
import {
  httpPort,
  type ShopOptions,
  setName,
  shopNamespace,
  shopRouteGate,
  shopService,
  shopStatefulSet,
} from './scenario-objects.ts';

export interface ScenarioParts extends Omit<DevParts, 'namespace'>, Partial<ShopOptions> {
  readonly routing: Pick<Routing, 'onEvent'>;
  readonly print: (line: string) => void;
  readonly requestsPerSecond?: number;
  /** A request without an answer for this long is lost, ms. */
  readonly requestTimeoutMs?: number;
  /**
   * Time from the start of one rolling update to the next, ms; the next one waits for the end of the last.
   */
  readonly rollOverEveryMs?: number;
  readonly onReady?: (fact: PodReady) => void;
}

export interface Scenario extends DevPart {
  /**
   * Resolves when the group is Ready for the first time and the requests begin; rejects if it cannot be set
   * up.
   */
  readonly started: Promise<void>;
  counts(): LoadCounts;
  /** Number of completed rolling updates. */
  rollOvers(): number;
}

const shopDefaults: ShopOptions = {
  namespace: 'shop',
  replicas: 3,
  services: ['cart', 'catalog', 'checkout', 'login', 'search'],
  isGated: true,
  routingDelay: '500ms-3s',
  routingRemovalDelay: '0ms-200ms',
  drain: '2s',
};

const statusPauseMs = 100;
/** Seconds between two lines about a load without losses. */
const quietSeconds = 10;
/** A third of the time that a request may take. */
const busyMs = 1_000;

export function startScenario(options: ScenarioParts): Scenario {
  const { kube, clock, print } = options;
  const shop: ShopOptions = { ...shopDefaults, ...options };
  const stopping = new AbortController();
  const { signal } = stopping;
  const parts = { kube, clock, namespace: shop.namespace };
  let load: Load | undefined;
  let rollOvers = 0;
  const narrator = narratorOf(options, shop);
  const begin = async (): Promise<void> => {
    const { replicas, services, namespace } = shop;
    print(`scenario: ${replicas} Pods behind ${services.length} Services in namespace ${namespace}`);
    const targets = await setUp(options, shop, signal);
    await untilSteady(parts, 0, signal);
    await untilServed(targets, clock, signal);
    const { requestsPerSecond = 100 } = options;
    print(`load: ${requestsPerSecond} requests a second through the Services begin`);
    const timing = { requestsPerSecond, timeoutMs: options.requestTimeoutMs ?? 3_000 };
    load = startLoad({ clock, targets: () => targets, ...timing, ...loadLines(print) });
  };
  const rollOver = async (): Promise<void> => {
    const began = clock.monotonic();
    print(`rolling update ${rollOvers + 1} begins`);
    const annotations = { 'dev.orrery.dev/rolled-over-at': timestamp(clock.now()) };
    const body = { spec: { template: { metadata: { annotations } } } };
    const patch = { namespace: shop.namespace, name: setName, type: 'merge', body } as const;
    const set = await kube.patch(statefulSets, patch, signal);
    await untilSteady(parts, set.metadata.generation ?? 0, signal);
    rollOvers += 1;
    const took = inSeconds(clock.monotonic() - began);
    print(`rolling update ${rollOvers} done in ${took}; ${tellLoad(load?.counts())}`);
  };
  const play = async (): Promise<void> => {
    const everyMs = options.rollOverEveryMs ?? 30_000;
    await started;
    while (!signal.aborted) {
      const next = clock.monotonic() + everyMs;
      await rollOver().catch((thrown) => {
        if (!signal.aborted) print(`rolling update failed: ${asError(thrown).message}`);
      });
      await sleep(clock, Math.max(statusPauseMs, next - clock.monotonic()), signal);
    }
  };

  const started = begin();
  const playing = play().catch(() => {});

  return {
    started,
    counts: () => load?.counts() ?? { sent: 0, answered: 0, lost: 0, reasons: {}, lateMs: 0 },
    rollOvers: () => rollOvers,
    async stop() {
      stopping.abort();
      await playing;
      await narrator.stop();
      const counts = await load?.stop();
      if (counts !== undefined) print(`${tellLoad(counts)} in all`);
    },
  };
}

function narratorOf({ kube, clock, random, log, routing, print, onReady }: ScenarioParts, shop: ShopOptions) {
  return new Narrator({
    ...{ kube, clock, random, log, routing, print },
    namespace: shop.namespace,
    labelSelector: `app=${setName}`,
    serviceCount: shop.services.length,
    isGated: shop.isGated,
    ...(onReady === undefined ? {} : { onReady }),
  });
}

async function untilSteady(
  { kube, clock, namespace }: Pick<DevParts, 'kube' | 'clock'> & { readonly namespace: string },
  generation: number,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const set: WorkloadObject = await kube.get(statefulSets, namespace, setName, signal);
    if (isSteady(set, generation)) return;
    await sleep(clock, statusPauseMs, signal);
  }
}

async function untilServed(targets: readonly LoadTarget[], clock: Clock, signal: AbortSignal): Promise<void> {
  for (const target of targets)
    while ((await sendRequest(target, clusterLimits.connectMs, clock)) !== null)
      await sleep(clock, statusPauseMs, signal);
}

/** Writes the objects; returns where requests go. */
async function setUp(options: ScenarioParts, shop: ShopOptions, signal: AbortSignal): Promise<LoadTarget[]> {
  const { kube } = options;
  await ensureObject(kube, namespaces, shopNamespace(shop), signal);
  await ensureAccount(options, shop.namespace, signal);
  if (shop.isGated) await ensureObject(kube, routeGates, shopRouteGate(shop), signal);
  const targets: LoadTarget[] = [];
  for (const name of shop.services) {
    const service: ServiceObject = await ensureObject(kube, serviceResource, shopService(shop, name), signal);
    const host = service.spec?.clusterIP ?? '';
    if (!isLoopback(host))
      throw new OrreryError(
        'USAGE',
        `the cluster IP of Service ${name} is ${host || 'missing'}: the scenario needs a kube-apiserver with --service-cluster-ip-range=127.96.0.0/16`,
      );
    targets.push({ host, port: httpPort, path: '/' });
  }
  await ensureObject(kube, statefulSets, shopStatefulSet(shop), signal);
  return targets;
}

/** With service account admission and without a controller manager, Pods need their account to exist. */
async function ensureAccount(options: ScenarioParts, namespace: string, signal: AbortSignal): Promise<void> {
  const account = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default', namespace },
  };
  try {
    await ensureObject(options.kube, serviceAccounts, account, signal);
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
  }
}

function isSteady(set: WorkloadObject, generation: number): boolean {
  const wanted = set.spec?.replicas ?? 1;
  const { observedGeneration, updatedReplicas, readyReplicas, replicas } = set.status ?? {};
  return (
    Number(observedGeneration ?? -1) >= Math.max(generation, set.metadata.generation ?? 0) &&
    [updatedReplicas, readyReplicas, replicas].every((count) => count === wanted)
  );
}

function loadLines(print: (line: string) => void): Pick<LoadParts, 'onSecond' | 'onEased'> {
  const slow = 'load: this machine is too slow for that many';
  return {
    onSecond: createSecondLines(print),
    onEased: (pace) => print(`${slow}; ${pace} requests a second from now on (--requests sets it)`),
  };
}

/** A line for each second with losses, and an occasional one without. */
function createSecondLines(print: (line: string) => void): (second: LoadCounts, total: LoadCounts) => void {
  let quiet = 0;
  return (second, total) => {
    quiet += 1;
    if (second.lost > 0) {
      const reasons = Object.entries(second.reasons).map(([reason, count]) => `${count} × ${reason}`);
      // The client, the Pods and the routing are one process: what is late here is no fault of a route.
      const busy =
        second.lateMs < busyMs
          ? ''
          : `; this machine is too busy: the load itself came ${inSeconds(second.lateMs)} late`;
      print(`load: ${second.lost} requests lost in the last second (${reasons.join(', ')})${busy}`);
    }
    if (second.lost === 0 && quiet < quietSeconds) return;
    quiet = 0;
    print(tellLoad(total));
  };
}

function tellLoad(counts: LoadCounts | undefined): string {
  const number = (value = 0) => value.toLocaleString('en-US');
  return `load: ${number(counts?.sent)} requests, ${number(counts?.lost)} lost`;
}
