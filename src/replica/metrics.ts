/**
 * The metrics of one replica, in a registry of its own (several replicas may live in one process).
 *
 * Owns: every metric's name, labels, buckets and help text, and the library that counts. Promises: names are those of the
 * contract and in base units; label values come from closed sets (kinds, states, codes, resources), so their number is bounded (I6);
 * only elections, which there are few of, and the hosts of certificates are counted by name, as the contract wants. docs/operating.md lists them from `metricTable`.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { shardCount } from '../base/limits.ts';

/** Every metric of Orrery's own: name → type, labels, meaning. */
export const metricTable = {
  orrery_actors: ['gauge', ['kind', 'state'], 'Actors in the shards that this replica owns.'],
  orrery_transitions_total: ['counter', ['kind'], 'Saved steps.'],
  orrery_step_duration_seconds: ['histogram', [], 'From taking an event to its step being saved.'],
  orrery_mailbox_depth: ['gauge', ['shard'], 'Events that wait for their actor, in the shards owned here.'],
  orrery_shard_owner: ['gauge', ['shard'], '1 for each shard that this replica owns, else 0.'],
  orrery_shard_moves_total: ['counter', [], 'Shards that this replica took over or gave away.'],
  orrery_dead_letters_total: ['counter', ['reason'], 'Messages put aside, by error code (docs/errors.md).'],
  orrery_watch_restarts_total: [
    'counter',
    ['resource'],
    'Kubernetes watches that had to begin again with a list.',
  ],
  orrery_world_lag_seconds: [
    'gauge',
    ['resource'],
    'Age of the last change of the resource when it reached this replica.',
  ],
  orrery_effects_total: [
    'counter',
    ['effect', 'outcome'],
    'Effects that ended: done, failed, timed_out, or aborted (the shard moved).',
  ],
  orrery_certificate_expiry_timestamp_seconds: [
    'gauge',
    ['host'],
    'When the stored certificate of a host ends; told by the replica that owns the host.',
  ],
  orrery_certificate_attempts_total: [
    'counter',
    ['outcome'],
    'Attempts to obtain a certificate: issued, refused, rate_limited, authority_down, failed (for good), cluster (Kubernetes or NATS).',
  ],
  orrery_nats_connected: ['gauge', [], '1 while the connection to NATS stands, else 0.'],
  orrery_nats_disconnects_total: ['counter', [], 'Times that the connection to NATS was lost.'],
  orrery_pipelines_late: [
    'gauge',
    [],
    'Shards, watches and the event loop of this replica that do not keep up; /readyz says which.',
  ],
  orrery_health_answers_total: [
    'counter',
    ['subject', 'endpoint', 'code'],
    'Answers of /livez and /healthz: about this replica (replica) or a node (proxier).',
  ],
  orrery_election_term: [
    'gauge',
    ['election'],
    'Highest known term of each election that this replica serves.',
  ],
  orrery_endpointslice_writes_total: [
    'counter',
    ['operation'],
    'EndpointSlices that were written for workloads outside the cluster: create, update, delete.',
  ],
  orrery_endpoints_stuck_total: [
    'counter',
    [],
    'Services whose EndpointSlices could not be written by any retry, each time that this happened.',
  ],
  orrery_release_rounds_total: [
    'counter',
    ['outcome'],
    'Rounds of reconciliation over the bundle: done, or failed if an object could not be brought to what it says.',
  ],
  orrery_release_leader: ['gauge', [], '1 while this replica leads the release, else 0.'],
  orrery_release_blocked: [
    'gauge',
    [],
    '1 while what is written in the cluster does not suit this replica, so that it does not serve; else 0.',
  ],
  orrery_pod_gate_wait_seconds: ['histogram', [], 'How long a Pod was held back by its readiness gate.'],
} as const satisfies Record<string, readonly [MetricType, readonly string[], string]>;

type MetricType = 'counter' | 'gauge' | 'histogram';
export type MetricName = keyof typeof metricTable;
export type CertificateOutcome =
  | 'issued'
  | 'refused'
  | 'rate_limited'
  | 'authority_down'
  | 'failed'
  | 'cluster';
export type EffectOutcome = 'done' | 'failed' | 'timed_out' | 'aborted';

/** What is not counted as it happens but looked up when somebody asks for the metrics. */
export interface GaugeSource {
  actors(): Iterable<{ readonly kind: string; readonly state: string; readonly count: number }>;
  /** Depths of the mailboxes of the shards owned here. */
  mailboxes(): Iterable<{ readonly shard: number; readonly depth: number }>;
  ownedShards(): Iterable<number>;
  /** Ends of stored certificates, ms since the epoch. */
  certificates(): Iterable<{ readonly host: string; readonly notAfter: number }>;
  lateFamilies(): number;
  isConnected(): boolean;
  /** Since the process began. */
  disconnects(): number;
  /** Elections of the shards owned here, as `<namespace>/<name>`. */
  elections(): Iterable<{ readonly election: string; readonly term: number }>;
  /** Whether this replica must not serve. */
  isBlocked?(): boolean;
}

export interface Metrics {
  transition(kind: string): void;
  stepSeconds(seconds: number): void;
  effect(effect: string, outcome: EffectOutcome): void;
  /** @param reason an error code */
  deadLetter(reason: string): void;
  watchRestart(resource: string): void;
  worldLag(resource: string, seconds: number): void;
  shardMove(): void;
  healthAnswer(subject: 'replica' | 'proxier', endpoint: 'healthz' | 'livez', code: number): void;
  podGateWait(seconds: number): void;
  certificateAttempt(outcome: CertificateOutcome): void;
  /** @param operation create, update or delete */
  sliceWrite(operation: string): void;
  endpointsStuck(): void;
  releaseRound(outcome: 'done' | 'failed'): void;
  releaseLeads(isLeader: boolean): void;
  /** Where the gauges come from; a second call replaces the first. */
  observe(source: GaugeSource): void;
  /** The text that Prometheus reads. */
  text(): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** Saves take 0.1 ms (one server) to some 10 ms (replicated); past a second something is wrong. */
const stepBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** The goal is under 1 s after routing; a rolling update waits up to minutes, a broken Service for hours. */
const gateBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

/** @param options.processMetrics also report on the Node process (memory, CPU, event loop) */
export function createMetrics(options: { processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics) collectDefaultMetrics({ register: registry });
  let source: GaugeSource | undefined;
  const counter = (name: MetricName) => new Counter({ ...describe(name), registers: [registry] });
  const histogram = (name: MetricName, buckets: number[]) =>
    new Histogram({ ...describe(name), buckets, registers: [registry] });
  gauges(registry, () => source);

  const transitions = counter('orrery_transitions_total');
  const steps = histogram('orrery_step_duration_seconds', stepBuckets);
  const moves = counter('orrery_shard_moves_total');
  const deadLetters = counter('orrery_dead_letters_total');
  const watchRestarts = counter('orrery_watch_restarts_total');
  const lag = new Gauge({ ...describe('orrery_world_lag_seconds'), registers: [registry] });
  const effects = counter('orrery_effects_total');
  const attempts = counter('orrery_certificate_attempts_total');
  const healthAnswers = counter('orrery_health_answers_total');
  const sliceWrites = counter('orrery_endpointslice_writes_total');
  const stuck = counter('orrery_endpoints_stuck_total');
  const rounds = counter('orrery_release_rounds_total');
  const leads = new Gauge({ ...describe('orrery_release_leader'), registers: [registry] });
  const gateWaits = histogram('orrery_pod_gate_wait_seconds', gateBuckets);
  return {
    transition: (kind) => transitions.inc({ kind }),
    stepSeconds: (seconds) => steps.observe(seconds),
    effect: (effect, outcome) => effects.inc({ effect, outcome }),
    deadLetter: (reason) => deadLetters.inc({ reason }),
    watchRestart: (resource) => watchRestarts.inc({ resource }),
    worldLag: (resource, seconds) => lag.set({ resource }, seconds),
    shardMove: () => moves.inc(),
    healthAnswer: (subject, endpoint, code) => healthAnswers.inc({ subject, endpoint, code: String(code) }),
    podGateWait: (seconds) => gateWaits.observe(seconds),
    certificateAttempt: (outcome) => attempts.inc({ outcome }),
    sliceWrite: (operation) => sliceWrites.inc({ operation }),
    endpointsStuck: () => stuck.inc(),
    releaseRound: (outcome) => rounds.inc({ outcome }),
    releaseLeads: (isLeader) => leads.set(isLeader ? 1 : 0),
    observe: (next) => {
      source = next;
    },
    text: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
}

/** The gauges that are read from the source at each scrape. */
function gauges(registry: Registry, source: () => GaugeSource | undefined): void {
  new Gauge({
    ...describe('orrery_actors'),
    registers: [registry],
    collect() {
      this.reset();
      for (const { kind, state, count } of source()?.actors() ?? []) this.inc({ kind, state }, count);
    },
  });
  new Gauge({
    ...describe('orrery_certificate_expiry_timestamp_seconds'),
    registers: [registry],
    collect() {
      this.reset();
      for (const { host, notAfter } of source()?.certificates() ?? []) this.set({ host }, notAfter / 1000);
    },
  });
  new Gauge({
    ...describe('orrery_mailbox_depth'),
    registers: [registry],
    collect() {
      this.reset();
      for (const { shard, depth } of source()?.mailboxes() ?? []) this.set({ shard: String(shard) }, depth);
    },
  });
  new Gauge({
    ...describe('orrery_pipelines_late'),
    registers: [registry],
    collect() {
      this.set(source()?.lateFamilies() ?? 0);
    },
  });
  new Gauge({
    ...describe('orrery_nats_connected'),
    registers: [registry],
    collect() {
      this.set(source()?.isConnected() ? 1 : 0);
    },
  });
  new Counter({
    ...describe('orrery_nats_disconnects_total'),
    registers: [registry],
    collect() {
      this.reset();
      this.inc(source()?.disconnects() ?? 0);
    },
  });
  new Gauge({
    ...describe('orrery_election_term'),
    registers: [registry],
    collect() {
      this.reset();
      for (const { election, term } of source()?.elections() ?? []) this.set({ election }, term);
    },
  });
  new Gauge({
    ...describe('orrery_release_blocked'),
    registers: [registry],
    collect() {
      this.set(source()?.isBlocked?.() ? 1 : 0);
    },
  });
  new Gauge({
    ...describe('orrery_shard_owner'),
    registers: [registry],
    collect() {
      const owned = new Set(source()?.ownedShards() ?? []);
      for (let shard = 0; shard < shardCount; shard++) {
        this.set({ shard: String(shard) }, owned.has(shard) ? 1 : 0);
      }
    },
  });
}

function describe(name: MetricName): { name: string; help: string; labelNames: string[] } {
  const [, labelNames, help] = metricTable[name];
  return { name, help, labelNames: [...labelNames] };
}
