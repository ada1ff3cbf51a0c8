/**
 * Which records still stand. That of an actor that ended is kept for an hour after it was stored, by the
 * stream's time: what replicas with wrong clocks wrote into it does not count. Whoever comes back later
 * begins anew.
 */
import { goneRecordSeconds } from '../../../src/actors/host/records.ts';
import type { Sighting } from '../simulation/sightings.ts';

type Saved = Extract<Sighting, { readonly kind: 'saved' }>;

/** @param now world time, ms */
export function createKept(now: () => number): {
  /** @returns the sighting, with `before` only if that still stood */
  take(saved: Saved): Saved;
  /** Whether what was stored last of the actor has gone since. */
  isGone(id: string): boolean;
} {
  /** When the record of an actor that ended was stored. */
  const ended = new Map<string, number>();
  const isGone = (id: string) => {
    const at = ended.get(id);
    return at !== undefined && at + goneRecordSeconds * 1_000 <= now();
  };
  return {
    isGone,
    take(saved) {
      const { id, record, before } = saved;
      const taken = isGone(id) && before !== null ? { ...saved, before: null } : saved;
      if (record.gone) ended.set(id, now());
      else ended.delete(id);
      return taken;
    },
  };
}
