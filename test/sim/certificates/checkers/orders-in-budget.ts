/**
 * "An Issuer gives permits … within its budget for orders" and "Budgets are in the Issuer's record: neither a
 * restart nor a move forgets what was ordered, nor does deleting the Issuer" (docs/features/certificates.md
 * §5.1, §5.6). An order whose answer was lost may be made once more (§4.4): each host's own, and nobody
 * else's. A budget comes back evenly over its three hours, as an authority's does.
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import { acmeOrder } from '../../../../src/machines/domain/domain-effects.ts';
import type { CertificateScene } from '../certificate-world.ts';

const windowMs = 3 * 3_600_000;
/** Longer than from the beginning of an effect to its order. */
const onItsWayMs = 60_000;

export const ordersInBudget = ({
  authority,
  ordersPer3h,
}: Pick<CertificateScene, 'authority' | 'ordersPer3h'>): CheckerKind => ({
  name: 'no order beyond a budget',
  create(eye) {
    const begun = new Set<string>();
    /** When an effect that had begun began again: its first run may have ordered, and nobody heard of it. */
    const repeatedAt: number[] = [];
    return (sighting) => {
      if (sighting.kind === 'effect' && sighting.effect.type === acmeOrder.type) {
        if (begun.has(sighting.key)) repeatedAt.push(eye.now());
        begun.add(sighting.key);
      }
      if (sighting.kind !== 'second') return;
      const since = eye.now() - windowMs;
      const counted = authority.orders.filter(({ madeAt, isSuggested }) => !isSuggested && madeAt > since);
      const repeated = repeatedAt.filter((at) => at > since - onItsWayMs).length;
      // What may be ordered at once, and what came back since the permit, which comes before its order.
      const first = Math.min(eye.now(), ...counted.map(({ madeAt }) => madeAt));
      const back = (eye.now() - first + onItsWayMs) / windowMs;
      const allowed = ordersPer3h * (1 + back) + repeated;
      if (counted.length > allowed)
        eye.breach(
          `${counted.length} orders in three hours, the budget is ${ordersPer3h} (${repeated} repeated)`,
        );
    };
  },
});
