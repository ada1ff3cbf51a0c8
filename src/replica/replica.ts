/**
 * One replica, composed: connects to NATS and Kubernetes, starts the engine, the watches, the request subjects and HTTP; ends in
 * the reverse order. Everything is handed what it needs; nothing here decides anything.
 */

import { serveControl } from '../actors/control/control-server.ts';
import { startInspection } from '../actors/control/inspection.ts';
import { Engine } from '../actors/engine.ts';
import { startLocal } from '../actors/host/local.ts';
import { everybodyMay } from '../base/access.ts';
import { systemClock } from '../base/clock.ts';
import { asError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { createLog, type Log } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import { isTracingWanted, type Tracing } from '../base/tracing.ts';
import type { Bus } from '../bus/bus.ts';
import { connectNats } from '../bus/nats/nats.ts';
import { type Subjects, subjects as subjectsOf } from '../bus/subjects.ts';
import type { ChallengeServer } from '../features/certificates/acme/challenge-server.ts';
import {
  certificateParts,
  countAttempt,
  startChallenges,
} from '../features/certificates/certificate-parts.ts';
import { createLeaseStore } from '../features/elections/lease.ts';
import { createLeaseFollower } from '../features/elections/lease-follow.ts';
import type { Bundle } from '../features/releases/bundle.ts';
import { createRelease, type ReplicaRelease, readBundle } from '../features/releases/release.ts';
import { createClusterDomain } from '../features/routes/cluster-domain.ts';
import { GateStatusKeeper } from '../features/routes/gate-status.ts';
import { createLimiter } from '../features/routes/probe/limiter.ts';
import { lookupAt } from '../features/routes/probe/lookup.ts';
import { type HttpServer, startHttp } from '../inspector/server.ts';
import { connectKube, type KubeConnection } from '../kube/api/client.ts';
import type { KubePort } from '../kube/api/port.ts';
import { createKubeAuthorizer } from '../kube/api/token-review.ts';
import type { Mirror } from '../kube/mirror/mirror.ts';
import { failureOf } from '../machines/effects.ts';
import { machines } from '../machines/index.ts';
import { watchChart } from '../machines/watch/watch.ts';
import { natsAccess, type RunConfig } from './config.ts';
import { effectRunners, effectTimeoutMs, type LeaseParts, runEffectWith } from './effects.ts';
import { startOwnHealth } from './health/own-health.ts';
import type { Pipelines } from './health/pipelines.ts';
import { answerWhileWaiting } from './health/waiting.ts';
import { createInspector, type Inspector } from './inspector-parts.ts';
import { changeLevelOnSignal } from './log-level.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { gauges, observeGateWait, observeStuck, readinessOf } from './replica-tells.ts';
import { sourceWarnings, warnAboutGate } from './warnings.ts';
import { constantWatches, followGroupKinds, type WatchParts } from './watches.ts';

export interface Replica {
  /** Where HTTP listens; the port is the real one. */
  readonly http: { readonly host: string; readonly port: number };
  /** Resolves when everything has been handed over and closed. */
  readonly ended: Promise<void>;
}

/** All together a graceful end takes under 5 s; the shards get most of it. */
const handOverMs = 4_000;

/**
 * @param stop ends the replica in good order when it is aborted
 * @throws OrreryError USAGE (kubeconfig), BUS_VERSION, BUS_REFUSED, BUS_UNREACHABLE (only if `stop` was aborted)
 */
export async function startReplica(config: RunConfig, stop: AbortSignal): Promise<Replica> {
  const bundle = readBundle(config.bundle);
  const log = createLog({ level: config.logLevel, facts: { replica: config.replica } });
  changeLevelOnSignal(log, stop);
  const metrics = createMetrics({ processMetrics: true });
  const tracing = await startTracing(config);
  const kube = connectKube({
    ...basics,
    log,
    ...(config.kubeconfig === null ? {} : { kubeconfig: config.kubeconfig }),
  });
  const bus = await meetNats(config, log, stop);
  const subjects = subjectsOf(config.cluster);
  const mirrors: Mirror[] = [];
  const health: Pipelines = startOwnHealth({
    engine: () => engine,
    mirrors,
    bus,
    clock: systemClock,
    node: config.node,
  });
  const connections = { bus, subjects, kube, log, metrics, health, tracing };
  const { engine, release } = createParts(config, connections, bundle);
  const watchParts = watchPartsOf(config, { ...connections, engine, mirrors });
  metrics.observe({ ...gauges(engine, bus, health), isBlocked: () => release.desk.blocked !== null });
  // HTTP first: whoever watches the start can read in /readyz what it waits for.
  const inspector = createInspector(config, { bus, subjects });
  const http = await startHttpOf(config, { engine, release, inspector, ...connections });
  log.info({ http: `${http.address.host}:${http.address.port}`, cluster: config.cluster }, 'replica starts');
  const challenges = startChallenges(config.acmeHttp, {
    bus,
    subjects,
    log,
    clock: systemClock,
    world: () => engine.world,
  });
  const watches = constantWatches(watchParts, () => engine.ownership);
  const starting = release.desk.start().then(() => engine.start([...watches, release.desk.holding()]));
  // Whoever is asked to end while NATS keeps it waiting ends all the same.
  await Promise.race([starting, abortOf(stop)]);
  if (stop.aborted) starting.catch(() => {});
  else {
    followGroupKinds(watchParts, engine.ownership);
    release.desk.started();
  }
  const inspection = startInspection({ ...basics, engine, bus, subjects, replica: config.replica });
  const control = serveControl({
    engine,
    bus,
    subjects,
    clock: systemClock,
    replica: config.replica,
    release: config.release,
  });
  return {
    http: http.address,
    ended: end(stop, { engine, release, control, inspection, inspector, http, challenges, ...connections }),
  };
}

/** What the watches are made of; `mirrors` is told of each. */
function watchPartsOf(
  { namespaces, replica }: RunConfig,
  parts: Connections & { readonly engine: Engine; readonly mirrors: Mirror[] },
): WatchParts {
  const { bus, subjects, kube, log, engine, metrics, tracing, mirrors } = parts;
  return {
    ...basics,
    bus,
    subjects,
    kube,
    log,
    world: engine.world,
    namespaces,
    gateStatus: new GateStatusKeeper({
      kube,
      log,
      clock: systemClock,
      world: engine.world,
      podsOfGate: (namespace, name) => engine.routes.groups.podsOfGate(namespace, name),
      warn: warnAboutGate(kube, replica),
    }),
    sourceWarnings: sourceWarnings(replica, { world: engine.world, kube, log, clock: systemClock }),
    metrics: { watchRestarts: metrics.watchRestart, worldLag: metrics.worldLag },
    tracing,
    onMirror: (mirror) => void mirrors.push(mirror),
  };
}

/** The engine, and its part in releases: each asks the other. */
function createParts(config: RunConfig, connections: Connections, bundle: Bundle | null) {
  const incarnation = systemRandom.id();
  const release = createRelease({
    ...basics,
    ...connections,
    ...{ bundle, incarnation },
    replica: config.replica,
    release: config.release,
    engine: () => engine,
  });
  const engine: Engine = createEngine(config, connections, release, incarnation);
  return { engine, release };
}

const basics = { clock: systemClock, random: systemRandom } as const;

interface Connections {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly kube: KubeConnection;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Pipelines;
  readonly tracing?: Tracing | undefined;
}

/** The SDK is loaded only where somebody wants traces. */
async function startTracing({ replica, cluster, release }: RunConfig): Promise<Tracing | undefined> {
  if (!isTracingWanted(process.env)) return undefined;
  const { startOtlp } = await import('./tracing-otlp.ts');
  const resource = { 'service.version': release, 'service.instance.id': replica, 'orrery.cluster': cluster };
  return startOtlp({ env: process.env, resource });
}

/** NATS may let itself be waited for; whoever watches the start can read it in /readyz. */
async function meetNats(config: RunConfig, log: Log, stop: AbortSignal): Promise<Bus> {
  const waiting = await answerWhileWaiting(config.http, systemClock);
  try {
    return await connectNats({ ...natsOptions(config), log, signal: stop });
  } finally {
    await waiting.close();
  }
}

function natsOptions({ nats, cluster, replica, streamReplicas }: RunConfig) {
  return {
    ...basics,
    ...natsAccess(nats),
    name: `orrery ${replica}`,
    cluster,
    streamReplicas,
  };
}

function createEngine(
  config: RunConfig,
  { bus, subjects, kube, log, metrics, health, tracing }: Connections,
  release: ReplicaRelease,
  incarnation: string,
): Engine {
  const domain = createClusterDomain({ clock: systemClock, log });
  const limiter = createLimiter({ inFlight: limits.probeCallsInFlight, waiting: limits.probeCallsWaiting });
  const leases = leaseParts(kube, log);
  const slices = {
    scene: () => engine.endpoints.index,
    endpointsPerSlice: config.endpointsPerSlice,
    onWrite: metrics.sliceWrite,
  };
  const runners = effectRunners({
    ...basics,
    ...{ bus, subjects, kube, limiter, log },
    leases,
    replica: config.replica,
    slices,
    releaseWork: release.workUnder,
    onReleaseRound: (failed) => metrics.releaseRound(failed === 0 ? 'done' : 'failed'),
    ...(config.probeDns === null ? {} : { lookup: lookupAt(config.probeDns) }),
    certificates: certificateParts({ bus, subjects, world: () => engine.world, clock: systemClock }),
  });
  const engine: Engine = new Engine({
    ...basics,
    bus,
    subjects,
    log,
    metrics,
    replica: config.replica,
    incarnation,
    release: release.release,
    isServing: () => release.desk.blocked === null,
    clusterDomain: () => domain.current(),
    proxierHealthTimeoutMs: config.proxierHealthTimeoutMs,
    isFit: () => health.isFit(),
    tracing,
    runEffect: runEffectWith(runners),
    failureOf: (effect, message) => failureOf(effect as never, message),
    effectTimeoutMs,
    onStep: (transition, context) => {
      observeGateWait(metrics, transition, context);
      observeStuck(metrics, transition);
      countAttempt(metrics, transition, context);
    },
  });
  return engine;
}

/** Leases are followed by namespace: one replica may serve a thousand elections. */
function leaseParts(kube: KubePort, log: Log): LeaseParts {
  const store = createLeaseStore({ kube, clock: systemClock });
  const watching = { startLocal, watchChart, kube, store, log };
  const follower = createLeaseFollower({ ...basics, ...watching, breadth: 'namespace' });
  return { store, follower, clock: systemClock };
}

function startHttpOf(
  config: RunConfig,
  {
    engine,
    release,
    bus,
    kube,
    metrics,
    health,
    inspector,
  }: Omit<Connections, 'log'> & {
    readonly engine: Engine;
    readonly release: ReplicaRelease;
    readonly inspector: Inspector;
  },
): Promise<HttpServer> {
  const isOpen = config.inspectorAuth === 'none';
  return startHttp({
    host: config.http.host,
    port: config.http.port,
    ...inspector.http,
    readiness: () => readinessOf(bus, engine, release, health),
    health: () => health.picture(),
    proxierTimeoutMs: config.proxierHealthTimeoutMs,
    countHealth: metrics.healthAnswer,
    machines,
    metrics,
    clock: systemClock,
    authorize: isOpen ? everybodyMay : createKubeAuthorizer(kube, systemClock),
  });
}

function abortOf(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

async function end(
  stop: AbortSignal,
  parts: {
    readonly engine: Engine;
    readonly release: ReplicaRelease;
    readonly control: { stop(): void };
    readonly inspection: { stop(): void };
    readonly inspector: Inspector;
    readonly http: HttpServer;
    readonly challenges: ChallengeServer;
    readonly bus: Bus;
    readonly kube: KubeConnection;
    readonly log: Log;
    readonly health: Pipelines;
    readonly tracing: Tracing | undefined;
  },
): Promise<void> {
  await abortOf(stop);
  const started = systemClock.monotonic();
  await parts.engine.stop(handOverMs);
  await parts.release.desk.stop();
  parts.control.stop();
  parts.inspection.stop();
  parts.inspector.stop();
  await parts.challenges.close();
  parts.health.stop();
  await parts.http.close();
  await parts.bus.close();
  parts.kube.close();
  await parts.tracing
    ?.stop()
    .catch((error) => parts.log.warn({ error: asError(error).message }, 'spans are lost'));
  parts.log.info({ ms: Math.round(systemClock.monotonic() - started) }, 'replica ended');
}
