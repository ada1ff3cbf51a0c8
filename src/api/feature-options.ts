/** The options from which a feature is made. */
import type { GenericSchema } from 'valibot';
import type { FeatureMetrics, MetricDeclaration } from '../actors/feature.ts';
import type { Need } from '../actors/need.ts';
import type { ActorId } from '../base/ids.ts';
import type { Log } from '../base/log-port.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import type { Tools } from './effect.ts';
import type { Kind } from './kind.ts';

/** A saved step, as a feature sees it. */
export interface StepTold {
  readonly id: ActorId;
  /** States as text; null: the actor's first step. */
  readonly from: string | null;
  readonly to: string;
  readonly event: PlainEvent;
  /** ms since the epoch */
  readonly at: number;
  readonly context: unknown;
}

/** A request subject, `<prefix>.rpc.feature.<feature>.<name>`: one replica with the feature answers. */
export interface RequestEndpoint<S extends GenericSchema = GenericSchema> {
  /** For people. */
  readonly about: string;
  readonly request: S;
  /** @returns plain data. An exception goes to the requester */
  answer(request: unknown, tools: Omit<Tools, 'key' | 'actor' | 'emit'>): Promise<object>;
}

export interface FeatureOptions {
  /** One word of a-z, 0-9 and hyphens; no built-in feature's name. */
  readonly name: string;
  /**
   * Semantic version. The highest version among live replicas owns the kinds; replicas with another version
   * take the rest, and say so in /readyz.
   */
  readonly version: string;
  readonly kinds: readonly Kind[];
  /** Kubernetes permissions beyond those of its watches and `kubernetes` effects. */
  readonly needs?: readonly Need[];
  /** By name. */
  readonly requests?: Readonly<Record<string, RequestEndpoint>>;
  /** By name: the metrics of its effects and of `onStep`. */
  readonly metrics?: Readonly<Record<string, MetricDeclaration>>;
  /** Called after each saved step of its actors. An exception is logged. */
  readonly onStep?: (step: StepTold, tools: { readonly metrics: FeatureMetrics; readonly log: Log }) => void;
}
