/**
 * The mail of a shard: reads messages on from where the last owner stopped and puts them into mailboxes.
 *
 * Nothing is acknowledged to the server: the checkpoint says how far the shard has come and each record how far its actor has,
 * so a message is taken once whoever owns the shard, and none waits for a dead owner's time-out.
 * What cannot be taken by anybody becomes a dead letter and never stops the messages behind it (I8).
 */
import type { StoredMessage } from '../bus/bus.ts';
import { headerOf, readMessage } from '../bus/envelope.ts';
import { asError, OrreryError } from '../errors.ts';
import type { ActorId } from '../ids.ts';
import type { MailboxItem, Taken } from './cell.ts';
import type { Host } from './host.ts';
import type { HostPorts } from './host-parts.ts';
import { begin, position, type ShardRun } from './shard-run.ts';

type MailPorts = Pick<HostPorts, 'bus' | 'subjects' | 'clock' | 'log' | 'metrics' | 'admit'>;

/** Header of messages between actors: the sender's id. */
export const fromHeader = 'Orrery-From';
/** Another replica may know a Service some milliseconds before its owner does: its message to the actor-to-be waits a little. */
const missingRetryMs = 100;
const missingRetriesMax = 10;
/** A dead letter that could not be stored is offered again; nobody waits for it. */
const buryAgainMs = 2_000;

/** Starts reading the shard's mail after its checkpoint; `run.following` ends it. One reading counts at a time: the latest. */
export async function followMail(ports: MailPorts, host: Host, run: ShardRun): Promise<void> {
  const reading = ++run.reading;
  const following = await ports.bus.follow('mail', {
    subjects: [ports.subjects.mailOfShard(run.shard)],
    from: { kind: 'sequence', sequence: position(run.mail) + 1 },
    onMessage: (message) => {
      if (reading === run.reading) take(ports, host, run, message);
    },
  });
  if (run.phase === 'closed' || reading !== run.reading) void following.stop();
  else run.following = following;
}

/** Reads the mail again from the first message that was not taken: after a mailbox was full. */
export async function rereadMail(ports: MailPorts, host: Host, run: ShardRun): Promise<void> {
  void run.following?.stop();
  run.following = null;
  if (run.phase === 'active') await followMail(ports, host, run);
}

function take(ports: MailPorts, host: Host, run: ShardRun, message: StoredMessage): void {
  if (run.phase === 'closed' || run.phase === 'draining') return;
  const { sequence } = message;
  // Read again because another mailbox was full: this one waits in its mailbox already.
  if (run.queuedMail.has(sequence)) return;
  begin(run.mail, sequence);
  const parsed = ports.subjects.parseMail(message.subject);
  try {
    if (!parsed) {
      throw new OrreryError('MESSAGE_UNKNOWN_KIND', `no actor has the subject ${message.subject}`);
    }
    const { event, id: messageId, cause } = readMessage(message);
    const admitted = ports.admit(parsed.id.slice(0, parsed.id.indexOf('/')), event);
    run.queuedMail.add(sequence);
    const item = { event: admitted, cause: cause ?? messageId ?? null, mail: sequence };
    const isFromActor = headerOf(message.headers, fromHeader) !== undefined;
    deliver(ports, host, run, {
      id: parsed.id,
      item: messageId === undefined ? item : { ...item, messageId },
      message,
      retriesLeft: isFromActor ? missingRetriesMax : 0,
    });
  } catch (error) {
    run.queuedMail.delete(sequence);
    bury(ports, run, message, asError(error));
  }
}

export interface Letter {
  readonly id: ActorId;
  readonly item: MailboxItem;
  readonly message: StoredMessage;
  readonly retriesLeft: number;
}

/** Letters to one actor stay in order: while one waits for the actor to be there, those after it wait behind it. */
function deliver(ports: MailPorts, host: Host, run: ShardRun, letter: Letter): void {
  const waiting = run.waitingMail.get(letter.id);
  if (waiting) waiting.push(letter);
  else offer(ports, host, run, letter);
}

function offer(ports: MailPorts, host: Host, run: ShardRun, letter: Letter): void {
  const onTaken = (outcome: Taken) => {
    const isMissing = outcome.kind === 'refused' && outcome.code === 'ACTOR_MISSING';
    if (!isMissing || letter.retriesLeft === 0) return settle(ports, run, letter.message, outcome);
    const again = { ...letter, retriesLeft: letter.retriesLeft - 1 };
    const waiting = run.waitingMail.get(letter.id);
    if (waiting) waiting.push(again);
    else run.waitingMail.set(letter.id, [again]);
    if (!waiting) ports.clock.after(missingRetryMs, () => offerWaiting(ports, host, run, letter.id));
  };
  host.deliver(run, letter.id, { ...letter.item, onTaken });
}

function offerWaiting(ports: MailPorts, host: Host, run: ShardRun, id: ActorId): void {
  const waiting = run.waitingMail.get(id) ?? [];
  run.waitingMail.delete(id);
  for (const letter of waiting) deliver(ports, host, run, letter);
}

function settle(ports: MailPorts, run: ShardRun, message: StoredMessage, outcome: Taken): void {
  run.queuedMail.delete(message.sequence);
  if (outcome.kind !== 'refused') return void run.mail.outstanding.delete(message.sequence);
  // Not taken and not lost: it stays outstanding and is read again, here or by the next owner.
  if (outcome.code === 'MAILBOX_FULL' || outcome.code === 'NOT_OWNER' || outcome.code === 'ACTOR_PARKED')
    return;
  // What one actor says to another that has ended meanwhile is no mistake of anybody.
  if (outcome.code === 'ACTOR_MISSING' && headerOf(message.headers, fromHeader) !== undefined) {
    return void run.mail.outstanding.delete(message.sequence);
  }
  bury(
    ports,
    run,
    message,
    new OrreryError(outcome.code === 'ACTOR_MISSING' ? 'ACTOR_MISSING' : 'INVARIANT', outcome.reason),
  );
}

function bury(ports: MailPorts, run: ShardRun, message: StoredMessage, error: Error): void {
  const code = error instanceof OrreryError ? error.code : 'MESSAGE_UNREADABLE';
  ports.metrics.deadLetter(code);
  ports.log.warn({ subject: message.subject, error: error.message, code }, 'dead letter');
  const headers = {
    ...message.headers,
    'Orrery-Error': `${code}: ${headerText(error.message)}`,
    'Orrery-Subject': ports.subjects.sendOfMail(message.subject),
  };
  const options = { headers: withoutServerHeaders(headers), msgId: `dead/${message.sequence}` };
  const store = () => {
    ports.bus.append(ports.subjects.dead, message.data, options).then(
      () => run.mail.outstanding.delete(message.sequence),
      // Stays outstanding until it is stored, here or by the next owner.
      (failure) => {
        const facts = { subject: message.subject, error: asError(failure).message };
        ports.log.warn(facts, 'dead letter not stored');
        ports.clock.after(buryAgainMs, () => {
          if (run.phase !== 'closed') store();
        });
      },
    );
  };
  store();
}

/** Headers that tell the server what to do with the message must not be repeated on another stream. */
function withoutServerHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith('nats-')),
  );
}

const headerText = (text: string) => text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 500);
