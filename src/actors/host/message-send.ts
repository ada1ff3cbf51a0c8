/**
 * `message.send`: one event to other actors, by the mail stream.
 *
 * The message id is the effect's key, so a second run within the stream's window stores nothing, and after it the receiver's record
 * tells the repetition. It goes over `tell`, where only replicas may publish; while a replica of an earlier
 * release lives, which
 * reads nothing there, over `send` as that release does.
 */

import type { ActorId } from '../../base/ids.ts';
import { traceHeader } from '../../base/tracing.ts';
import type { Bus } from '../../bus/bus.ts';
import { writeMessage } from '../../bus/envelope.ts';
import { shardOf } from '../../bus/shard.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { MessageSend } from '../../machines/effects.ts';
import type { EffectRunner } from '../effect-runner.ts';

/** Header of messages between actors: the sender's id. Replicas set it; over `send` anybody could. */
export const fromHeader = 'Orrery-From';

/** @param hearsEarlier whether a replica lives that reads what actors say over `send` alone */
export function sendMessage(
  bus: Bus,
  subjects: Subjects,
  hearsEarlier: () => boolean,
): EffectRunner<MessageSend> {
  return async ({ to, event }, { key, actor, trace }) => {
    const { data, headers } = writeMessage(event, { cause: key });
    const from = { ...headers, [fromHeader]: actor, ...(trace ? { [traceHeader]: trace } : {}) };
    const subjectOf = hearsEarlier() ? subjects.send : (id: ActorId) => subjects.tell(shardOf(id), id);
    await Promise.all(
      to.map((id, index) => bus.append(subjectOf(id), data, { headers: from, msgId: `${key}/${index}` })),
    );
    return { type: 'effect.settled', effect: 'message.send', error: null };
  };
}
