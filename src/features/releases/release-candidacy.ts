/**
 * Whether this replica may lead: it has a bundle, is entered as a node, and no node is of a newer release.
 *
 * When the answer changes to yes the campaign begins after 250 to 750 ms, drawn anew each time, so that replicas of one release do not
 * all begin at once and a release that is just arriving is not led for a moment by the one before. A no holds at once.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { isOlder, type NodeFacts, newestRelease } from '../../machines/release/release-table.ts';

export interface Candidacy {
  /** Looks at the nodes anew. */
  update(): void;
  readonly mayLead: boolean;
  stop(): void;
}

const pauseMinMs = 250;
const pauseSpreadMs = 500;

export function createCandidacy(parts: {
  readonly clock: Clock;
  readonly random: Random;
  /** L; null: without a bundle nobody leads. */
  readonly release: string | null;
  readonly nodes: () => readonly NodeFacts[];
  readonly isEntered: () => boolean;
  /** Told when `mayLead` has changed. */
  readonly onChange: () => void;
}): Candidacy {
  const { clock, random, release, nodes, isEntered, onChange } = parts;
  let isEligible = false;
  let mayLead = false;
  let timer: Timer | null = null;

  const looksEligible = () => {
    const newest = newestRelease(nodes());
    return release !== null && newest !== null && isEntered() && !isOlder(release, newest);
  };
  return {
    update() {
      const was = isEligible;
      isEligible = looksEligible();
      if (isEligible === was) return;
      timer?.cancel();
      timer = null;
      if (isEligible) {
        timer = clock.after(pauseMinMs + pauseSpreadMs * random.next(), () => {
          mayLead = true;
          onChange();
        });
      } else if (mayLead) {
        mayLead = false;
        onChange();
      }
    },
    get mayLead() {
      return mayLead;
    },
    stop() {
      timer?.cancel();
      mayLead = false;
    },
  };
}
