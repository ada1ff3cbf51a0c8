/**
 * The settings of a stream that replicas of two releases maintain: they only grow.
 *
 * An older replica neither removes a newer one's subjects nor shortens its retention. The stream's metadata
 * names the newest format that has shaped it; a replica with an older format then changes nothing.
 */

/**
 * Increases with each change of a stream's definition. 1: not yet recorded in the metadata; 2: `tell` beside
 * `send`.
 */
export const streamsFormat = 2;
export const formatKey = 'orrery.streams';

export type StreamSettings = Readonly<Record<string, unknown>>;

/** Each bound, with the value that means unlimited. */
const bounds: Readonly<Record<string, number>> = {
  max_msgs: -1,
  max_msgs_per_subject: -1,
  max_age: 0,
  max_msg_size: -1,
  duplicate_window: Number.NaN,
  num_replicas: Number.NaN,
};
/** A permission that was granted stays granted. */
const permissions = ['allow_direct', 'allow_msg_ttl', 'allow_atomic'];
/**
 * Settings with which a stream refuses what replicas do, or takes what none of them wrote, as they are
 * without them: the last message of a subject is replaced, consumers have bounds of their own, and nothing
 * comes from another stream.
 */
const hindrances: StreamSettings = { discard_new_per_subject: false, consumer_limits: {}, sources: [] };

/** @returns the new settings of the stream; `found` itself if a newer format has shaped it */
export function grown(found: StreamSettings, wanted: StreamSettings): StreamSettings {
  if (formatOf(found) > formatOf(wanted)) return found;
  const grownBounds = Object.entries(bounds).map(([name, none]) => [
    name,
    larger(found[name], wanted[name], none),
  ]);
  const freed = Object.entries(hindrances).filter(([name]) => found[name] !== undefined);
  const granted = permissions.map((name) => [name, found[name] === true || wanted[name] === true]);
  return {
    ...found,
    ...wanted,
    ...Object.fromEntries([...grownBounds, ...granted, ...freed]),
    // Where messages are counted, a bound in bytes is the operator's. Records and digests have no bound: at
    // one, the server would drop the oldest.
    ...(wanted.max_msgs === -1 ? {} : { max_bytes: found.max_bytes ?? wanted.max_bytes }),
    subjects: withoutCovered([...textsIn(found.subjects), ...textsIn(wanted.subjects)]),
    metadata: { ...(found.metadata as object), ...(wanted.metadata as object) },
  };
}

/** 1 if the metadata does not name a format. */
function formatOf({ metadata }: StreamSettings): number {
  const format = Number((metadata as Record<string, string> | undefined)?.[formatKey] ?? 1);
  return Number.isFinite(format) ? format : 1;
}

function larger(found: unknown, wanted: unknown, none: number): unknown {
  if (typeof found !== 'number' || typeof wanted !== 'number') return wanted ?? found;
  return found === none || wanted === none ? none : Math.max(found, wanted);
}

/** Subjects of one stream must not overlap: of one made by hand, `a.>` may cover our `a.*.*`. */
function withoutCovered(all: readonly string[]): string[] {
  const distinct = [...new Set(all)];
  return distinct.filter((one) => distinct.every((other) => other === one || !covers(other, one)));
}

/** Whether the pattern matches all that the other one matches. */
function covers(wide: string, narrow: string): boolean {
  const [wideTokens, tokens] = [wide.split('.'), narrow.split('.')];
  if (wideTokens.at(-1) === '>') {
    const head = wideTokens.slice(0, -1);
    return tokens.length > head.length && head.every((token, at) => coversToken(token, tokens[at]));
  }
  return (
    wideTokens.length === tokens.length && wideTokens.every((token, at) => coversToken(token, tokens[at]))
  );
}

const coversToken = (wide: string, narrow = '') => narrow !== '>' && (wide === '*' || wide === narrow);

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
