/** What a feature is made from. */
import type { GenericSchema } from 'valibot';
import type { FeatureMetrics, MetricDeclaration } from '../actors/feature.ts';
import type { Need } from '../actors/need.ts';
import type { ActorId } from '../base/ids.ts';
import type { Log } from '../base/log-port.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import type { Tools } from './effect.ts';
import type { Kind } from './kind.ts';

/** A saved step, as a feature is told of it. */
export interface StepTold {
  readonly id: ActorId;
  /** States as text; null: the actor began with it. */
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
  /** @returns plain data. What it throws goes to the one who asked */
  answer(request: unknown, tools: Omit<Tools, 'key' | 'actor' | 'emit'>): Promise<object>;
}

export interface FeatureOptions {
  /** One word of a-z, 0-9 and hyphens; different from the features that come with the program. */
  readonly name: string;
  /**
   * Semantic version. Of the versions that live replicas have, the highest owns the kinds; the others take
   * the rest, and say so in /readyz.
   */
  readonly version: string;
  readonly kinds: readonly Kind[];
  /** What it needs of Kubernetes beside what its watches and `kubernetes` effects need. */
  readonly needs?: readonly Need[];
  /** By name. */
  readonly requests?: Readonly<Record<string, RequestEndpoint>>;
  /** By name: what its effects and `onStep` count. */
  readonly metrics?: Readonly<Record<string, MetricDeclaration>>;
  /** Called after each saved step of its actors. What it throws is said in the log. */
  readonly onStep?: (step: StepTold, tools: { readonly metrics: FeatureMetrics; readonly log: Log }) => void;
}
