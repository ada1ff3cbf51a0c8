/**
 * The interface for everything that acts on the outside: one runner for each declared effect.
 */
import { invariant } from '../base/errors.ts';
import type { ActorId } from '../base/ids.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import type { TraceContext } from '../base/tracing.ts';
import type { AnyEffect, EffectDeclaration } from '../machines/effect.ts';

export interface EffectContext {
  /**
   * `<actor id>/<rev>/<index>`: the same on every run of the effect. Use it to make the effect idempotent
   * (I5).
   */
  readonly key: string;
  /**
   * Also the same on every run, and known only to replicas; absent: an earlier release requested the effect.
   */
  readonly word?: string | undefined;
  readonly actor: ActorId;
  /** Aborted when the replica loses the shard or stops. Return at once; no outcome is expected then. */
  readonly signal: AbortSignal;
  /** Sends an intermediate event to the actor (not the outcome). */
  readonly emit: (event: PlainEvent) => void;
  /** The trace context to pass on with everything sent, if tracing is on. */
  readonly trace?: TraceContext | undefined;
}

/**
 * Runs the effect and returns its outcome event. If it rejects, the host sends the effect's failure event.
 */
export type EffectRunner<E extends AnyEffect> = (effect: E, context: EffectContext) => Promise<PlainEvent>;

/** An effect and its runner. */
export interface RunnableEffect {
  readonly type: string;
  run(effect: AnyEffect, context: EffectContext): Promise<PlainEvent>;
}

export function runs<E extends AnyEffect>(
  { type }: EffectDeclaration<E>,
  runner: EffectRunner<NoInfer<E>>,
): RunnableEffect {
  // An effect in a record is the one that its chart requested.
  return { type, run: (effect, context) => runner(effect as E, context) };
}

/** Finds the runner of an effect. @throws OrreryError INVARIANT if it has none here */
export function runnerOf(effects: readonly RunnableEffect[]): RunnableEffect['run'] {
  const runners = new Map(effects.map((one) => [one.type, one]));
  return (effect, context) => {
    const runner = runners.get(effect.type);
    invariant(runner !== undefined, 'a chart asks only for effects that can be run here', {
      effect: effect.type,
    });
    return runner.run(effect, context);
  };
}
