/** The errors of the bus port, worded once for all implementations. */
import { hasCode, OrreryError } from '../base/errors.ts';
import type { Guard } from './bus.ts';

/** Nothing was sent, or the request could not have changed anything. */
export function unreachable(reason: string, cause?: unknown): OrreryError {
  return new OrreryError('BUS_UNREACHABLE', `no answer over NATS: ${reason}`, { cause });
}

/** The server says that nobody listens on that subject. */
export function nobodyAnswers(subject: string, why = ''): OrreryError {
  const text = `no answer over NATS: nobody answers ${subject}${why}`;
  return new OrreryError('BUS_UNREACHABLE', text, { facts: { nobody: true } });
}

export function isNobody(thrown: unknown): boolean {
  return thrown instanceof OrreryError && thrown.facts.nobody === true;
}

/** Somebody may listen on that subject; no answer came in time. */
export function unanswered(subject: string): OrreryError {
  const text = `no answer over NATS: request to ${subject}: timeout`;
  return new OrreryError('BUS_UNREACHABLE', text, { facts: { unanswered: subject } });
}

export function isUnanswered(thrown: unknown): boolean {
  return thrown instanceof OrreryError && thrown.facts.unanswered !== undefined;
}

/** The server does not let this user publish there. */
export function notPermitted(subject: string): OrreryError {
  const text = `NATS does not let this user publish on ${subject} (deploy/nats/permissions.conf)`;
  return new OrreryError('BUS_UNREACHABLE', text, { facts: { notPermitted: subject } });
}

export function isNotPermitted(thrown: unknown): boolean {
  return thrown instanceof OrreryError && thrown.facts.notPermitted !== undefined;
}

/** A write was sent, and it is unknown whether it is stored (B4). */
export function unknownOutcome(
  reason: string,
  cause?: unknown,
  facts: OrreryError['facts'] = {},
): OrreryError {
  const text = `a write was sent and not confirmed: ${reason}`;
  return new OrreryError('BUS_UNKNOWN_OUTCOME', text, { cause, facts });
}

/**
 * Another write on the subject was refused while this one had no answer; if permissions have just changed, it
 * may be stored.
 */
export function writeNotPermitted(subject: string): OrreryError {
  const facts = { notPermitted: subject };
  return unknownOutcome(`${subject}: NATS does not let this user publish there`, undefined, facts);
}

/** The guarded subject has another last sequence (B3). */
export function conflict(guard: Guard | undefined, reason: string): OrreryError {
  return new OrreryError('BUS_CONFLICT', `a guarded write was refused: ${reason}`, {
    facts: { subject: guard?.subject, expected: guard?.sequence },
  });
}

/**
 * The server could not check the condition, because another conditional write on the same subject is in
 * progress. The message is certainly not stored; nothing follows about ownership.
 */
export function inProcess(reason: string): OrreryError {
  const text = `another conditional write is in progress: ${reason}`;
  return new OrreryError('BUS_UNREACHABLE', text, { facts: { inProcess: true } });
}

export function isInProcess(error: unknown): boolean {
  return hasCode(error, 'BUS_UNREACHABLE') && error.facts.inProcess === true;
}

/** Trying again would not help. */
export function refused(reason: string): OrreryError {
  const facts = isAboutSize(reason) ? { tooLarge: true } : {};
  return new OrreryError('BUS_REFUSED', `NATS refused: ${reason}`, { facts });
}

/** The message exceeds the stream's limit (`max_msg_size`) or the connection's (`max_payload`). */
const isAboutSize = (reason: string) => /size exceed|max_payload/i.test(reason);
