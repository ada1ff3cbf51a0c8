/** Chooses which messages to keep: few that show much. Pure. */
import type { ActorRecord, StoredMessage } from '../roll-over/product.ts';

/** A message and what it shows. */
export interface Candidate {
  readonly message: StoredMessage;
  readonly shows: readonly string[];
}

/** A line contains a message twice: as JSON and as base64. */
const lineBytes = ({ data }: StoredMessage) => 200 + 2.6 * data.byteLength;
const worthOf = (word: string) => (word.startsWith('state ') ? 3 : 1);

/**
 * Small messages that show much come first; each shows something that no earlier one did.
 * @param bytes bound on all lines together
 */
export function choose(
  candidates: readonly Candidate[],
  most: number,
  bytes = Number.POSITIVE_INFINITY,
): StoredMessage[] {
  const seen = new Set<string>();
  const kept: StoredMessage[] = [];
  const left = new Set(candidates);
  let room = bytes;
  while (kept.length < most) {
    let best: { readonly one: Candidate; readonly worth: number } | null = null;
    for (const one of left) {
      const news = one.shows.filter((word) => !seen.has(word)).reduce((sum, word) => sum + worthOf(word), 0);
      const size = lineBytes(one.message);
      if (news === 0 || size > room) left.delete(one);
      else if (best === null || news / size > best.worth) best = { one, worth: news / size };
    }
    if (best === null) break;
    for (const word of best.one.shows) seen.add(word);
    left.delete(best.one);
    kept.push(best.one.message);
    room -= lineBytes(best.one.message);
  }
  return kept.sort((a, b) => a.sequence - b.sequence);
}

/** States, timers, effects and anything else that a release must understand to read the record. */
export function showsOf(record: ActorRecord): string[] {
  const states = statesOf(record.snapshot.value);
  return [
    ...(record.gone ? ['gone'] : states.map((state) => `state ${state}`)),
    ...record.timers.map(({ event }) => `timer ${event.type}`),
    ...record.outbox.map(({ effect }) => `effect ${effect.type}`),
    ...(record.feed.length > 1 ? ['a feed of several'] : []),
    ...(record.mail > 0 ? ['a position in the mail'] : []),
    ...(record.recentIds.length > 1 ? ['ids of several messages'] : []),
    ...(record.lastError === null ? [] : ['an error']),
    ...(record.snapshot.historyValue === undefined ? [] : ['a history']),
  ];
}

/** Each leaf state by its path; parallel regions have several. */
function statesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return Object.entries(value as Record<string, unknown>).flatMap(([key, child]) => {
    const inner = statesOf(child);
    return inner.length === 0 ? [key] : inner.map((state) => `${key}.${state}`);
  });
}
