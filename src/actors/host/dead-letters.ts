/**
 * Stores dead letters: messages that no actor can take, with the reason, on a stream of their own.
 */

import { asError, hasCode, OrreryError } from '../../base/errors.ts';
import type { Headers, StoredMessage } from '../../bus/bus.ts';
import { isOneLine } from '../../bus/envelope.ts';
import type { HostParts } from './host-parts.ts';
import type { ShardRun } from './owned.ts';

/** Pause before another attempt to store a dead letter. */
const buryAgainMs = 2_000;
/**
 * Half a minute of refusals from an available stream: it will not change, and an actor must not wait for
 * ever.
 */
const refusalsMax = 15;
/** Bytes of a message's headers that are kept: what its stream has room for beside the largest payload. */
const headersMax = 4_096;

/**
 * Resolves when the letter is stored, however long that takes, or when the shard is given up: the next owner
 * finds the message in the mail again. A letter is lost only if the stream itself keeps refusing it; an error
 * is logged then.
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
    ...storableHeaders(message.headers),
    'Orrery-Error': `${code}: ${headerText(error.message)}`,
    'Orrery-Subject': parts.subjects.sendOfMail(message.subject),
  };
  const options = { headers, msgId: `dead/${run.mailOf}/${message.sequence}` };
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

/**
 * The headers of a message that can be stored with its letter. Left out: instructions for the server, which
 * must not be repeated on another stream, and what would keep the letter from being stored.
 */
function storableHeaders(headers: Headers): Headers {
  let bytes = 0;
  const kept = Object.entries(headers).filter(([name, value]) => {
    if (name.toLowerCase().startsWith('nats-') || !isOneLine(name, value)) return false;
    bytes += Buffer.byteLength(`${name}: ${value}\r\n`);
    return bytes <= headersMax;
  });
  return Object.fromEntries(kept);
}

const headerText = (text: string) => text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 500);
