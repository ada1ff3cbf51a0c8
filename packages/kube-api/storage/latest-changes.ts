/**
 * The latest changes of one storage, oldest first, bounded: watches are resumed and pages of lists are read
 * from them.
 *
 * Promise: `since` returns all changes after a revision, or says that it cannot.
 */
import type { Change } from './version.ts';

export class History {
  readonly #changesMax: number;
  /** A ring: the oldest change is at `#start`. */
  readonly #ring: Change[] = [];
  #start = 0;
  /** The newest revision that was dropped; nothing before it is known. */
  #dropped = 0;

  constructor(changesMax: number) {
    this.#changesMax = changesMax;
  }

  add(change: Change): void {
    if (this.#ring.length < this.#changesMax) {
      this.#ring.push(change);
      return;
    }
    this.#dropped = this.#ring[this.#start]?.revision ?? this.#dropped;
    this.#ring[this.#start] = change;
    this.#start = (this.#start + 1) % this.#changesMax;
  }

  /** The newest revision that is too old to start from is one less than this. */
  get oldest(): number {
    return this.#dropped;
  }

  /** Changes with a revision greater than `revision`, oldest first; undefined if some are no longer known. */
  since(revision: number): Change[] | undefined {
    if (revision < this.#dropped) return undefined;
    const count = this.#ring.length;
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#at(middle).revision > revision) high = middle;
      else low = middle + 1;
    }
    return Array.from({ length: count - low }, (_, index) => this.#at(low + index));
  }

  #at(index: number): Change {
    return this.#ring[(this.#start + index) % this.#ring.length] as Change;
  }
}
