/**
 * "There are never two leaders under one term" and "The term grows with every change of leader and never
 * repeats" (docs/features/elections.md §4.1, §4.2).
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import type { ElectionPeople } from '../election-world.ts';

export const oneLeaderPerTerm = (people: ElectionPeople): CheckerKind => ({
  name: 'one leader per term',
  create(eye) {
    const leaders = new Map<string, string>();
    const note = (election: string, term: number, who: string) => {
      const key = `${election} ${term}`;
      const known = leaders.get(key);
      if (known !== undefined && known !== who)
        eye.breach(`${election}: ${known} and ${who} led under ${term}`);
      leaders.set(key, who);
    };
    const highest = new Map<string, number>();
    const before = people.onBelief;
    people.onBelief = (belief) => {
      before(belief);
      if (belief.term !== null) note(belief.election, belief.term, belief.who);
    };
    return (sighting) => {
      if (sighting.kind !== 'told' || !sighting.transition.id.startsWith('election/')) return;
      const { id, event } = sighting.transition;
      if (event.type !== 'lease.written') return;
      const { holder, term } = event as unknown as { holder?: string; term?: number };
      if (typeof holder !== 'string' || holder === '' || typeof term !== 'number') return;
      const election = id.slice('election/'.length);
      note(election, term, holder);
      if (term < (highest.get(election) ?? 0))
        eye.breach(`${election}: term ${term} after ${highest.get(election)}`);
      highest.set(election, Math.max(term, highest.get(election) ?? 0));
    };
  },
});
