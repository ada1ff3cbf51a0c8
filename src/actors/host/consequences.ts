/**
 * The consequences of a saved step: its effects, and its transition on the event stream. Nothing here runs
 * before the save (I1).
 */

import { limits } from '../../base/limits.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import type { TraceContext } from '../../base/tracing.ts';
import { createEffectsPool } from './effects-pool.ts';
import { publishTransition } from './feed.ts';
import type { HostParts } from './host-parts.ts';
import type { Cell, Hot, MailboxItem, ShardRun } from './owned.ts';
import type { OutboxEntry } from './records.ts';

export type Consequences = ReturnType<typeof createConsequences>;

/** What this file needs of the host. */
interface ConsequencesHost {
  deliver(cell: Cell, item: MailboxItem): void;
  /** An outcome is always accepted: each belongs to a waiting effect, and those are bounded. */
  deliverOutcome(cell: Cell, item: MailboxItem): void;
  fail(cell: Cell, error: unknown): void;
  /** Proves by a write that we own the shard; if that fails, gives the shard up and rejects. */
  prove(shard: ShardRun): Promise<void>;
}

export function createConsequences(parts: HostParts, host: ConsequencesHost) {
  const start = createEffectStart(parts, host);
  const publish = (cell: Cell, hot: Hot) => {
    if (hot.publishing) return;
    hot.publishing = true;
    publishAll(parts, cell, hot).catch((error) => host.fail(cell, error));
  };

  return {
    /** Runs the effects of a saved step and delivers each outcome as an event. */
    perform(cell: Cell, hot: Hot, effects: readonly OutboxEntry[], parent?: TraceContext): void {
      for (const entry of effects) start(cell, hot, entry, parent);
    },
    /** Publishes the transitions in the record's feed, in order. @param sequence of the record just saved */
    publish(cell: Cell, hot: Hot, sequence: number): void {
      hot.unpublished.push(sequence);
      publish(cell, hot);
    },
    /** The same for a loaded record whose transitions may not be published yet. */
    publishLoaded(cell: Cell, hot: Hot, sequence: number): void {
      // All transitions of the record share its sequence, so it is done with the last of them.
      const earlier = Math.max(0, (hot.record?.feed.length ?? 0) - 1);
      hot.unpublished.push(...Array.from({ length: earlier }, () => 0), sequence);
      publish(cell, hot);
    },
    /** Resolves when the feed has room for another transition; rejects when the shard is given up. */
    room: (cell: Cell, hot: Hot): Promise<void> | undefined =>
      hasRoom(hot) ? undefined : waitForRoom(hot, cell.shard.abort.signal),
  };
}

/** Runs one effect and delivers its outcome as an event. */
function createEffectStart(parts: HostParts, host: ConsequencesHost) {
  const pool = createEffectsPool(parts);
  /** One proof for all effects of a shard that wait for it. */
  const proofs = new Map<ShardRun, Promise<void>>();
  const prove = (shard: ShardRun) => {
    const proof = proofs.get(shard) ?? host.prove(shard).finally(() => proofs.delete(shard));
    proofs.set(shard, proof);
    return proof;
  };

  return (cell: Cell, hot: Hot, { key, word, effect }: OutboxEntry, parent?: TraceContext) => {
    hot.effects.add(key);
    const span = parts.tracing?.start(effect.type, {
      parent,
      attributes: { 'orrery.actor': cell.id, 'orrery.effect': key },
    });
    const trace = span?.context;
    const emit = (event: PlainEvent) => host.deliver(cell, { event, cause: key, trace });
    const run = { key, word, actor: cell.id, signal: cell.shard.abort.signal, emit, trace };
    const onOutcome = (outcome: PlainEvent) => {
      hot.effects.delete(key);
      span?.set({ 'orrery.outcome': outcome.type });
      span?.end(failureIn(outcome));
      host.deliverOutcome(cell, { event: outcome, cause: key, completes: key, trace });
    };
    pool.start(effect, run, onOutcome, () => prove(cell.shard));
  };
}

/** Ends in the moment in which nothing is left: whoever has more from then on begins anew. */
async function publishAll(parts: HostParts, cell: Cell, hot: Hot): Promise<void> {
  const { abort, feed } = cell.shard;
  try {
    for (let first = hot.record?.feed[0]; first; first = hot.record?.feed[0]) {
      await publishTransition(parts, first, abort.signal);
      if (hot.record) hot.record = { ...hot.record, feed: hot.record.feed.slice(1) };
      const sequence = hot.unpublished.shift();
      if (sequence !== undefined) feed.outstanding.delete(sequence);
      hot.onPublished?.();
    }
  } finally {
    hot.publishing = false;
  }
}

/** Failure events have a message (`sample.failed`, `condition.refused`) or an error. */
function failureIn({ message, error }: PlainEvent): string | undefined {
  if (typeof message === 'string') return message;
  return typeof error === 'string' ? error : undefined;
}

const hasRoom = ({ record }: Hot): boolean => (record?.feed.length ?? 0) < limits.unpublishedTransitions;

async function waitForRoom(hot: Hot, signal: AbortSignal): Promise<void> {
  const lookAgain = () => hot.onPublished?.();
  signal.addEventListener('abort', lookAgain, { once: true });
  try {
    while (!hasRoom(hot)) {
      signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        hot.onPublished = resolve;
      });
    }
  } finally {
    signal.removeEventListener('abort', lookAgain);
    hot.onPublished = null;
  }
}
