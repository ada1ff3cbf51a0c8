/**
 * "A holding without a live owner is claimed" (docs/architecture.md): while all replicas run and reach the
 * broker, no shard stays for long without exactly one owner that works, also in the midst of a run. Other
 * promises are judged only once every shard has its owner, so nothing else would find that.
 */
import { ownersMissing } from './at-rest.ts';
import type { CheckerKind } from './checker.ts';
import { createUntroubled } from './quiet-time.ts';

/** A claim and a load whose answers were lost are given up after 36 s; then another replica may claim. */
const withinMs = 60_000;
/** Looks come more often than that, unless hours pass at once. */
const looksMs = 10_000;

/** @param isClosed whether the replicas rightly own no shards; absent: never */
export const owners = (isClosed: () => boolean = () => false): CheckerKind => ({
  name: 'every shard has an owner',
  create(eye) {
    const untroubled = createUntroubled(eye);
    let since = new Map<string, number>();
    let lookedAt = eye.now();
    return (sighting) => {
      untroubled.see(sighting);
      if (sighting.kind !== 'second') return;
      const now = eye.now();
      const before = now - lookedAt > looksMs ? new Map<string, number>() : since;
      lookedAt = now;
      since = new Map();
      if (isClosed() || eye.replicas().length === 0) return;
      for (const text of ownersMissing(eye)) {
        const from = before.get(text) ?? now;
        since.set(text, from);
        const lastedMs = now - Math.max(from, untroubled.since());
        if (lastedMs > withinMs) eye.breach(`for ${Math.round(lastedMs / 1_000)} s ${text}`);
      }
    };
  },
});
