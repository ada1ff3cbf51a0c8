/**
 * A dead letter as people see it: its receiver, its content, and why no actor took it. Pure.
 *
 * Promise: nothing that looks like a secret is shown, by its name or by its form (I9).
 */
import type { ActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { withoutSecrets, withoutSecretText } from '../../base/log.ts';
import type { DeadLetter } from '../../base/views.ts';
import type { StoredMessage } from '../../bus/bus.ts';
import { contentType, decode } from '../../bus/codec.ts';
import { headerOf } from '../../bus/envelope.ts';
import type { Subjects } from '../../bus/subjects.ts';

/** @param isWhole shows as much of the body as fits into a log line; otherwise only its beginning */
export function letterView(
  subjects: Subjects,
  letter: StoredMessage,
  isWhole = false,
): DeadLetter & { readonly sequence: number } {
  const { sequence, subject, headers, storedAt } = letter;
  const error = headers['Orrery-Error'] ?? '';
  const { body, event } = bodyOf(letter);
  return {
    sequence,
    at: storedAt,
    subject: headers['Orrery-Subject'] ?? subject,
    error,
    code: /^([A-Z_]+): /.exec(error)?.[1] ?? 'MESSAGE_UNREADABLE',
    to: sentTo(subjects, letter)?.id ?? null,
    event,
    body: isWhole ? body : body.slice(0, limits.letterBodyChars),
  };
}

/**
 * The actor to which it was sent; null: there is none. `isTold`: another actor sent it. Only a header in the
 * replicas' own spelling counts, because a sender may have written similar ones.
 */
export function sentTo(
  subjects: Subjects,
  { headers, subject }: StoredMessage,
): { readonly id: ActorId; readonly isTold: boolean } | null {
  const original = headers['Orrery-Subject'] ?? subject;
  const told = subjects.parseTell(original);
  if (told !== undefined) return { id: told.id, isTold: true };
  const id = subjects.parseSend(original);
  return id === undefined ? null : { id, isTold: false };
}

function bodyOf({ data, headers }: StoredMessage): { readonly body: string; readonly event: string | null } {
  try {
    const value = decode(data, headerOf(headers, contentType.header));
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return plain(data);
    const { type } = value as { readonly type?: unknown };
    const event = typeof type === 'string' ? withoutSecretText(type) : null;
    return { body: JSON.stringify(withoutSecrets(value)), event };
  } catch {
    return plain(data);
  }
}

const plain = (data: Uint8Array) => ({
  body: withoutSecretText(new TextDecoder().decode(data)),
  event: null,
});
