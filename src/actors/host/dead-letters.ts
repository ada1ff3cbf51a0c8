/**
 * Dead letters: messages that nobody can take, put on a stream of their own with the reason.
 */

import { asError, hasCode, OrreryError } from '../../base/errors.ts';
import type { StoredMessage } from '../../bus/bus.ts';
import type { HostParts } from './host-parts.ts';
import type { ShardRun } from './owned.ts';

/** A dead letter that could not be stored is offered again. */
const buryAgainMs = 2_000;
/**
 * Half a minute of a stream that is there and refuses: it will not change its mind, and an actor must not
 * wait for ever.
 */
const refusalsMax = 15;

/**
 * Resolves when the letter is stored, however long that takes, or the shard is given up: the next owner finds
 * it in the mail again. Only what the stream itself refuses for long is lost, with an error in the log.
 */
export async function bury(
  parts: Pick<HostParts, 'bus' | 'subjects' | 'clock' | 'log' | 'metrics'>,
  run: ShardRun,
  message: StoredMessage,
  error: Error,
): Promise<void> {
  const code = error instanceof OrreryError ? error.code : 'MESSAGE_UNREADABLE';
  parts.metrics.deadLetter(code);
  parts.log.warn({ subject: message.subject, error: error.message, code }, 'dead letter');
  const headers = {
    ...message.headers,
    'Orrery-Error': `${code}: ${headerText(error.message)}`,
    'Orrery-Subject': parts.subjects.sendOfMail(message.subject),
  };
  const options = { headers: withoutServerHeaders(headers), msgId: `dead/${run.mailOf}/${message.sequence}` };
  for (let refusals = 0; refusals < refusalsMax; ) {
    try {
      await parts.bus.append(parts.subjects.dead, message.data, options);
      run.mail.outstanding.delete(message.sequence);
      return;
    } catch (failure) {
      if (hasCode(failure, 'BUS_REFUSED')) refusals++;
      const facts = { subject: message.subject, error: asError(failure).message };
      parts.log.warn(facts, 'dead letter not stored');
    }
    await new Promise<void>((resolve) => parts.clock.after(buryAgainMs, resolve));
    if (run.phase === 'closed') return;
  }
  run.mail.outstanding.delete(message.sequence);
  parts.log.error({ subject: message.subject }, 'a dead letter is lost: its stream refuses it');
}

/** Headers that tell the server what to do with the message must not be repeated on another stream. */
function withoutServerHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith('nats-')),
  );
}

const headerText = (text: string) => text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 500);
