/**
 * "A leader leads until `expiresInMs` after it asked … That's never longer than Orrery may hold the Lease
 * without a renewal" (docs/features/elections.md §5.3): no candidate may believe that it leads while another
 * may, whichever way they campaign.
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import type { ElectionPeople } from '../election-world.ts';

/**
 * A leader that was robbed of its Lease finds out within its renew deadline, plus the time of a request, ms.
 */
const requestMs = 5_000;

export const oneAtATime = (
  people: ElectionPeople,
  { slackMs, renewDeadlineMs }: { readonly slackMs: number; readonly renewDeadlineMs: number },
): CheckerKind => ({
  // The difference between the clocks of replicas is nobody's breach.
  name: 'one leads at a time',
  create(eye) {
    const before = people.onBelief;
    people.onBelief = (belief) => {
      before(belief);
      const now = eye.now();
      if (now - (people.robbedAt.get(belief.election) ?? 0) < renewDeadlineMs + requestMs) return;
      for (const { belief: other } of [...people.candidates, ...people.programs]) {
        if (other === null || other.who === belief.who || other.election !== belief.election) continue;
        const bothMs = Math.min(other.until, belief.until) - now;
        if (bothMs > slackMs)
          eye.breach(
            `${belief.election}: ${belief.who} leads (${belief.term}), and ${other.who} (${other.term}) may for another ${Math.round(bothMs)} ms`,
          );
      }
    };
    return () => {};
  },
});
