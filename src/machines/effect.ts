/**
 * An effect as one declaration: its name, its form, what its failure tells the chart, how long it may take
 * and in which lane it runs. A chart's `setup` takes the actions from it, the engine everything else.
 *
 * An effect is plain data, saved with the step before it runs (I1). It ends with exactly one outcome, an
 * event (I4), and may run again after a crash: a second run must change nothing (I5).
 */
import { limits } from '../base/limits.ts';
import type { PlainEvent } from '../base/plain-event.ts';

/** The part that every effect has. */
export interface AnyEffect {
  readonly type: string;
}

export interface EffectDeclaration<E extends AnyEffect = AnyEffect> {
  readonly type: E['type'];
  /**
   * The outcome of an effect that threw or ran out of time: every effect has a failure edge (I4).
   *
   * @param cause what was thrown; absent: the time was over
   */
  failure(effect: E, message: string, cause?: unknown): PlainEvent;
  /** Longest time that it may take, milliseconds. */
  timeoutMs(effect: E): number;
  /**
   * It has no failure edge: whatever it meets, it is tried again with growing pauses, and stays in the outbox
   * until it is done or the shard has another owner, who goes on with it. `timeoutMs` bounds one try.
   */
  readonly untilDone: boolean;
  /** How many of its type may run at a time in one replica. Types never wait for each other. */
  readonly inFlight: number;
  /** The chart's action: it does nothing; the step collects that it was asked for. */
  action(args: unknown, params: Omit<E, 'type'>): void;
}

export interface EffectOptions<E extends AnyEffect> {
  /** If absent, the failure changes no chart: `effect.settled` with the error ends it in the outbox. */
  readonly failure?: (effect: E, message: string, cause?: unknown) => PlainEvent;
  /** Milliseconds, or how to tell them from the effect; `limits.effectTimeoutMs` if absent. */
  readonly timeoutMs?: number | ((effect: E) => number);
  /** Absent: one failure ends it. */
  readonly untilDone?: true;
  /** `limits.effectsInFlight` if absent. */
  readonly inFlight?: number;
}

/**
 * Declares an effect. @param type `thing.verb`, as it stands in records: a promise to the releases before and
 * after
 */
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

/** The outcome of an effect that threw or ran out of time. */
export function failureOf(
  declared: readonly EffectDeclaration[],
  effect: AnyEffect,
  message: string,
): PlainEvent {
  const declaration = declared.find(({ type }) => type === effect.type);
  return (declaration?.failure ?? settled)(effect, message);
}

/** The outcome of an effect that nobody waits for. */
function settled({ type }: AnyEffect, error: string): PlainEvent {
  return { type: 'effect.settled', effect: type, error };
}
