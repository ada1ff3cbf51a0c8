/**
 * The shape of everything that acts on the outside: one runner for each kind of effect.
 */
import type { ActorId } from '../base/ids.ts';
import type { TraceContext } from '../base/tracing.ts';
import type { Effect, EffectType } from '../machines/effects.ts';
import type { ActorEvent } from '../machines/events.ts';

export interface EffectContext {
  /** `<actor id>/<rev>/<index>`: the same on every run of the same effect; use it to make the effect idempotent (I5). */
  readonly key: string;
  readonly actor: ActorId;
  /** Aborted when the replica loses the shard or stops: end at once, no outcome is expected then. */
  readonly signal: AbortSignal;
  /** Hands an intermediate event to the actor (not the outcome). */
  readonly emit: (event: ActorEvent) => void;
  /** To be passed on with whatever is sent, where traces are wanted. */
  readonly trace?: TraceContext | undefined;
}

/** Runs the effect and returns its outcome. A rejection counts as failed: the host turns it into the effect's failure event. */
export type EffectRunner<E extends Effect> = (effect: E, context: EffectContext) => Promise<ActorEvent>;

export type EffectRunners = { readonly [T in EffectType]: EffectRunner<Extract<Effect, { type: T }>> };
