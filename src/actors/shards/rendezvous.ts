/**
 * Rendezvous hashing: who of the live replicas is wanted as the owner of a thing. Everybody computes the same
 * answer, and when a replica comes or goes only the things that it wins or held change hands.
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

/**
 * FNV-1a of 32 bits with murmur3's finalizer: FNV alone spreads names that differ in the last character
 * badly.
 */
export function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) h = Math.imul(h ^ text.charCodeAt(at), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
