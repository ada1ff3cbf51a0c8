/**
 * Dead letters on request: lists them (`rpc.dead`), and sends one again or drops it.
 *
 * Promises: nothing that looks like a secret is shown (I9). A letter from outside is sent again to the same
 * actor in the name of the requester, who may send public messages only. A letter from one actor to another
 * is sent again in that actor's name, after the same checks; its sender is in a header that only replicas
 * write. A letter that is taken is removed; one that is refused stays. Absent: how messages become dead
 * letters (host/dead-letters.ts).
 */
import { asError, OrreryError } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { DeadPage, DropAnswer, PageRequest, SendAnswer } from '../../base/views.ts';
import type { BusMessage, StoredMessage } from '../../bus/bus.ts';
import { contentType, decode, encodeJson } from '../../bus/codec.ts';
import { headerOf, readMessage } from '../../bus/envelope.ts';
import { shardOf } from '../../bus/partition.ts';
import type { Endpoint } from '../../bus/rpc.ts';
import { senderIn } from '../../bus/sender.ts';
import type { Admission } from '../admission.ts';
import type { HostParts } from '../host/host-parts.ts';
import { fromHeader } from '../host/message-send.ts';
import { withWord } from '../shards/message-ids.ts';
import { createForwarding } from './control-client.ts';
import { letterView, sentTo } from './dead-letter-view.ts';
import { dayMs, placeOf, readPage, readRequest } from './stored-pages.ts';

export interface DeadLetterParts extends Pick<HostParts, 'bus' | 'subjects' | 'clock' | 'random' | 'log'> {
  readonly admission: Pick<Admission, 'admit'>;
}

const keptMs = 7 * dayMs;

export function deadLetterEndpoints(parts: DeadLetterParts): readonly Endpoint[] {
  const { rpcDead, rpcDeadResend, rpcDeadDrop } = parts.subjects;
  const anyone = (name: string, subject: string, handler: Endpoint['handler']): Endpoint => ({
    ...{ name, subject, handler },
    queue: 'orrery',
    atOnce: limits.pagesAtOnce,
  });
  return [
    anyone('dead', rpcDead, (message) => list(parts, message)),
    anyone('dead-resend', rpcDeadResend, (message) => resend(parts, message)),
    anyone('dead-drop', rpcDeadDrop, (message) => drop(parts, message)),
  ];
}

async function list(parts: DeadLetterParts, message: BusMessage): Promise<Uint8Array> {
  const request: PageRequest = readRequest(message);
  const page = await readPage(parts, 'dead', parts.subjects.dead, placeOf(parts, request, keptMs), request);
  const letters = page.messages.map((letter) => letterView(parts.subjects, letter, request.limit === 1));
  return encodeJson({ letters, next: page.next } satisfies DeadPage);
}

async function resend(parts: DeadLetterParts, message: BusMessage): Promise<Uint8Array> {
  const by = senderIn(message.headers);
  const answer = await resendOne(parts, sequenceIn(message), by).catch(refusal);
  return encodeJson(answer);
}

async function resendOne(parts: DeadLetterParts, sequence: number, by: string | null): Promise<SendAnswer> {
  const letter = await letterAt(parts, sequence);
  const { event } = readMessage(letter);
  const to = sentTo(parts.subjects, letter);
  if (to === null)
    throw new OrreryError('MESSAGE_UNKNOWN_KIND', `no actor has the subject ${letterSubject(letter)}`);
  const cause = `dead/${sequence}`;
  const answer = to.isTold
    ? await tellAgain(parts, letter, to.id)
    : await createForwarding(parts)(to.id, { ...event, cause }, by ?? undefined);
  if (answer.accepted) await remove(parts, sequence, { by, letter, what: 'a dead letter was sent again' });
  return answer;
}

/** Only replicas write `tell`, and the letter names the subject under which it was stored there. */
async function tellAgain(parts: DeadLetterParts, letter: StoredMessage, to: ActorId): Promise<SendAnswer> {
  const { bus, subjects, admission, random } = parts;
  const from = letter.headers[fromHeader] ?? '';
  parseActorId(from);
  const between = { from: from as ActorId, to };
  const kind = to.slice(0, to.indexOf('/'));
  admission.admit(kind, readMessage(letter).event, {
    receivedAt: letter.storedAt,
    isTrusted: false,
    between,
  });
  const type = headerOf(letter.headers, contentType.header);
  const headers = { [fromHeader]: from, ...(type === undefined ? {} : { [contentType.header]: type }) };
  // Two simultaneous requests send it once: the receiver remembers the id without the word.
  const msgId = withWord(`dead/${letter.sequence}`, random.id());
  await bus.append(subjects.tell(shardOf(to), to), letter.data, { headers, msgId });
  return { accepted: true, transition: null };
}

async function drop(parts: DeadLetterParts, message: BusMessage): Promise<Uint8Array> {
  const by = senderIn(message.headers);
  const sequence = sequenceIn(message);
  const letter = await letterAt(parts, sequence).catch(refusal);
  if ('accepted' in letter) return encodeJson({ dropped: false, ...letter } satisfies DropAnswer);
  await remove(parts, sequence, { by, letter, what: 'a dead letter was dropped' });
  return encodeJson({ dropped: true } satisfies DropAnswer);
}

async function remove(
  { bus, subjects, log }: DeadLetterParts,
  sequence: number,
  { by, letter, what }: { readonly by: string | null; readonly letter: StoredMessage; readonly what: string },
): Promise<void> {
  await bus.remove('dead', sequence);
  // Tells every replica that shows letters to remove this one.
  bus.publish(subjects.peer('letter'), encodeJson({ sequence }));
  log.info({ letter: sequence, subject: letterSubject(letter), by: by ?? 'unknown' }, what);
}

const letterSubject = ({ headers, subject }: StoredMessage) => headers['Orrery-Subject'] ?? subject;

/** @throws OrreryError LETTER_MISSING */
async function letterAt(parts: DeadLetterParts, sequence: number): Promise<StoredMessage> {
  const from = { kind: 'sequence', sequence } as const;
  const page = await readPage(parts, 'dead', parts.subjects.dead, from, { limit: 1 });
  const [letter] = page.messages;
  if (letter?.sequence === sequence) return letter;
  throw new OrreryError('LETTER_MISSING', `there is no dead letter ${sequence}`);
}

/** @throws OrreryError MESSAGE_UNREADABLE */
function sequenceIn(message: BusMessage): number {
  const body = message.data.byteLength === 0 ? null : decode(message.data);
  const { sequence } = (body ?? {}) as { readonly sequence?: unknown };
  if (typeof sequence === 'number' && Number.isSafeInteger(sequence) && sequence > 0) return sequence;
  throw new OrreryError('MESSAGE_UNREADABLE', 'the request needs a "sequence", the number of a dead letter');
}

function refusal(thrown: unknown): Extract<SendAnswer, { readonly accepted: false }> {
  const error = asError(thrown);
  const code = error instanceof OrreryError ? error.code : 'INVARIANT';
  return { accepted: false, code, reason: error.message };
}
