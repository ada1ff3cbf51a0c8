/**
 * The shape of everything that acts on the outside: one runner for each declared effect.
 */
import { invariant } from '../base/errors.ts';
import type { ActorId } from '../base/ids.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import type { TraceContext } from '../base/tracing.ts';
import type { AnyEffect, EffectDeclaration } from '../machines/effect.ts';

export interface EffectContext {
  /**
   * `<actor id>/<rev>/<index>`: the same on every run of the same effect; use it to make the effect
   * idempotent (I5).
   */
  readonly key: string;
  /**
   * The same on every run, too, and known to replicas alone; absent: a release before asked for the effect.
   */
  readonly word?: string | undefined;
  readonly actor: ActorId;
  /** Aborted when the replica loses the shard or stops: end at once, no outcome is expected then. */
  readonly signal: AbortSignal;
  /** Hands an intermediate event to the actor (not the outcome). */
  readonly emit: (event: PlainEvent) => void;
  /** To be passed on with whatever is sent, where traces are wanted. */
  readonly trace?: TraceContext | undefined;
}

/**
 * Runs the effect and returns its outcome. A rejection counts as failed: the host turns it into the effect's
 * failure event.
 */
export type EffectRunner<E extends AnyEffect> = (effect: E, context: EffectContext) => Promise<PlainEvent>;

/** An effect and who runs it here. */
export interface RunnableEffect {
  readonly type: string;
  run(effect: AnyEffect, context: EffectContext): Promise<PlainEvent>;
}

export function runs<E extends AnyEffect>(
  { type }: EffectDeclaration<E>,
  runner: EffectRunner<NoInfer<E>>,
): RunnableEffect {
  // What comes back from a record is the effect that its chart asked for.
  return { type, run: (effect, context) => runner(effect as E, context) };
}

/** The runner of whatever effect it is. @throws OrreryError INVARIANT for one that nobody runs here */
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
