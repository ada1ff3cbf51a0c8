/**
 * The feed: "every saved step, once and in order; none is missing after a crash".
 *
 * An actor's feed consists of its stored transitions, word for word, revision after revision, and never of
 * one that was not stored. In the end it has all of them.
 */
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import type { CheckerKind, Eye } from './checker.ts';
import { createKept } from './kept-records.ts';

/** What was stored this recently may still be on its way, ms. */
const onItsWayMs = 3_000;

interface Stored {
  readonly text: string;
  /** World time, ms. */
  readonly at: number;
}

/** The stream keeps a transition for a day: whoever comes later cannot know that it was told. */
const rememberedMs = 24 * 3_600_000;

/** Stored and not yet told, by actor and revision. */
type Due = Map<string, Map<number, Stored>>;

export const feed: CheckerKind = {
  name: 'feed',
  create(eye) {
    const due: Due = new Map();
    const told = new Map<string, { readonly rev: number; readonly at: number }>();
    const last = new Map<string, ActorRecord>();
    const kept = createKept(eye.now);
    /** Stored in a stream that was lost since: may still be told, and need not be. */
    const former = new Map<string, Set<string>>();
    return (sighting) => {
      if (sighting.kind === 'lost' && sighting.stream === 'state') {
        for (const [id, waiting] of due)
          former.set(
            id,
            new Set([...(former.get(id) ?? []), ...[...waiting.values()].map(({ text }) => text)]),
          );
        for (const known of [told, due, last]) known.clear();
        kept.lose();
      }
      if (sighting.kind === 'saved') {
        const { id, record, before } = kept.take(sighting);
        // The actor starts afresh; with its record went the transitions that were not told.
        if (before === null) for (const known of [told, due, last]) known.delete(id);
        const waiting = due.get(id) ?? new Map<number, Stored>();
        due.set(id, waiting);
        const step = record.feed.at(-1);
        const isNews = step !== undefined && step.rev === record.rev && record.rev !== last.get(id)?.rev;
        if (isNews) waiting.set(step.rev, { text: JSON.stringify(step), at: eye.now() });
        last.set(id, record);
      }
      if (sighting.kind === 'told') {
        const { id, rev } = sighting.transition;
        if (former.get(id)?.delete(JSON.stringify(sighting.transition))) return;
        const before = told.get(id) ?? { rev: 0, at: 0 };
        if (rev <= before.rev && eye.now() - before.at > rememberedMs) return;
        if (rev !== before.rev + 1) return eye.breach(`${id}: revision ${rev} is told after ${before.rev}`);
        told.set(id, { rev, at: eye.now() });
        const stored = due.get(id)?.get(rev)?.text;
        if (stored === undefined) return eye.breach(`${id}: revision ${rev} is told and was not stored`);
        if (stored !== JSON.stringify(sighting.transition))
          eye.breach(`${id}: revision ${rev} is told otherwise than it was stored`);
        due.get(id)?.delete(rev);
      }
      if (sighting.kind !== 'end') return;
      // A record that was kept for its whole time takes the transitions with it that were not told.
      for (const id of last.keys()) if (kept.isGone(id)) due.delete(id);
      checkEnd(eye, due);
    };
  },
};

function checkEnd({ breach, now }: Eye, due: Due): void {
  for (const [id, waiting] of due) {
    const late = [...waiting].filter(([, { at }]) => at + onItsWayMs < now());
    if (late.length > 0) breach(`${id}: revisions ${late.map(([rev]) => rev).join(', ')} were never told`);
  }
}
