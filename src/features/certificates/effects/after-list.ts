/**
 * Effects that need an Issuer wait until Issuers have been listed. What a former owner left to be done runs
 * as soon as the shard is taken, which may be before the world was listed again; an Issuer that is merely
 * unknown would be a refusal then, and a Warning.
 */
import type { RunnableEffect } from '../../../actors/effect-runner.ts';
import type { World } from '../../../actors/world/world.ts';
import { type Clock, sleep } from '../../../base/clock.ts';

const lookEveryMs = 100;

/** The host bounds the wait: it ends with the effect's own time. */
export function afterList(
  { world, clock }: { readonly world: Pick<World, 'statement'>; readonly clock: Clock },
  effects: readonly RunnableEffect[],
): readonly RunnableEffect[] {
  const isListed = () => world.statement('orrery.dev/v1alpha1/Issuer') !== null;
  return effects.map(({ type, run }) => ({
    type,
    async run(effect, context) {
      while (!isListed()) await sleep(clock, lookEveryMs, context.signal);
      return run(effect, context);
    },
  }));
}
