/**
 * The settings of a stream that replicas of two releases look after: they only grow.
 *
 * An older replica neither takes a newer one's subjects away nor shortens what it keeps. The stream's
 * metadata names the newest release that has shaped it; an older one then changes nothing.
 */

/**
 * Grows with each change of a stream's definition. 1: before it was written down; 2: `tell` beside
 * `send`.
 */
export const streamsFormat = 2;
export const formatKey = 'orrery.streams';

export type StreamSettings = Readonly<Record<string, unknown>>;

/** Bounds, and the value that stands for none. */
const bounds: Readonly<Record<string, number>> = {
  max_msgs: -1,
  max_msgs_per_subject: -1,
  max_bytes: -1,
  max_age: 0,
  max_msg_size: -1,
  duplicate_window: Number.NaN,
  num_replicas: Number.NaN,
};
/** What is allowed once stays allowed. */
const permissions = ['allow_direct', 'allow_msg_ttl', 'allow_atomic'];

/** @returns the settings that the stream is to have; `found` itself if a newer release has shaped it */
export function grown(found: StreamSettings, wanted: StreamSettings): StreamSettings {
  if (formatOf(found) > formatOf(wanted)) return found;
  const grownBounds = Object.entries(bounds).map(([name, none]) => [
    name,
    larger(found[name], wanted[name], none),
  ]);
  const granted = permissions.map((name) => [name, found[name] === true || wanted[name] === true]);
  return {
    ...found,
    ...wanted,
    ...Object.fromEntries([...grownBounds, ...granted]),
    subjects: [...new Set([...textsIn(found.subjects), ...textsIn(wanted.subjects)])],
    metadata: { ...(found.metadata as object), ...(wanted.metadata as object) },
  };
}

/** 1 where nobody wrote it down. */
function formatOf({ metadata }: StreamSettings): number {
  const format = Number((metadata as Record<string, string> | undefined)?.[formatKey] ?? 1);
  return Number.isFinite(format) ? format : 1;
}

function larger(found: unknown, wanted: unknown, none: number): unknown {
  if (typeof found !== 'number' || typeof wanted !== 'number') return wanted ?? found;
  return found === none || wanted === none ? none : Math.max(found, wanted);
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
