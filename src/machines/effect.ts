/**
 * An effect as one declaration: its name, its form, its failure event, its time limit and its concurrency. A
 * chart's `setup` takes the actions from it, the engine everything else.
 *
 * An effect is plain data, saved with its step before it runs (I1). It ends with exactly one outcome, an
 * event (I4). It may run again after a crash, and the second run must change nothing (I5).
 */
import { limits } from '../base/limits.ts';
import type { PlainEvent } from '../base/plain-event.ts';

/** What every effect has. */
export interface AnyEffect {
  readonly type: string;
}

export interface EffectDeclaration<E extends AnyEffect = AnyEffect> {
  readonly type: E['type'];
  /**
   * The outcome of an effect that threw or timed out: every effect has a failure edge (I4).
   *
   * @param cause the exception; absent: a timeout
   */
  failure(effect: E, message: string, cause?: unknown): PlainEvent;
  /** Time limit, milliseconds. */
  timeoutMs(effect: E): number;
  /**
   * It has no failure edge: it is retried with growing pauses, and stays in the outbox until it is done or
   * the shard has another owner, who continues. `timeoutMs` bounds one try.
   */
  readonly untilDone: boolean;
  /** Concurrent runs of this type in one replica. Types never wait for each other. */
  readonly inFlight: number;
  /** The chart's action. It does nothing; the step collects the request. */
  action(args: unknown, params: Omit<E, 'type'>): void;
}

export interface EffectOptions<E extends AnyEffect> {
  /** Without it, a failure changes no chart: `effect.settled` with the error removes it from the outbox. */
  readonly failure?: (effect: E, message: string, cause?: unknown) => PlainEvent;
  /** Milliseconds, or a function of the effect; default `limits.effectTimeoutMs`. */
  readonly timeoutMs?: number | ((effect: E) => number);
  /** Absent: one failure ends it. */
  readonly untilDone?: true;
  /** Default `limits.effectsInFlight`. */
  readonly inFlight?: number;
}

/** Declares an effect. @param type `thing.verb`, as in records: a promise to earlier and later releases */
export function effect<E extends AnyEffect>(
  type: E['type'],
  {
    failure = settled,
    timeoutMs = limits.effectTimeoutMs,
    untilDone,
    inFlight = limits.effectsInFlight,
  }: EffectOptions<E> = {},
): EffectDeclaration<E> {
  return {
    type,
    failure,
    timeoutMs: typeof timeoutMs === 'number' ? () => timeoutMs : timeoutMs,
    untilDone: untilDone ?? false,
    inFlight,
    action: () => {},
  };
}

type Actions<D extends readonly EffectDeclaration[]> = {
  readonly [K in D[number] as K['type']]: K['action'];
};

/** The actions of these effects, for a chart's `setup`. */
export function actionsOf<const D extends readonly EffectDeclaration[]>(...effects: D): Actions<D> {
  return Object.fromEntries(effects.map(({ type, action }) => [type, action])) as unknown as Actions<D>;
}

/** The outcome of an effect that threw or timed out. */
export function failureOf(
  declared: readonly EffectDeclaration[],
  effect: AnyEffect,
  message: string,
): PlainEvent {
  const declaration = declared.find(({ type }) => type === effect.type);
  return (declaration?.failure ?? settled)(effect, message);
}

/** The outcome of an effect for which no chart waits. */
function settled({ type }: AnyEffect, error: string): PlainEvent {
  return { type: 'effect.settled', effect: type, error };
}
