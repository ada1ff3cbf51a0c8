/**
 * `message.send`: one event to other actors, by the mail stream.
 *
 * The message id is the effect's key and word (message-ids.ts), so a second run within the stream's window
 * stores nothing, and after it the receiver's record tells the repetition; what some receivers were sent
 * already is not sent to them again by later tries. It goes over `tell`, where only replicas may publish;
 * while a replica of an earlier release lives, which reads nothing there, over `send` as that release does.
 */

import type { ActorId } from '../../base/ids.ts';
import { shardCount } from '../../base/limits.ts';
import { traceHeader } from '../../base/tracing.ts';
import type { Bus } from '../../bus/bus.ts';
import { writeMessage } from '../../bus/envelope.ts';
import { shardOf } from '../../bus/partition.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { MessageSend } from '../../machines/effects.ts';
import type { EffectRunner } from '../effect-runner.ts';
import { tellId } from '../shards/message-ids.ts';

/** Header of messages between actors: the sender's id. Replicas set it; over `send` anybody could. */
export const fromHeader = 'Orrery-From';

/**
 * @param hearsEarlier whether a replica lives that reads what actors say over `send` alone
 * @param shards into how many the mail is dealt
 */
export function sendMessage(
  bus: Bus,
  subjects: Subjects,
  hearsEarlier: () => boolean,
  shards: number = shardCount,
): EffectRunner<MessageSend> {
  /** Of effects that are tried again: who was sent the message. The effect itself is the same at each try. */
  const sentTo = new WeakMap<MessageSend, Set<number>>();
  return async (effect, { key, word, actor, trace }) => {
    const { to, event } = effect;
    const sent = sentTo.get(effect) ?? new Set<number>();
    sentTo.set(effect, sent);
    const { data, headers } = writeMessage(event, { cause: key });
    const from = { ...headers, [fromHeader]: actor, ...(trace ? { [traceHeader]: trace } : {}) };
    const subjectOf = hearsEarlier()
      ? subjects.send
      : (id: ActorId) => subjects.tell(shardOf(id, shards), id);
    await Promise.all(
      to.map(async (id, index) => {
        if (sent.has(index)) return;
        await bus.append(subjectOf(id), data, { headers: from, msgId: tellId(key, index, word) });
        sent.add(index);
      }),
    );
    return { type: 'effect.settled', effect: 'message.send', error: null };
  };
}
