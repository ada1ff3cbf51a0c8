/**
 * The metrics of one replica, in a registry of its own (several replicas may live in one process).
 *
 * Owns every metric's name, labels, buckets and help text, and the library that counts. Promises: names are
 * those of the contract, in base units; label values come from closed sets (kinds, states, codes, resources),
 * so their number is bounded (I6); only elections, which are few, and the hosts of certificates are counted
 * by name, as the contract requires. docs/reference/metrics.md lists them from `metricTable`.
 */
import { Counter, collectDefaultMetrics, Histogram, Gauge as PrometheusGauge, Registry } from 'prom-client';
import type { Feature, Gauge, Labels, MetricDeclaration } from '../actors/feature.ts';

/** Metrics of the engine and of the replica as a whole; features declare their own. */
export const metricTable: Readonly<Record<string, MetricDeclaration>> = {
  orrery_actors: {
    type: 'gauge',
    labels: ['kind', 'state', 'health'],
    help: 'Actors in the shards that this replica owns; `health` is `ok`, `waiting` or `wrong`.',
  },
  orrery_trouble_seconds: {
    type: 'gauge',
    labels: ['kind', 'health'],
    help: 'How long the actor in trouble for longest has not been ok, retries included.',
  },
  orrery_transitions_total: { type: 'counter', labels: ['kind'], help: 'Saved steps.' },
  orrery_step_duration_seconds: {
    type: 'histogram',
    labels: [],
    help: 'From taking an event to its step being saved.',
    // Saves take 0.1 ms (one server) to some 10 ms (replicated); past a second something is wrong.
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  },
  orrery_mailbox_depth: {
    type: 'gauge',
    labels: ['shard'],
    help: 'Events that wait for their actor, in the shards that this replica owns.',
  },
  orrery_shard_owner: {
    type: 'gauge',
    labels: ['shard'],
    help: '1 for each shard that this replica owns, else 0.',
  },
  orrery_shard_moves_total: {
    type: 'counter',
    labels: [],
    help: 'Shards that this replica took over or gave away.',
  },
  orrery_dead_letters_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Messages put aside, by error code (docs/reference/errors.md).',
  },
  orrery_unreadable_total: {
    type: 'counter',
    labels: ['what'],
    help: 'Stored messages in an invalid format: record, checkpoint, fence, world.',
  },
  orrery_watch_restarts_total: {
    type: 'counter',
    labels: ['resource'],
    help: 'Kubernetes watches that had to start again with a list.',
  },
  orrery_world_lag_seconds: {
    type: 'gauge',
    labels: ['resource'],
    help: 'Age of the last change of the resource when it reached this replica.',
  },
  orrery_world_left_out: {
    type: 'gauge',
    labels: ['resource'],
    help: 'Objects of which more would be kept than NATS takes; reported by the replica that watches the resource. /readyz and a Warning Event say which.',
  },
  orrery_effects_total: {
    type: 'counter',
    labels: ['effect', 'outcome'],
    help: 'Effects that ended: done, failed, timed_out, or aborted (the shard moved); and failed tries of effects that are retried until done: retried.',
  },
  orrery_nats_connected: {
    type: 'gauge',
    labels: [],
    help: '1 while connected to NATS, else 0.',
  },
  orrery_nats_disconnects_total: {
    type: 'counter',
    labels: [],
    help: 'Times that the connection to NATS was lost.',
  },
  orrery_nats_second_store: {
    type: 'gauge',
    labels: ['sign'],
    help: 'Whether a JetStream with streams of the same names shares the subjects: 1 while it answers what this replica writes (answers), or another replica works with it (replicas), else 0. /readyz says which.',
  },
  orrery_feature_busy_seconds_total: {
    type: 'counter',
    labels: ['feature'],
    help: 'Time of this replica that a loaded feature used; its share of each second is in docs/reference/limits.md.',
  },
  orrery_feature_held_seconds_total: {
    type: 'counter',
    labels: ['feature'],
    help: 'How long actors or effects of a loaded feature waited because it had used its share.',
  },
  orrery_pipelines_late: {
    type: 'gauge',
    labels: [],
    help: 'Shards, watches and the event loop of this replica that do not keep up; /readyz says which.',
  },
  orrery_health_answers_total: {
    type: 'counter',
    labels: ['subject', 'endpoint', 'code'],
    help: 'Answers of /livez and /healthz about this replica (replica) or a node (proxier).',
  },
};

export function metricTables(
  features: readonly Pick<Feature, 'metrics'>[],
): Readonly<Record<string, MetricDeclaration>> {
  return Object.assign({}, metricTable, ...features.map(({ metrics }) => metrics));
}

export type EffectOutcome = 'done' | 'failed' | 'timed_out' | 'aborted' | 'retried';

/** Sampling interval of the event loop: each sample wakes the process, and the alert is for 500 ms. */
const loopSampleMs = 200;

/** Sums of the library's gauges, under the names of counters, which `promtool check metrics` rejects. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * @param options.table the metrics; default: the replica's own only
 * @param options.processMetrics also report on the Node process (memory, CPU, event loop)
 */
export function createMetrics(
  options: {
    readonly table?: Readonly<Record<string, MetricDeclaration>>;
    readonly processMetrics?: boolean;
  } = {},
) {
  const registry = new Registry();
  if (options.processMetrics) {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopSampleMs });
    for (const name of misnamed) registry.removeSingleMetric(name);
  }
  const known = register(registry, options.table ?? metricTable);
  let source: () => Iterable<Gauge> = () => [];
  const count = (name: string, labels: Labels = {}) => known.counters.get(name)?.inc(labels);
  const observe = (name: string, value: number) => known.histograms.get(name)?.observe(value);
  return {
    count,
    observe,
    transition: (kind: string): void => count('orrery_transitions_total', { kind }),
    stepSeconds: (seconds: number): void => observe('orrery_step_duration_seconds', seconds),
    effect: (effect: string, outcome: EffectOutcome): void =>
      count('orrery_effects_total', { effect, outcome }),
    /** @param reason an error code */
    deadLetter: (reason: string): void => count('orrery_dead_letters_total', { reason }),
    unreadable: (what: string): void => count('orrery_unreadable_total', { what }),
    watchRestart: (resource: string): void => count('orrery_watch_restarts_total', { resource }),
    worldLag: (resource: string, seconds: number): void =>
      known.gauges.get('orrery_world_lag_seconds')?.set({ resource }, seconds),
    /** The resource is no longer mirrored: removes its metrics. */
    forgetResource(resource: string): void {
      known.gauges.get('orrery_world_lag_seconds')?.remove({ resource });
      known.counters.get('orrery_watch_restarts_total')?.remove({ resource });
    },
    shardMove: (): void => count('orrery_shard_moves_total'),
    /** The source of gauges that are evaluated on request; a second call replaces the first. */
    observed: (next: () => Iterable<Gauge>): void => {
      source = next;
    },
    /** The text in Prometheus' format. */
    async text(): Promise<{ readonly contentType: string; readonly body: string }> {
      known.look(source());
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

/** Gauges that are set when they change; all others are evaluated on request. */
const setGauges = ['orrery_world_lag_seconds'];
/** Counters that other parts keep. */
const lookedUpCounters = [
  'orrery_nats_disconnects_total',
  'orrery_feature_busy_seconds_total',
  'orrery_feature_held_seconds_total',
];

function register(registry: Registry, table: Readonly<Record<string, MetricDeclaration>>) {
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, PrometheusGauge>();
  const histograms = new Map<string, Histogram>();
  for (const [name, { type, labels, help, buckets }] of Object.entries(table)) {
    const described = { name, help, labelNames: [...labels], registers: [registry] };
    if (type === 'counter') counters.set(name, new Counter(described));
    else if (type === 'gauge') gauges.set(name, new PrometheusGauge(described));
    else histograms.set(name, new Histogram({ ...described, ...(buckets ? { buckets: [...buckets] } : {}) }));
  }
  const look = (found: Iterable<Gauge>) => {
    for (const [name, gauge] of gauges) if (!setGauges.includes(name)) gauge.reset();
    for (const name of lookedUpCounters) counters.get(name)?.reset();
    for (const { name, labels = {}, value } of found) {
      gauges.get(name)?.set(labels, value);
      counters.get(name)?.inc(labels, value);
    }
  };
  return { counters, gauges, histograms, look };
}
