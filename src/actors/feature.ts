/**
 * The descriptor of a feature: everything that the engine, the mirror, the inspector, the command line and
 * `deploy/` need to know of it, as data and pure functions. The rooms below `features/` know no feature by
 * name, and nothing of a feature beyond its descriptor.
 *
 * Owns the form of the descriptor, and of what a feature runs in a replica. Absent: the list of features
 * (replica/features.ts).
 */
import type { KubePort } from '../base/kube-port.ts';
import type { Ambient } from '../base/log-port.ts';
import type { Transition } from '../base/views.ts';
import type { Bus } from '../bus/bus.ts';
import type { Endpoint } from '../bus/rpc.ts';
import type { Subjects } from '../bus/subjects.ts';
import type { Chart } from '../machines/chart.ts';
import type { Edition } from './edition.ts';
import type { RunnableEffect } from './effect-runner.ts';
import type { Host } from './host/host.ts';
import type { HostParts } from './host/host-parts.ts';
import type { DeclaredKind } from './kind.ts';
import type { Directory } from './members/directory.ts';
import type { Need } from './need.ts';
import type { HoldingSpec } from './shards/holding.ts';
import type { Ownership } from './shards/ownership.ts';
import type { Shards } from './shards/shard-work.ts';
import type { Join } from './world/join.ts';
import type { NamedWatches, WatchDeclaration } from './world/watch-declaration.ts';
import type { World } from './world/world.ts';

export interface Feature {
  /** One word, as in `docs/features/<name>.md`. */
  readonly name: string;
  /**
   * Set on a feature that replicas load (`--feature`): its kinds live in their own parts, which only replicas
   * with the same edition hold (shards/homes.ts). Absent: a built-in feature.
   */
  readonly edition?: Edition;
  /** Features may share a chart; each kind has one chart. */
  readonly kinds: readonly DeclaredKind[];
  /** What is probably a mistake in a loaded feature, though it can run: for its author. */
  readonly doubts?: readonly string[];
  /** The Kubernetes resources that it watches, and what it keeps of each object. */
  readonly watches: readonly WatchDeclaration[];
  /** The same for kinds that are known only at run time. */
  readonly namedWatches?: NamedWatches;
  /** Its Kubernetes permissions beside watching, from which `deploy/` is generated. */
  readonly needs: readonly Need[];
  /** Request subjects of a loaded feature: `<prefix>.rpc.feature.<feature>.<name>`. */
  readonly requests?: ReadonlyArray<{ readonly name: string; readonly about: string }>;
  /** Paths on a replica's HTTP server. */
  readonly http?: readonly HttpPath[];
  /** By name; the engine's own metrics are separate. */
  readonly metrics: Readonly<Record<string, MetricDeclaration>>;
  /** Imported only where the feature runs: the descriptor alone must not slow down a start. */
  load(): Promise<StartFeature>;
}

export type StartFeature = (parts: FeatureParts) => FeatureRun;

export interface MetricDeclaration {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
  /** For a histogram. */
  readonly buckets?: readonly number[];
}

export type Labels = Readonly<Record<string, string>>;

/** Counts under the metric names that the feature declared. */
export interface FeatureMetrics {
  count(name: string, labels?: Labels): void;
  observe(name: string, value: number): void;
}

/** A path of the replica's HTTP server that needs no authentication. */
export interface HttpPath {
  /** May have parameters: `/things/:name`. */
  readonly path: string;
  /** Its purpose, for the reference. */
  readonly about: string;
}

export type HttpAnswerer = (params: Readonly<Record<string, string>>) => Promise<HttpReply>;

export interface HttpReply {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A gauge that is evaluated when the metrics are read. */
export interface Gauge {
  readonly name: string;
  readonly labels?: Labels;
  readonly value: number;
}

/** What a feature may use of the engine that runs it. */
export interface EngineView {
  readonly parts: HostParts;
  readonly world: World;
  readonly host: Host;
  readonly shards: Shards;
  readonly ownership: Ownership;
  /** @throws Error before the engine has started */
  readonly directory: Directory;
  /** Call when the result of the feature's `blocked` has changed. */
  servingChanged(): void;
}

/** What a feature receives to start in a replica. */
export interface FeatureParts extends Ambient {
  readonly engine: EngineView;
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly kube: KubePort;
  readonly metrics: FeatureMetrics;
  /** Makes HTTP calls; by default Node's own `fetch`. */
  readonly fetch?: (url: string, options: RequestInit) => Promise<Response>;
  readonly replica: string;
  /** Differs from start to start of the replica. */
  readonly incarnation: string;
  /** The replica's release. */
  readonly release: string;
}

/** A feature that runs in one replica. */
export interface FeatureRun {
  /** What the world tells its actors. */
  readonly joins?: readonly Join[];
  /** The runners of its charts' effects. */
  readonly effects?: readonly RunnableEffect[];
  readonly requests?: readonly Endpoint[];
  /** By path: answers the declared HTTP paths. */
  readonly http?: Readonly<Record<string, HttpAnswerer>>;
  /** Holdings beside the shards. */
  readonly holdings?: () => readonly HoldingSpec[];
  /** Jobs that run beside a mirror, in the replica that holds it, by the mirror's name. */
  readonly keepers?: Readonly<Record<string, Keeper>>;
  /** Called after each saved step, with the saved context. */
  readonly onStep?: (transition: Transition, context: unknown) => void;
  readonly gauges?: () => Iterable<Gauge>;
  /** Why the replica must not serve, in words; null: it may. */
  readonly blocked?: () => string | null;
  /** Whether it is blocked by others of its name that work elsewhere: it holds nothing at all. */
  readonly isOutside?: () => boolean;
  /** What an operator should know although the replica serves; shown in /readyz. */
  readonly remarks?: () => readonly string[];
  /** Called before the engine starts to claim. */
  readonly prepare?: () => Promise<void>;
  /** Called once the engine has met the others and claims. */
  readonly started?: () => void;
  readonly stop?: () => Promise<void> | void;
}

export interface Keeper {
  start(): void;
  stop(): void;
}

/**
 * All charts of the features, each once.
 *
 * @throws Error if two features have different charts for one kind
 */
export function chartsOf(features: readonly Pick<Feature, 'name' | 'kinds'>[]): readonly Chart[] {
  const charts = new Map<string, Chart>();
  for (const { name, kinds } of features) {
    for (const { chart } of kinds) {
      const known = charts.get(chart.name) ?? chart;
      if (known !== chart) throw new Error(`feature ${name} has another chart for the kind ${chart.name}`);
      charts.set(chart.name, chart);
    }
  }
  return [...charts.values()];
}
