/**
 * Bounds how much costly work one replica does at once, in total and for each sender, so that one that floods
 * leaves room for others.
 *
 * Promises: never more than `most` turns, nor more than `ownMost` of a sender that has a name, are out at the
 * same time. Absent: a queue; whoever gets no turn is refused at once.
 */
import { OrreryError } from '../base/errors.ts';

export interface Turns {
  /**
   * @param sender null: unknown, bounded in total only
   * @returns to be called once when the work is done; null at the bound
   */
  take(sender: string | null): (() => void) | null;
}

export function createTurns({ most, ownMost }: { readonly most: number; readonly ownMost: number }): Turns {
  const bySender = new Map<string | null, number>();
  let all = 0;
  return {
    take(sender) {
      const own = bySender.get(sender) ?? 0;
      if (all >= most) return null;
      if (sender !== null && own >= ownMost) return null;
      bySender.set(sender, own + 1);
      all++;
      return () => {
        all--;
        const left = (bySender.get(sender) ?? 1) - 1;
        if (left > 0) bySender.set(sender, left);
        else bySender.delete(sender);
      };
    },
  };
}

/** For costly work: half of the turns for one sender. */
export const costlyTurns = (most: number): Turns => createTurns({ most, ownMost: Math.ceil(most / 2) });

export const busy = () => new OrreryError('BUSY', 'too many requests are waiting; try again');
