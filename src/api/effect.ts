/**
 * What a chart asks the outside for, together with who does it.
 *
 * An effect is saved with the step that asks for it, before it runs (I1); it may run again after a crash and
 * must then change nothing (I5): `tools.key` is the same on every run of the same effect. It ends with
 * exactly one outcome, an event: `<name>.done` with what `run` returned, or `<name>.failed`.
 */

import type { FeatureMetrics } from '../actors/feature.ts';
import { featureLimits } from '../actors/feature-limits.ts';
import type { Need } from '../actors/need.ts';
import { OrreryError } from '../base/errors.ts';
import type { ActorId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log-port.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import { type AnyEffect, effect as declareEffect, type EffectDeclaration } from '../machines/effect.ts';
import { failedEvent } from './failure.ts';
import type { HttpAnswer, HttpRequest } from './http-call.ts';
import type { KubernetesTools } from './kubernetes/tools.ts';
import type { PerReplica } from './per-replica.ts';

/** What the runner of an effect works with. */
export interface Tools {
  /** `<actor id>/<rev>/<index>`: the same on every run of the same effect. */
  readonly key: string;
  readonly actor: ActorId;
  /** Aborted when the time is over, or the replica loses the actor: end at once. */
  readonly signal: AbortSignal;
  /** Hands an intermediate event to the actor (not the outcome). */
  readonly emit: (event: PlainEvent) => void;
  /** Milliseconds since the epoch; tests have a clock of their own. */
  readonly now: () => number;
  readonly log: Log;
  /** What all runs in this replica share, opened by the first of them. @throws what its `open` throws */
  readonly use: <T>(what: PerReplica<T>) => Promise<T>;
  /** Counts under the names that the feature declares. */
  readonly metrics: FeatureMetrics;
  readonly kubernetes: KubernetesTools;
  /** One HTTP call. @throws OrreryError HTTP_UNREACHABLE if there is no answer */
  readonly http: (request: HttpRequest) => Promise<HttpAnswer>;
}

export interface EffectOptions<P extends object, R> {
  /** Does it. What it throws becomes `<name>.failed` (`Failure` gives it a code and a pause). */
  readonly run: (params: P, tools: Tools) => Promise<R>;
  /** Longest time that one run may take, ms; 30,000 if absent, 900,000 at most. */
  readonly timeoutMs?: number | ((params: P) => number);
  /** How many of it may run at a time in one replica; 16 if absent, 64 at most. */
  readonly inFlight?: number;
  /** It never fails: it is tried again with growing pauses until it is done. */
  readonly untilDone?: true;
  /** What it needs of Kubernetes, for `orrery access`. */
  readonly needs?: readonly Need[];
}

/** A declared effect, with its name, what it is asked with, and what it ends with. */
export interface Effect<T extends string = string, P extends object = object, R = unknown>
  extends EffectDeclaration<{ readonly type: T } & P> {
  readonly needs: readonly Need[];
  run(params: P, tools: Tools): Promise<R>;
}

/** What an effect ends with. */
export type Done<T extends string, R> = {
  readonly type: `${T}.done`;
} & (R extends object ? Readonly<R> : unknown);

export interface Failed<T extends string> {
  readonly type: `${T}.failed`;
  readonly message: string;
  /**
   * `TIMEOUT`, `KUBE_CONFLICT`, `HTTP_UNREACHABLE` (docs/reference/errors.md), or the code of a `Failure`.
   */
  readonly code: string;
  /** The HTTP status, where somebody answered with one; null: nobody did. */
  readonly status: number | null;
  /** For how long whoever refused asks to wait; null: it says nothing. */
  readonly retryAfterMs: number | null;
}

type OutcomeOf<E> =
  E extends Effect<infer T, infer _P, infer R>
    ? Done<T, R> | Failed<T>
    : { readonly type: 'effect.settled'; readonly effect: string; readonly error: string | null };

/** The outcomes of a list of effects: what a chart hears of them. */
export type EventsOf<L extends readonly AnyDeclared[]> = OutcomeOf<L[number]>;

/** An effect of a feature, or one that the engine runs (`message`). */
export type AnyDeclared = Effect | EffectDeclaration;

/**
 * Declares an effect. @param type its name, `drain.evict`: it stands in records, and is a promise to the
 * versions before and after
 * @throws OrreryError USAGE if a bound is passed
 */
export function effect<const T extends string, P extends object, R>(
  type: T,
  {
    run,
    timeoutMs = limits.effectTimeoutMs,
    inFlight = featureLimits.effectsInFlight,
    untilDone,
    needs = [],
  }: EffectOptions<P, R>,
): Effect<T, P, R> {
  if (!/^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)+$/.test(type))
    throw new OrreryError(
      'USAGE',
      `effect ${JSON.stringify(type)}: its name must have the form thing.verb, such as drain.evict`,
    );
  if (inFlight < 1 || inFlight > featureLimits.effectsInFlightMax)
    throw new OrreryError(
      'USAGE',
      `effect ${type}: inFlight must be from 1 to ${featureLimits.effectsInFlightMax}`,
    );
  const time = typeof timeoutMs === 'number' ? () => timeoutMs : timeoutMs;
  const declared = declareEffect<AnyEffect>(type, {
    failure: (_effect, message, cause) => failedEvent(type, message, cause),
    timeoutMs: (asked) => Math.min(Math.max(1, time(asked as AnyEffect & P)), featureLimits.effectMs),
    inFlight,
    ...(untilDone ? { untilDone } : {}),
  });
  return { ...declared, needs, run } as unknown as Effect<T, P, R>;
}
