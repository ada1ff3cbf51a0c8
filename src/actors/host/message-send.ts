/**
 * The effect `message.send`: sends one event to other actors over the mail stream.
 *
 * The message id consists of the effect's key and word (message-ids.ts). A second run within the stream's
 * duplicate window stores nothing; after that, the receiver's record detects the repetition; retries skip
 * receivers that were already sent the message. It uses `tell`, where only replicas may publish. While a
 * replica of an earlier release lives, which reads nothing there, it uses `send`, as that release does.
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

/**
 * The header with the sender's id in messages between actors. Replicas set it; over `send` anybody could.
 */
export const fromHeader = 'Orrery-From';

/**
 * @param hearsEarlier whether a replica lives that reads actors' messages from `send` only
 * @param shards number of shards into which the mail is divided
 */
export function sendMessage(
  bus: Bus,
  subjects: Subjects,
  hearsEarlier: () => boolean,
  shards: number = shardCount,
): EffectRunner<MessageSend> {
  /**
   * For retried effects: the receivers that were sent the message. The effect object is the same at each try.
   */
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
