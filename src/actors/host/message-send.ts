/**
 * `message.send`: one event to other actors, by the mail stream.
 *
 * The message id is the effect's key, so a second run within the stream's window stores nothing, and after it the receiver's record
 * tells the repetition.
 */

import { traceHeader } from '../../base/tracing.ts';
import type { Bus } from '../../bus/bus.ts';
import { writeMessage } from '../../bus/envelope.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { MessageSend } from '../../machines/effects.ts';
import type { EffectRunner } from '../effect-runner.ts';

export function messageSend(bus: Bus, subjects: Subjects): EffectRunner<MessageSend> {
  return async ({ to, event }, { key, actor, trace }) => {
    const { data, headers } = writeMessage(event, { cause: key });
    const from = { ...headers, 'Orrery-From': actor, ...(trace ? { [traceHeader]: trace } : {}) };
    await Promise.all(
      to.map((id, index) => bus.append(subjects.send(id), data, { headers: from, msgId: `${key}/${index}` })),
    );
    return { type: 'effect.settled', effect: 'message.send', error: null };
  };
}
