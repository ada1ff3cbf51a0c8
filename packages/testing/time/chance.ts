/**
 * Chance from one seed. Each part of a simulation draws from a stream of its own (`of`), so that another draw
 * in one part does not change what happens in the others.
 */
import { hash } from '../../../src/actors/shards/rendezvous.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';

export interface Chance {
  readonly random: Random;
  /** True with this probability. */
  happens(probability: number): boolean;
  /** A whole number, both ends included. */
  int(least: number, most: number): number;
  between(least: number, most: number): number;
  /** Mostly near `least`: the square of an even draw. */
  seldomLong(least: number, most: number): number;
  pick<T>(list: readonly T[]): T | undefined;
  /** An independent stream. */
  of(part: string): Chance;
}

export function createChance(seed: number): Chance {
  const random = seededRandom(seed);
  const between = (least: number, most: number) => least + random.next() * (most - least);
  return {
    random,
    between,
    happens: (probability) => random.next() < probability,
    int: (least, most) => Math.floor(between(least, most + 1)),
    seldomLong: (least, most) => least + random.next() ** 2 * (most - least),
    pick: (list) => list[Math.floor(random.next() * list.length)],
    of: (part) => createChance(hash(`${seed}/${part}`)),
  };
}
