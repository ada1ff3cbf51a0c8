/**
 * The fences as this replica knows them: the last message on each subject, as it was followed or asked for.
 *
 * Promise: an answer never replaces what was heard after its question. A starved process reads both at once,
 * and the answer may be the older of the two. Nothing would correct it, because a fence is stored once.
 */
import type { Bus, StoredMessage, StreamName } from '../../bus/bus.ts';
import { type FenceValue, nobodysFence, readFenceValue } from './fence-value.ts';

export interface KnownFence {
  readonly value: FenceValue;
  readonly sequence: number;
}

export interface FenceBookParts {
  readonly bus: Pick<Bus, 'last'>;
  /** A fence is malformed. */
  readonly onUnreadable?: ((subject: string) => void) | undefined;
}

export type FenceBook = ReturnType<typeof createFenceBook>;

export function createFenceBook({ bus, onUnreadable }: FenceBookParts) {
  const known = new Map<string, KnownFence>();
  /** An unreadable fence belongs to nobody, so the wanted replica claims it. */
  const read = ({ data, subject }: StoredMessage): FenceValue => {
    const value = readFenceValue(data);
    if (value !== null) return value;
    onUnreadable?.(subject);
    return nobodysFence;
  };
  const note = (message: StoredMessage): FenceValue => {
    const value = read(message);
    known.set(message.subject, { value, sequence: message.sequence });
    return value;
  };
  return {
    /** By subject. */
    all: known as ReadonlyMap<string, KnownFence>,
    value: (subject: string): FenceValue | undefined => known.get(subject)?.value,
    /** Sequence of the last message; 0: there is none. */
    sequence: (subject: string): number => known.get(subject)?.sequence ?? 0,
    /** Takes a message that was followed. */
    hear(message: StoredMessage): FenceValue {
      const value = note(message);
      // A replica that wants it again learns the fence's position from a lost claim.
      if (value.isRetired) known.delete(message.subject);
      return value;
    },
    forget(subject: string): void {
      known.delete(subject);
    },
    /** The followed value may be wrong for good: a recreated stream has no such fence and does not say so. */
    async ask(stream: StreamName, subject: string): Promise<void> {
      const before = known.get(subject);
      const last = await bus.last(stream, subject);
      if (known.get(subject) !== before) return;
      if (last) note(last);
      else known.delete(subject);
    },
  };
}
