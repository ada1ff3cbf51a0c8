/**
 * Composes one replica: connects to NATS and Kubernetes, starts the engine with its features, the watches,
 * the request subjects and HTTP; stops in the reverse order. Every part receives what it needs; nothing is
 * decided here.
 */
import { serveControl } from '../actors/control/control-server.ts';
import { startInspection } from '../actors/control/inspection.ts';
import { runs } from '../actors/effect-runner.ts';
import { Engine } from '../actors/engine.ts';
import type { Feature, FeatureRun, HttpAnswerer } from '../actors/feature.ts';
import { sendMessage } from '../actors/host/message-send.ts';
import { OneStore } from '../actors/members/one-store.ts';
import { leaseClock } from '../actors/time/lease-clock.ts';
import { machineClock } from '../actors/time/machine-clock.ts';
import { systemClock } from '../base/clock.ts';
import { asError } from '../base/errors.ts';
import { createLog, type Log } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import { isTracingWanted, type Tracing } from '../base/tracing.ts';
import type { Bus } from '../bus/bus.ts';
import { unreachable } from '../bus/bus-errors.ts';
import { encode } from '../bus/codec.ts';
import { connectNats } from '../bus/nats/nats.ts';
import { type Storing, watchStoring } from '../bus/storing.ts';
import { streamDefinitions } from '../bus/streams.ts';
import { type Subjects, subjects as subjectsOf } from '../bus/subjects.ts';
import { createTroubles } from '../bus/troubles.ts';
import { healthAnswer, replyOf } from '../features/proxiers/health-body.ts';
import { type HttpServer, type HttpServerParts, startHttp } from '../inspector/http/server.ts';
import { readTls } from '../inspector/http/tls-files.ts';
import { everybodyMay } from '../kube/api/access.ts';
import { connectKube, type KubeConnection } from '../kube/api/kube-connection.ts';
import { OneKubernetes } from '../kube/api/one-kubernetes.ts';
import { createKubeAuthorizer } from '../kube/api/token-review.ts';
import { writeKubeEvent } from '../kube/effects/kube-event.ts';
import { declaredHoldings, followNamedKinds, type HoldingParts } from '../kube/mirror/holdings.ts';
import type { Mirror } from '../kube/mirror/mirror.ts';
import { tracedStore } from '../kube/mirror/traced-store.ts';
import { kubeEventWrite, messageSend } from '../machines/effects.ts';
import { kindsOf } from './charts.ts';
import type { RunConfig } from './config.ts';
import { settingsOf } from './feature-settings.ts';
import { featuresOf } from './features.ts';
import { startHealthHttp } from './health/health-http.ts';
import { startOwnHealth } from './health/own-health.ts';
import type { Pipelines } from './health/pipelines.ts';
import { type FeatureCare, startFeatureCare } from './health/stall-watch.ts';
import { answerWhileWaiting } from './health/waiting.ts';
import { createInspector, type Inspector } from './inspector-parts.ts';
import { leftOutEvents, leftOutGauges } from './left-out.ts';
import { listeningOn } from './listening.ts';
import { loadFeatures } from './loaded-features.ts';
import { changeLevelOnSignal } from './log-level.ts';
import { createMetrics, type Metrics, metricTables } from './metrics.ts';
import { natsAccess } from './nats-access.ts';
import { gaugesOf, standingOf } from './replica-tells.ts';

export interface Replica {
  /** Where HTTP listens, with the actual port. */
  readonly http: { readonly host: string; readonly port: number };
  /**
   * Resolves when everything has been handed over and closed; rejects with REPLICA_NAME_TAKEN, or with
   * BUS_UNREACHABLE if the connection to NATS was closed for good.
   */
  readonly ended: Promise<void>;
}

/** A graceful shutdown takes under 5 s; the shards get most of it. */
const handOverMs = 4_000;

const basics = { clock: machineClock, random: systemRandom } as const;

interface Connections {
  readonly bus: Bus;
  readonly storing: Storing;
  readonly subjects: Subjects;
  readonly kube: KubeConnection;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Pipelines;
  readonly featureCare: FeatureCare;
  readonly tracing?: Tracing | undefined;
}

/**
 * @param stop aborted to shut the replica down cleanly
 * @throws OrreryError USAGE (kubeconfig, bundle), BUS_VERSION, BUS_REFUSED, BUS_UNREACHABLE (only if `stop`
 *   was aborted)
 */
export async function startReplica(config: RunConfig, stop: AbortSignal): Promise<Replica> {
  const { bundle, ...settings } = settingsOf(config);
  const own = featuresOf(settings, config.without);
  const features = [...own, ...(await loadFeatures(config.features, process.cwd()))];
  const release = bundle?.release ?? config.release;
  const log = createLog({ level: config.logLevel, facts: { replica: config.replica } });
  changeLevelOnSignal(log, stop);
  for (const { name, doubts = [] } of features)
    for (const doubt of doubts) log.warn({ feature: name, doubt }, 'a feature is probably mistaken');
  const metrics = createMetrics({ table: metricTables(features), processMetrics: true });
  const tracing = await startTracing(config);
  const kubeconfig = config.kubeconfig === null ? {} : { kubeconfig: config.kubeconfig };
  const kube = connectKube({ ...basics, log, ...kubeconfig });
  const storing = watchStoring(await meetNats(config, log, stop), {
    ...{ streams: streamDefinitions(config.cluster), clock: machineClock, log },
  });
  const { bus } = storing;
  const subjects = subjectsOf(config.cluster);
  const mirrors = new Set<Mirror>();
  const { node } = config;
  const starters = await Promise.all(features.map((feature) => feature.load()));
  // Nothing is awaited until there is an engine, which health looks at.
  const health: Pipelines = startOwnHealth({
    engine: () => engine,
    mirrors,
    bus,
    storing,
    clock: machineClock,
    node,
  });
  const over = endOf(bus, stop);
  const featureCare = startFeatureCare(features, log, config.replica);
  const connections = { bus, storing, subjects, kube, log, metrics, health, featureCare, tracing };
  const engine: Engine = createEngine({ ...config, release }, features, starters, connections, over);
  const watching = mirrorParts(config, { ...connections, engine, features, mirrors });
  metrics.observed(() => [...gaugesOf(engine, bus, health, machineClock.now()), ...leftOutGauges(mirrors)]);
  // HTTP first: /readyz shows what the start is waiting for.
  const inspector = await createInspector(config, { bus, subjects, kinds: kindsOf(features) });
  const standing = standingOf(features, { engine, mirrors, ...connections }, machineClock);
  const http = await startHttpOf(config, features, { engine, inspector, standing, ...connections });
  log.info({ http: `${http.address.host}:${http.address.port}`, cluster: config.cluster }, 'replica starts');
  const starting = engine.start(declaredHoldings(watching, () => engine.ownership));
  // A shutdown requested while NATS is unreachable takes effect at once.
  await Promise.race([starting, abortOf(stop), over.promise]);
  if (stop.aborted) starting.catch(() => {});
  else followNamedKinds(watching, engine.ownership);
  // Whoever ends before it has started knows nothing to answer.
  const answering = stop.aborted ? [] : answerRequests(config, { engine, bus, subjects, ...standing });
  return {
    http: http.address,
    ended: Promise.race([end(stop, { engine, answering, inspector, http, ...connections }), over.promise]),
  };
}

type Answering = ReadonlyArray<{ stop(): void }>;

/** Answers over NATS, for the whole cluster. */
function answerRequests(
  { replica, release }: RunConfig,
  parts: Pick<Connections, 'bus' | 'subjects'> & {
    readonly engine: Engine;
    readonly troubles: () => readonly string[];
  },
): Answering {
  const requests = parts.engine.runs.flatMap(({ requests }) => requests ?? []);
  return [
    serveControl({ ...parts, clock: machineClock, replica, release, requests }),
    startInspection({ ...basics, ...parts, replica }),
  ];
}

/** Rejects when the replica cannot go on. */
function endOf(bus: Bus, stop: AbortSignal): PromiseWithResolvers<never> {
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => {});
  bus.onStatus((status) => {
    if (status === 'closed' && !stop.aborted) over.reject(unreachable('the connection is closed for good'));
  });
  return over;
}

/** The parts of mirrors; `mirrors` is told of each. */
function mirrorParts(
  { namespaces, replica }: RunConfig,
  parts: Connections & {
    readonly engine: Engine;
    readonly features: readonly Feature[];
    readonly mirrors: Set<Mirror>;
  },
): HoldingParts {
  const { bus, subjects, kube, log, engine, features, metrics, tracing, mirrors } = parts;
  const { world } = engine;
  return {
    ...basics,
    features,
    bus: tracing === undefined ? bus : tracedStore(bus, tracing),
    encode,
    subjects,
    kube,
    log,
    world: {
      entries: (resource) => world.entries(resource),
      onChange: (callback) => world.onChange(callback),
      ready: (_resource, sequence) => engine.pictured(sequence),
    },
    namespaces,
    keepers: Object.assign({}, ...engine.runs.map(({ keepers }) => keepers ?? {})),
    metrics: {
      watchRestarts: metrics.watchRestart,
      worldLag: metrics.worldLag,
      forget: metrics.forgetResource,
    },
    onLeftOut: leftOutEvents(kube, { replica, clock: machineClock, log }),
    onMirror: (mirror) => void mirrors.add(mirror),
    onMirrorForgotten: (mirror) => void mirrors.delete(mirror),
  };
}

/** The SDK is loaded only if tracing is on. */
async function startTracing({ replica, cluster, release }: RunConfig): Promise<Tracing | undefined> {
  if (!isTracingWanted(process.env)) return undefined;
  const { startOtlp } = await import('./tracing-otlp.ts');
  const resource = { 'service.version': release, 'service.instance.id': replica, 'orrery.cluster': cluster };
  return startOtlp({ env: process.env, resource });
}

/** NATS may be unreachable for a while; /readyz shows that. */
async function meetNats(config: RunConfig, log: Log, stop: AbortSignal): Promise<Bus> {
  const { http, healthHttp, httpTls } = config;
  const tls = httpTls === null ? undefined : readTls(httpTls);
  const troubles = createTroubles(machineClock);
  const basics = { clock: systemClock, troubles };
  const waiting = [await listeningOn('http', http, answerWhileWaiting({ ...basics, listen: http, tls }))];
  if (healthHttp !== null) {
    const own = answerWhileWaiting({ ...basics, listen: healthHttp });
    waiting.push(await listeningOn('health-http', healthHttp, own));
  }
  try {
    return await connectNats({ ...natsOptions(config), log, signal: stop, troubles });
  } finally {
    await Promise.all(waiting.map((one) => one.close()));
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
  features: readonly Feature[],
  starters: ReadonlyArray<Awaited<ReturnType<Feature['load']>>>,
  { bus, subjects, kube, log, metrics, health, featureCare: { care }, tracing }: Connections,
  over: PromiseWithResolvers<never>,
): Engine {
  const incarnation = systemRandom.id();
  const { replica, release, cluster } = config;
  const one = new OneKubernetes({ ...basics, kube, log, cluster });
  const store = new OneStore({ ...basics, bus, log, cluster });
  const common = { ...basics, bus, subjects, log, metrics, replica, incarnation, release };
  const engine: Engine = new Engine({
    ...common,
    onNameTaken: over.reject,
    features,
    start: (engine) => [
      ...starters.map((start) => start({ ...common, engine, kube })),
      ...[one, store].map((each) => each.run(engine)),
    ],
    alsoTold: () => ({ ...one.told(), ...store.told() }),
    effects: [
      runs(
        messageSend,
        sendMessage(bus, subjects, () => engine.hearsEarlier()),
      ),
      runs(kubeEventWrite, writeKubeEvent(kube, { replica, log: common.log })),
    ],
    isFit: () => health.isFit(),
    tracing,
    care,
  });
  return engine;
}

/** The paths that features declare, each with its handler in this replica. */
function pathsOf(features: readonly Feature[], runs: readonly FeatureRun[]): HttpServerParts['featurePaths'] {
  const answerers: Readonly<Record<string, HttpAnswerer>> = Object.assign(
    {},
    ...runs.map(({ http }) => http ?? {}),
  );
  return features
    .flatMap(({ http }) => http ?? [])
    .flatMap((declared) => {
      const answer = answerers[declared.path];
      return answer === undefined ? [] : [{ ...declared, answer }];
    });
}

interface HttpOfReplica {
  readonly address: HttpServer['address'];
  close(): Promise<unknown>;
}

async function startHttpOf(
  config: RunConfig,
  features: readonly Feature[],
  {
    engine,
    kube,
    metrics,
    health,
    inspector,
    standing,
  }: Omit<Connections, 'log' | 'featureCare'> & {
    readonly engine: Engine;
    readonly inspector: Inspector;
    readonly standing: Pick<ReturnType<typeof standingOf>, 'readiness'>;
  },
): Promise<HttpOfReplica> {
  const isOpen = config.inspectorAuth === 'none';
  const told = {
    readiness: standing.readiness,
    health(endpoint: 'healthz' | 'livez') {
      const answer = healthAnswer(endpoint, health.picture(), leaseClock(machineClock).now());
      const code = String(answer.status);
      metrics.count('orrery_health_answers_total', { subject: 'replica', endpoint, code });
      return replyOf(answer);
    },
  };
  const { healthHttp: listen, httpTls: tls } = config;
  const own =
    listen === null
      ? null
      : await listeningOn('health-http', listen, startHealthHttp({ ...told, listen, clock: systemClock }));
  const starting = startHttp({
    host: config.http.host,
    port: config.http.port,
    ...(tls === null ? {} : { tls }),
    ...inspector.http,
    ...told,
    metricsAuth: config.metricsAuth,
    featurePaths: pathsOf(features, engine.runs),
    charts: kindsOf(features).charts,
    metrics,
    clock: systemClock,
    authorize: isOpen ? everybodyMay : createKubeAuthorizer(kube, systemClock),
  });
  const server = await listeningOn('http', config.http, starting);
  return { address: server.address, close: () => Promise.all([server.close(), own?.close()]) };
}

function abortOf(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

async function end(
  stop: AbortSignal,
  parts: {
    readonly engine: Engine;
    readonly answering: Answering;
    readonly inspector: Inspector;
    readonly http: HttpOfReplica;
    readonly bus: Bus;
    readonly kube: KubeConnection;
    readonly log: Log;
    readonly health: Pipelines;
    readonly featureCare: FeatureCare;
    readonly tracing: Tracing | undefined;
  },
): Promise<void> {
  await abortOf(stop);
  const started = systemClock.monotonic();
  await parts.engine.stop(handOverMs);
  for (const one of parts.answering) one.stop();
  parts.inspector.stop();
  parts.health.stop();
  await parts.featureCare.stop();
  await parts.http.close();
  await parts.bus.close();
  parts.kube.close();
  await parts.tracing
    ?.stop()
    .catch((error) => parts.log.warn({ error: asError(error).message }, 'spans are lost'));
  parts.log.info({ ms: Math.round(systemClock.monotonic() - started) }, 'replica ended');
}
