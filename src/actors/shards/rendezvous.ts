/**
 * Rendezvous hashing: which of the live replicas should own a thing. Every replica computes the same result,
 * and when a replica comes or goes, only the things that it wins or held change hands.
 */
export function wantedOwner(thing: string, replicas: Iterable<string>): string | null {
  let best: string | null = null;
  let bestWeight = -1;
  for (const replica of replicas) {
    const weight = hash(`${replica}/${thing}`);
    if (weight > bestWeight || (weight === bestWeight && best !== null && replica < best)) {
      best = replica;
      bestWeight = weight;
    }
  }
  return best;
}

/** The same, cached for as long as the set of replicas stays the same, because it is asked at each beat. */
export function rememberedOwners(): (thing: string, replicas: readonly string[]) => string | null {
  const known = new Map<string, { readonly among: string; readonly owner: string | null }>();
  // A plan asks with one list for every shard.
  let asked: readonly string[] = [];
  let among = '';
  return (thing, replicas) => {
    if (replicas !== asked) {
      const names = replicas.join(' ');
      // The same text is compared by its place in memory.
      if (names !== among) among = names;
    }
    asked = replicas;
    const found = known.get(thing);
    if (found?.among === among) return found.owner;
    const owner = wantedOwner(thing, replicas);
    known.set(thing, { among, owner });
    return owner;
  };
}

/**
 * 32-bit FNV-1a with murmur3's finalizer: FNV alone spreads names that differ in the last character badly.
 */
export function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) h = Math.imul(h ^ text.charCodeAt(at), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
