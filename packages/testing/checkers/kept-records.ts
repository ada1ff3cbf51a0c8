/**
 * Which records still exist. The record of an ended actor is kept for an hour after it was stored, by the
 * stream's time: what replicas with wrong clocks wrote into it does not count. An actor that comes back later
 * starts afresh.
 */
import { goneRecordSeconds } from '../../../src/actors/step-order.ts';
import type { Sighting } from '../simulation/sightings.ts';

type Saved = Extract<Sighting, { readonly kind: 'saved' }>;

/** @param now world time, ms */
export function createKept(now: () => number): {
  /** @returns the sighting, with `before` only if that record still existed */
  take(saved: Saved): Saved;
  /** Whether the actor's last stored record has gone since. */
  isGone(id: string): boolean;
  /** All records were lost with their stream. */
  lose(): void;
} {
  /** When the record of an ended actor was stored. */
  const ended = new Map<string, number>();
  const isGone = (id: string) => {
    const at = ended.get(id);
    return at !== undefined && at + goneRecordSeconds * 1_000 <= now();
  };
  return {
    isGone,
    lose: () => ended.clear(),
    take(saved) {
      const { id, record, before } = saved;
      // Whoever comes back at that very moment may still be known.
      const isAnew = before !== null && record.rev <= before.rev && isGone(id);
      const taken = isAnew ? { ...saved, before: null } : saved;
      if (record.gone) ended.set(id, now());
      else ended.delete(id);
      return taken;
    },
  };
}
