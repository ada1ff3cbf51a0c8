/**
 * I5: "Delivering a message twice changes nothing the second time", and its other half: a message is not
 * lost.
 *
 * Each message (identified by its sender's id) leads to at most one step of its actor, under however many
 * sequences it was stored, as long as the record remembers ids. The position of the mail in a record never
 * goes back. A person's message is taken in the end, or becomes a dead letter.
 */
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import { drawn, shortId } from '../../../src/actors/shards/message-ids.ts';
import { limits } from '../../../src/base/limits.ts';
import type { CheckerKind, Eye } from './checker.ts';

/** Which events come by mail, and which of them people send: those must be taken or buried. */
export interface MailEvents {
  readonly isByMail: (type: string) => boolean;
  readonly isFromPeople: (type: string) => boolean;
}

export const repetition = ({ isByMail, isFromPeople }: MailEvents): CheckerKind => ({
  name: 'I5',
  create(eye) {
    /** Message and actor → the revision that it led to, and how many messages the actor had taken by then. */
    const steps = new Map<string, { rev: number; nth: number }>();
    const taken = new Map<string, number>();
    /** Messages from people: id → actor. */
    const sent = new Map<string, string>();
    const settled = new Set<string>();
    let isMailAnew = false;
    return (sighting) => {
      if (sighting.kind === 'mail' && isFromPeople(sighting.type) && sighting.messageId !== null)
        sent.set(sighting.messageId, sighting.id);
      if (sighting.kind === 'buried' && sighting.messageId !== null) settled.add(sighting.messageId);
      // With the stream went whatever nobody had taken yet.
      if (sighting.kind === 'lost' && sighting.stream === 'mail') {
        isMailAnew = true;
        sent.clear();
      }
      // With the records went the memory of what was taken.
      if (sighting.kind === 'lost' && sighting.stream === 'state') {
        steps.clear();
        taken.clear();
      }
      if (sighting.kind === 'end') checkEnd(eye, sent, settled);
      if (sighting.kind !== 'saved') return;
      const { id, record, before } = sighting;
      const isSame = before !== null && before.mailOf === record.mailOf && record.rev >= before.rev;
      // A shard that found another stream counts the positions in its records from zero.
      const isCountedAnew = isMailAnew && record.mail === 0;
      if (isSame && !isCountedAnew && record.mail < before.mail) eye.breach(`${id}: its mail went back`);
      // An actor that comes back after its record was forgotten remembers nothing.
      if (before !== null && record.rev < before.rev)
        for (const known of steps.keys()) if (known.startsWith(`${id} `)) steps.delete(known);
      // A new actor counts its messages from zero, and the old names mean new messages.
      if (before === null || record.rev < before.rev)
        for (const known of steps.keys()) if (known.includes(` ${id}/`)) steps.delete(known);
      const step = record.feed.at(-1);
      if (!step || record.rev === before?.rev || step.cause === null || !isByMail(step.event.type)) return;
      settled.add(step.cause);
      const key = `${id} ${step.event.type} ${step.cause}${wordOf(record, step.cause)}`;
      const nth = (taken.get(id) ?? 0) + 1;
      taken.set(id, nth);
      const earlier = steps.get(key);
      if (earlier && nth - earlier.nth <= limits.recentMessageIds)
        eye.breach(`${key} was taken at revisions ${earlier.rev} and ${step.rev}`);
      steps.set(key, { rev: step.rev, nth });
    };
  },
});

/**
 * What the record remembers of the message beside its key. After the state stream was deleted, a sender says
 * other things under the same keys, also while messages of its former life are still being taken.
 */
function wordOf({ recentIds }: ActorRecord, cause: string): string {
  const known = recentIds.at(-1)?.split(' ') ?? [];
  for (let receiver = 0; receiver < limits.outboxEffects; receiver++) {
    const at = known.indexOf(shortId(`${cause}/${receiver}`));
    const word = at < 0 ? undefined : known[at + 1];
    if (at >= 0) return word?.startsWith(drawn) ? word : '';
  }
  return '';
}

function checkEnd({ breach }: Eye, sent: ReadonlyMap<string, string>, settled: ReadonlySet<string>): void {
  for (const [messageId, id] of sent) {
    if (!settled.has(messageId)) breach(`the message ${messageId} to ${id} was neither taken nor buried`);
  }
}
