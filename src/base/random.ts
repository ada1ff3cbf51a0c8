/** Randomness: the only file that draws random numbers. A simulation uses a seeded source instead. */
import { randomFillSync } from 'node:crypto';

export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A fresh identifier of 22 characters from `[A-Za-z0-9_-]` (128 bits). */
  id(): string;
}

/** Random bytes are drawn in bulk: every request needs an identifier, and each draw is a system call. */
const pool = Buffer.alloc(16 * 256);
let drawn = pool.length;

export const systemRandom: Random = {
  next: () => Math.random(),
  id() {
    if (drawn === pool.length) {
      randomFillSync(pool);
      drawn = 0;
    }
    drawn += 16;
    return pool.toString('base64url', drawn - 16, drawn);
  },
};

/** A repeatable source (mulberry32): the same seed gives the same numbers and identifiers. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const id = () => Array.from({ length: 22 }, () => alphabet[Math.floor(next() * 64)]).join('');
  return { next, id };
}

/**
 * `value` changed at random by up to ± `fraction` of itself, so that many replicas don't act at the same
 * moment.
 */
export function jittered(value: number, fraction: number, random: Random): number {
  return value * (1 + fraction * (2 * random.next() - 1));
}
