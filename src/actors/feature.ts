/**
 * A feature: everything that the engine, the mirror, the inspector, the command line and `deploy/` need to
 * know of it, as data and pure functions. The parts below `features/` know no feature by name; what a feature
 * is not told here, nobody knows of it.
 *
 * Owns the form of the descriptor and of what it brings to life in a replica. Absent: which features there
 * are (replica/features.ts).
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
import type { Need } from './need.ts';
import type { Directory } from './shards/directory.ts';
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
   * Of a feature that replicas load (`--feature`): its kinds live in parts of their own, which only replicas
   * with the same edition hold (shards/homes.ts). Absent: it comes with the program.
   */
  readonly edition?: Edition;
  /** Features may share a chart; a kind has one chart. */
  readonly kinds: readonly DeclaredKind[];
  /** The Kubernetes resources that it watches, and what it keeps of an object. */
  readonly watches: readonly WatchDeclaration[];
  /** The same for kinds that are known at run time only. */
  readonly namedWatches?: NamedWatches;
  /** What it needs of Kubernetes beside watching, from which `deploy/` is made. */
  readonly needs: readonly Need[];
  /** Request subjects of a loaded feature: `<prefix>.rpc.feature.<feature>.<name>`. */
  readonly requests?: ReadonlyArray<{ readonly name: string; readonly about: string }>;
  /** Paths of a replica's HTTP server. */
  readonly http?: readonly HttpPath[];
  /** By name; the engine's own are apart. */
  readonly metrics: Readonly<Record<string, MetricDeclaration>>;
  /** Loaded only where the feature runs: charts and schemas alone must cost no start-up. */
  load(): Promise<StartFeature>;
}

export type StartFeature = (parts: FeatureParts) => FeatureRun;

export interface MetricDeclaration {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
  /** Of a histogram. */
  readonly buckets?: readonly number[];
}

export type Labels = Readonly<Record<string, string>>;

/** How a feature counts: by the names that it declared. */
export interface FeatureMetrics {
  count(name: string, labels?: Labels): void;
  observe(name: string, value: number): void;
}

/** A path of the replica's HTTP server that is answered without asking who calls. */
export interface HttpPath {
  /** With parameters: `/things/:name`. */
  readonly path: string;
  /** What is there, for the reference. */
  readonly about: string;
}

export type HttpAnswerer = (params: Readonly<Record<string, string>>) => Promise<HttpReply>;

export interface HttpReply {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A gauge as it stands when somebody asks for the metrics. */
export interface Gauge {
  readonly name: string;
  readonly labels?: Labels;
  readonly value: number;
}

/** What a feature may ask of the engine that runs it. */
export interface EngineView {
  readonly parts: HostParts;
  readonly world: World;
  readonly host: Host;
  readonly shards: Shards;
  readonly ownership: Ownership;
  /** @throws Error before the engine has started */
  readonly directory: Directory;
  /** The feature's `blocked` has another answer. */
  servingChanged(): void;
}

/** What a feature is handed to live in a replica. */
export interface FeatureParts extends Ambient {
  readonly engine: EngineView;
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly kube: KubePort;
  readonly metrics: FeatureMetrics;
  /** Makes HTTP calls; absent: Node's own. */
  readonly fetch?: (url: string, options: RequestInit) => Promise<Response>;
  readonly replica: string;
  /** Differs from start to start of the replica. */
  readonly incarnation: string;
  /** Of the replica. */
  readonly release: string;
}

/** A feature in one replica. */
export interface FeatureRun {
  /** What the world says to its actors. */
  readonly joins?: readonly Join[];
  /** Who runs the effects of its charts. */
  readonly effects?: readonly RunnableEffect[];
  /** Request subjects that it answers. */
  readonly requests?: readonly Endpoint[];
  /** By path: who answers what the feature declares. */
  readonly http?: Readonly<Record<string, HttpAnswerer>>;
  /** Holdings beside the shards. */
  readonly holdings?: () => readonly HoldingSpec[];
  /** What the replica that mirrors a resource keeps beside it, by the name of the mirror. */
  readonly keepers?: Readonly<Record<string, Keeper>>;
  /** Called after each saved step, with the context that the step was saved with. */
  readonly onStep?: (transition: Transition, context: unknown) => void;
  readonly gauges?: () => Iterable<Gauge>;
  /** Why the replica must not serve, in words; null: it may. */
  readonly blocked?: () => string | null;
  /** What an operator should know of how this replica is run, though it serves; told in /readyz. */
  readonly remarks?: () => readonly string[];
  /** Before the engine begins to claim. */
  readonly prepare?: () => Promise<void>;
  /** The engine has met the others and claims. */
  readonly started?: () => void;
  readonly stop?: () => Promise<void> | void;
}

export interface Keeper {
  start(): void;
  stop(): void;
}

/**
 * Every chart of the features, each once. @throws Error if two features have different charts for one kind
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
