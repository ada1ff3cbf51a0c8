/**
 * "An Issuer gives permits … within its budget for orders" and "Budgets are in the Issuer's record: neither a
 * restart nor a move forgets what was ordered" (docs/features/certificates.md §5.1, §5.6). An order whose
 * answer was lost with its replica may be made once more (§4.4).
 */
import type { CheckerKind } from '../../../../packages/testing/checkers/checker.ts';
import type { ShardName } from '../../../../src/base/ids.ts';
import { shardOf } from '../../../../src/bus/partition.ts';
import type { CertificateScene } from '../certificate-world.ts';

const windowMs = 3 * 3_600_000;

export const ordersInBudget = ({
  authority,
  ordersPer3h,
  hosts,
  issuersMadeAt,
}: CertificateScene): CheckerKind => ({
  name: 'no order beyond a budget',
  create(eye) {
    let lost = 0;
    const owned = new Set<ShardName>();
    const ours = new Set<ShardName>([shardOf('issuer/_/acme', eye.world.shards)]);
    for (const host of hosts) ours.add(shardOf(`domain/_/${host}`, eye.world.shards));
    return (sighting) => {
      // A replica that dies, pauses or is cut off may have ordered without being able to say so.
      if (sighting.kind === 'fence' && ours.has(sighting.shard) && sighting.replica !== null) {
        if (owned.has(sighting.shard)) lost++;
        owned.add(sighting.shard);
      }
      if (sighting.kind !== 'second') return;
      const counted = authority.orders.filter(
        ({ madeAt, isSuggested }) => !isSuggested && madeAt > eye.now() - windowMs,
      );
      // What one orders in three hours, and each that was made anew meanwhile.
      const made = issuersMadeAt.filter((at, n) => n > 0 && at > eye.now() - windowMs).length;
      const allowed = ordersPer3h * (1 + made) + lost;
      if (counted.length > allowed)
        eye.breach(`${counted.length} orders in three hours, the budget is ${ordersPer3h} (${lost} moves)`);
    };
  },
});
