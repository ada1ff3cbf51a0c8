/**
 * Effect `challenge.clear`: removes the objects of finished challenges. Outcome challenge.cleared, which
 * names those that are gone; the chart retries the rest.
 */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { asError } from '../../../base/errors.ts';
import type { ChallengeClear } from '../../../machines/domain/domain-effects.ts';
import type { Exhibit } from '../../../machines/domain/exhibit.ts';
import { changeExhibit, type ExhibitParts } from '../solvers/exhibits.ts';
import type { Turns } from '../solvers/turns.ts';

export function clearChallenges(parts: ExhibitParts, turns: Turns): EffectRunner<ChallengeClear> {
  return ({ host, exhibits }, { key, signal }) =>
    turns.take(host, signal, async () => {
      const removed: Exhibit[] = [];
      let message = '';
      for (const [n, exhibit] of exhibits.entries()) {
        try {
          await changeExhibit('removed', parts, exhibit, `${key}/${n}`, signal);
          removed.push(exhibit);
        } catch (thrown) {
          signal.throwIfAborted();
          message = asError(thrown).message.slice(0, 500);
        }
      }
      return { type: 'challenge.cleared', removed, message };
    });
}
