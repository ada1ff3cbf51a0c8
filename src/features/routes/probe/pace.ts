/**
 * The pace of one round: may the next call be made now, or is it likely to be in vain?
 *
 * Promises: a call that is likely to be in vain waits for a rest. That is one of the first few which nothing
 * answered, one made while EndpointSlices list none of the missing Pods, and one after so many answers
 * without news that a Pod that is routed would probably have been met (in a busy process: would hardly have
 * been missed). A new question or a Pod that was met ends a rest.
 * While the slices list none of the missing Pods a rest lasts half a second, growing to two, whatever else
 * changes. Not every proxy follows the slices: one call is made after each rest, and once an address that is
 * not listed has answered, slices count for nothing in this round.
 * Else, while few rounds run, a rest lasts a tenth of a second, or a fiftieth after answers without news, and
 * at most three follow each change. A changed slice begins a longer one, because the routing learns of it
 * later. In a busy process a rest lasts a fifth of a second, growing to one; a changed slice ends it.
 * There a round that expects more Pods rests likewise after each call, as long as they keep coming: of n Pods
 * behind a Service each call meets a missing one by chance, and meeting them one by one takes three times the
 * calls that meeting all of them together does.
 * Rests last within the round because the end of one, and the beginning of another, are saved steps.
 */
import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';

/** What is known of the Services that are probed: what EndpointSlices say, and the Pods of the group. */
export interface Listing {
  /** The ready addresses of the group's Service; null: not known. */
  addressesOf(group: string): ReadonlySet<string> | null;
  /** Pods of the group that the slices do not list yet. */
  comingTo(group: string): number;
  /** Grows with each change of a Pod. */
  moment(): number;
  /**
   * The uid of the one Pod of the group that has had the address since that moment; undefined: there is none,
   * or it is not known.
   */
  podAt(group: string, ip: string, since: number): string | undefined;
  /** Address → uid of the listed Pods that wait for proofs, whether they asked this Service or not. */
  heldAt(group: string): ReadonlyMap<string, string>;
  /** Calls back when they may have changed; the answer ends it. */
  onChange(group: string, listener: () => void): () => void;
}

/** What a round has seen so far, as far as its pace depends on it. */
export interface Progress {
  readonly missing: ReadonlySet<string>;
  /** Answers of any kind, and those without a header. */
  readonly answered: number;
  readonly anonymous: number;
  readonly unreachable: number;
  /** Answers in a row that met nobody who was missing. */
  readonly fruitless: number;
  /** Addresses that answered. */
  readonly named: ReadonlySet<string>;
}

export interface PaceParts {
  readonly clock: Clock;
  readonly listing: Listing | undefined;
  readonly group: string;
  readonly progress: Progress;
  /** Calls for each expected backend. */
  readonly attempts: number;
  /** Backends that are expected by now. */
  readonly backends: () => number;
  /** The rounds of the process, and those of them that rest; shared by all. */
  readonly rounds: { running: number; resting: number };
}

/** So many calls without an answer are made one by one; then the round finds out whether anything answers. */
const refusalsMax = 3;
/** `refused`, `settling`, `unlucky`: while few rounds run. */
const restMs = {
  ...{ unlisted: { first: 500, most: 2_000 }, busy: { first: 200, most: 1_000 }, growth: 1.25 },
  ...{ gathering: 2_000, refused: 100, settling: 150, unlucky: 20 },
} as const;
/** So many rests after each change, where rounds do not wait for each other and somebody may be met. */
const calmRests = 3;
/** Slices that have not changed for so long, ms, are not expected to list more Pods soon. */
const comingMs = 5_000;

/** So many rounds wait for each slot that it is worth more than a moment. */
const roundsPerSlot = 4;
export const isBusy = ({ running }: PaceParts['rounds']): boolean =>
  running > roundsPerSlot * limits.probeCallsInFlight;

interface Rest {
  readonly over: Promise<void>;
  readonly end: () => void;
  /** From now on. */
  readonly lastFor: (ms: number) => void;
}

export class Pace {
  readonly #parts: PaceParts;
  readonly #unlisten: () => void;
  #rest: Rest | null = null;
  #rests = 0;
  /** A call that may be made although it is likely to be in vain. */
  #isTry = false;
  /** The slices changed, and the routing had no time yet to follow. */
  #isUnsettled = false;
  /** How often the next call has waited for that. */
  #settlings = 0;
  /** Fruitless answers before the last rest. */
  #forgiven = 0;
  #missing: number;
  #listedAt: number;

  constructor(parts: PaceParts) {
    this.#parts = parts;
    const { clock, listing, progress, rounds, group } = parts;
    this.#missing = progress.missing.size;
    this.#listedAt = clock.monotonic();
    const onSlices = () => {
      this.#listedAt = clock.monotonic();
      if (!this.#settle() && !this.#isGathering()) this.wake();
    };
    this.#unlisten = listing?.onChange(group, onSlices) ?? (() => {});
    rounds.running += 1;
  }

  /** Whether a call may be made now; then it has to be. */
  mayCall(): boolean {
    if (this.#rest !== null) return false;
    const isTry = this.#isTry;
    this.#isTry = false;
    if (!isTry && this.#isInVain()) return false;
    this.#settlings = 0;
    return true;
  }

  /** Resolves when a call may be made; then it has to be. */
  async untilCall(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.mayCall()) await (this.#rest ?? this.#begin(signal)).over;
  }

  /** Something has changed: ends a rest, unless the slices still list nobody who could be met. */
  wake(): void {
    this.#rests = 0;
    if (this.#rest !== null && this.prospects.missing > 0) this.#rest.end();
  }

  /** The routing learns of changed slices later than we do. @returns whether the next call waits for that */
  #settle(): boolean {
    if (this.isBusy || this.#settlings >= calmRests) return false;
    this.#settlings += 1;
    this.#rests = 0;
    if (this.#rest === null) this.#isUnsettled = true;
    else this.#rest.lastFor(restMs.settling);
    return true;
  }

  /** After each answer. */
  noted(): void {
    const { size } = this.#parts.progress.missing;
    if (size < this.#missing) {
      this.#forgiven = 0;
      if (!this.#isGathering()) this.wake();
    }
    this.#missing = size;
  }

  end(): void {
    this.#unlisten();
    this.#parts.rounds.running -= 1;
    this.#rest?.end();
  }

  /** Whether calls are worth saving; else time is. */
  get isBusy(): boolean {
    return isBusy(this.#parts.rounds);
  }

  /** Who can be met, as far as is known, and how many of them are missing. */
  get prospects(): { readonly backends: number; readonly missing: number } {
    const { missing } = this.#parts.progress;
    const listed = this.#listed();
    if (listed === null) return { backends: this.#parts.backends(), missing: missing.size };
    let count = 0;
    for (const ip of missing) if (listed.has(ip)) count += 1;
    return { backends: listed.size, missing: count };
  }

  /** null: slices are not known, or are not what the routing follows. */
  #listed(): ReadonlySet<string> | null {
    const { listing, group, progress } = this.#parts;
    const listed = listing?.addressesOf(group) ?? null;
    for (const ip of listed === null ? [] : progress.named) if (!listed?.has(ip)) return null;
    return listed;
  }

  /** More Pods are expected, and others have use for the slots. */
  #isGathering(): boolean {
    const { clock, listing, group } = this.#parts;
    if (listing === undefined || !this.isBusy) return false;
    return clock.monotonic() - this.#listedAt < comingMs && listing.comingTo(group) > 0;
  }

  #isInVain(): boolean {
    const { progress, rounds } = this.#parts;
    const { answered, anonymous, unreachable, missing } = progress;
    if (missing.size === 0 || rounds.resting >= limits.probeRoundsResting) return false;
    const isPatient = this.isBusy || this.#rests < calmRests;
    if (isPatient && this.#isUnsettled) return true;
    if (isPatient && answered === 0 && unreachable > 0 && unreachable <= refusalsMax) return true;
    // Whether answers carry the header at all is found out without a rest.
    if (answered > 0 && anonymous === answered) return false;
    const { prospects } = this;
    if (prospects.missing === 0) return true;
    return isPatient && (this.#isGathering() || this.#isUnlucky(prospects));
  }

  /** So many answers in a row met nobody who is missing that those may not be routed yet. */
  #isUnlucky({ missing, backends }: Pace['prospects']): boolean {
    const { progress, attempts } = this.#parts;
    if (missing === 0) return false;
    const enough = ((this.isBusy ? attempts : 1) * backends) / missing;
    return progress.fruitless - this.#forgiven >= enough;
  }

  #restMs(): number {
    const { prospects } = this;
    const isUnlisted = prospects.missing === 0;
    if (!this.isBusy && this.#isUnsettled) return restMs.settling;
    if (!this.isBusy && !isUnlisted) return this.#isUnlucky(prospects) ? restMs.unlucky : restMs.refused;
    if (this.#isGathering()) return restMs.gathering;
    const { first, most } = isUnlisted ? restMs.unlisted : restMs.busy;
    return Math.min(first * restMs.growth ** this.#rests, most);
  }

  #begin(signal: AbortSignal): Rest {
    const { clock, progress, rounds } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    const lastFor = (ms: number) => {
      timer.cancel();
      timer = clock.after(ms, end);
    };
    const end = () => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      if (this.#rest !== rest) return;
      rounds.resting -= 1;
      this.#rest = null;
      this.#isTry = true;
      this.#forgiven = progress.fruitless;
      resolve();
    };
    const rest = { over: promise, end, lastFor };
    let timer = clock.after(this.#restMs(), end);
    this.#isUnsettled = false;
    this.#rests += 1;
    this.#rest = rest;
    rounds.resting += 1;
    signal.addEventListener('abort', end, { once: true });
    return rest;
  }
}
