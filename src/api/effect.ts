/**
 * An effect of a feature: what a chart requests of the outside, together with its runner.
 *
 * An effect is saved with its step before it runs (I1). It may run again after a crash, and the second run
 * must change nothing (I5): `tools.key` is the same on every run of the same effect. It ends with exactly one
 * outcome, an event: `<name>.done` with the result of `run`, or `<name>.failed`.
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
import { type HttpAnswer, type HttpRequest, httpTimeoutMs } from './http-call.ts';
import type { KubernetesTools } from './kubernetes/tools.ts';
import type { PerReplica } from './per-replica.ts';

/** What the runner of an effect can use. */
export interface Tools {
  /** `<actor id>/<rev>/<index>`: the same on every run of the same effect. */
  readonly key: string;
  readonly actor: ActorId;
  /** Aborted when the time is up, or the replica loses the actor: return at once. */
  readonly signal: AbortSignal;
  /** Sends an intermediate event to the actor (not the outcome). */
  readonly emit: (event: PlainEvent) => void;
  /** Milliseconds since the epoch; tests use a clock of their own. */
  readonly now: () => number;
  readonly log: Log;
  /**
   * A resource that all runs in this replica share; the first use opens it. @throws what its `open` throws
   */
  readonly use: <T>(what: PerReplica<T>) => Promise<T>;
  /** Counts under the metric names that the feature declares. */
  readonly metrics: FeatureMetrics;
  readonly kubernetes: KubernetesTools;
  /** One HTTP call. @throws OrreryError HTTP_UNREACHABLE if there is no answer */
  readonly http: (request: HttpRequest) => Promise<HttpAnswer>;
}

export interface EffectOptions<P extends object, R> {
  /** Runs the effect. An exception becomes `<name>.failed` (`Failure` gives it a code and a pause). */
  readonly run: (params: P, tools: Tools) => Promise<R>;
  /** The longest that one run may take, ms; default 30,000, at most 900,000. */
  readonly timeoutMs?: number | ((params: P) => number);
  /** Concurrent runs in one replica; default 16, at most 64. */
  readonly inFlight?: number;
  /** It never fails: it is retried with growing pauses until it is done. */
  readonly untilDone?: true;
  /** The Kubernetes permissions that it needs, for `orrery access`. */
  readonly needs?: readonly Need[];
}

/** A declared effect: its name, its parameters and its outcomes. */
export interface Effect<T extends string = string, P extends object = object, R = unknown>
  extends EffectDeclaration<{ readonly type: T } & P> {
  readonly needs: readonly Need[];
  run(params: P, tools: Tools): Promise<R>;
}

/** The outcomes of an effect. */
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
  /** The HTTP status of the answer; null: there was none. */
  readonly status: number | null;
  /** How long the server asks to wait; null: it does not say. */
  readonly retryAfterMs: number | null;
}

type OutcomeOf<E> =
  E extends Effect<infer T, infer _P, infer R>
    ? Done<T, R> | Failed<T>
    : { readonly type: 'effect.settled'; readonly effect: string; readonly error: string | null };

/** The outcomes of a list of effects, as events of a chart. */
export type EventsOf<L extends readonly AnyDeclared[]> = OutcomeOf<L[number]>;

/** An effect of a feature, or one that the engine runs (`message`). */
export type AnyDeclared = Effect | EffectDeclaration;

/**
 * Declares an effect.
 *
 * @param type its name, `drain.evict`: it is stored in records, and is a promise to earlier and later
 *   versions
 * @throws OrreryError USAGE if a bound is exceeded
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

/**
 * An effect that makes one HTTP call. An answer of any status counts as done; no answer as failed.
 *
 * @param options.headers computed when the call is made: the place for secrets, which must not be in params
 */
export function http<const T extends string>(
  type: T,
  options: { readonly headers?: (tools: Tools) => Promise<Readonly<Record<string, string>>> } = {},
): Effect<T, HttpRequest, HttpAnswer> {
  return effect(type, {
    async run(request: HttpRequest, tools) {
      const own = (await options.headers?.(tools)) ?? {};
      return tools.http({ ...request, headers: { ...request.headers, ...own } });
    },
    timeoutMs: ({ timeoutMs = httpTimeoutMs }) => timeoutMs + 5_000,
  });
}
