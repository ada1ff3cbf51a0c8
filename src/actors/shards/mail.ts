/**
 * The mail of a shard: reads messages from where the last owner stopped, and puts them into mailboxes.
 *
 * Nothing is acknowledged to the server: the checkpoint stores how far the shard has come, and each record
 * how far its actor has. So each message is taken once, whoever owns the shard, and none waits for a dead
 * owner's time-out. A message that no actor can take becomes a dead letter and never blocks the messages
 * behind it (I8).
 */

import { asError, OrreryError } from '../../base/errors.ts';
import type { ActorId, ShardName } from '../../base/ids.ts';
import { ledShard, limits } from '../../base/limits.ts';
import { traceHeader } from '../../base/tracing.ts';
import type { StoredMessage } from '../../bus/bus.ts';
import { headerOf, readMessage } from '../../bus/envelope.ts';
import { bury } from '../host/dead-letters.ts';
import type { Host } from '../host/host.ts';
import type { HostParts } from '../host/host-parts.ts';
import type { Letter, ShardRun, Taken } from '../host/owned.ts';
import { originOf } from './mail-origin.ts';
import { knownId } from './message-ids.ts';
import { begin, position } from './shard-run.ts';

interface MailParts
  extends Pick<
    HostParts,
    | 'bus'
    | 'subjects'
    | 'clock'
    | 'log'
    | 'metrics'
    | 'admission'
    | 'homes'
    | 'elsewhere'
    | 'tracing'
    | 'earlierHeardAt'
  > {
  /** Whether the world can already say that it has nothing for the actor. */
  readonly isTold: (id: ActorId) => boolean;
  /** The mail stream is not the one in which the shard's positions are. */
  readonly onMailAnother: (run: ShardRun) => void;
}

/**
 * A replica may know a Service some milliseconds before the owner does, so its message to the future actor
 * waits briefly.
 */
const missingRetryMs = 100;
const missingPatienceMs = 1_000;
/**
 * The world may have something for the actor once the mirrors have listed everything; until then its absence
 * is not certain.
 */
const untoldRetryMs = 500;

/**
 * Starts reading the shard's mail after its checkpoint; `run.following` ends it. Only the latest reading
 * counts.
 */
export async function followMail(parts: MailParts, host: Host, run: ShardRun): Promise<void> {
  const reading = ++run.reading;
  const following = await parts.bus.follow('mail', {
    subjects: parts.homes.mailOf(run.shard),
    from: { kind: 'sequence', sequence: position(run.mail) + 1, of: streamOf(run) },
    // Nothing known of the mail holds any more, so the shard is loaded again.
    onAnother: () => {
      if (reading === run.reading && run.phase !== 'closed') parts.onMailAnother(run);
    },
    onMessage: (message) => {
      if (reading === run.reading) take(parts, host, run, message);
    },
  });
  if (run.phase === 'closed' || reading !== run.reading) void following.stop();
  else run.following = following;
}

/** Without the mark of a restored stream. */
const streamOf = ({ mailOf }: ShardRun) => mailOf.replace(/~.*$/, '');

/** Reads the mail again from the first message that was not taken, after a mailbox was full. */
export async function rereadMail(parts: MailParts, host: Host, run: ShardRun): Promise<void> {
  void run.following?.stop();
  run.following = null;
  if (run.phase === 'active') await followMail(parts, host, run);
}

function take(parts: MailParts, host: Host, run: ShardRun, message: StoredMessage): void {
  if (run.phase === 'closed' || run.phase === 'draining') return;
  const { sequence } = message;
  // Read again because another mailbox was full; this message is already in its mailbox.
  if (run.queuedMail.has(sequence)) return;
  begin(run.mail, sequence);
  const parsed = parts.subjects.parseTell(message.subject) ?? parts.subjects.parseMail(message.subject);
  try {
    if (!parsed) {
      throw new OrreryError('MESSAGE_UNKNOWN_KIND', `no actor has the subject ${message.subject}`);
    }
    const kind = parsed.id.slice(0, parsed.id.indexOf('/'));
    if (isForAnother(parts, run, parsed.id)) {
      run.mail.outstanding.delete(sequence);
      return;
    }
    const home = parts.homes.homeOf(parsed.id);
    if (home !== run.shard) throw new OrreryError('MESSAGE_UNKNOWN_EVENT', strayed(parsed.id, kind, home));
    const { event, id: messageId, cause } = readMessage(message);
    const origin = originOf(parts, run, message, parsed.id);
    const admitted = parts.admission.admit(kind, event, origin);
    run.queuedMail.add(sequence);
    const trace = parts.tracing && headerOf(message.headers, traceHeader);
    const item = { event: admitted, cause: cause ?? messageId ?? null, mail: sequence, trace };
    const isFromActor = origin.between !== undefined;
    const known = messageId === undefined ? {} : { messageId: knownId(messageId, isFromActor) };
    deliver(parts, host, run, {
      id: parsed.id,
      item: { ...item, ...known },
      message,
      isFromActor,
    });
  } catch (error) {
    run.queuedMail.delete(sequence);
    void bury(parts, run, message, asError(error));
  }
}

/** What the leader works on takes no mail; anything else was published past the division into shards. */
function strayed(id: ActorId, kind: string, home: ShardName): string {
  if (home === ledShard) return `a ${kind} takes no mail; use rpc.send`;
  return `the mail of ${id} is in shard ${home}: publish to a subject of send, which NATS divides`;
}

/**
 * Mail to actors of a loaded feature is divided among shards like any other: the part in which the actor
 * lives reads it, here or on another replica, and it waits in the stream while no replica has the feature.
 */
function isForAnother({ homes, elsewhere }: MailParts, run: ShardRun, id: ActorId): boolean {
  const home = homes.homeOf(id);
  if (typeof home === 'string') return home !== run.shard;
  const kind = id.slice(0, id.indexOf('/'));
  return !homes.isOwn(kind) && elsewhere().has(kind);
}

/**
 * Letters to one actor stay in order: while one waits for the actor to appear, or to be stored as a dead
 * letter, those behind it wait too, also those that are in the mailbox already. A record that names a later
 * one would make the first look taken.
 */
function deliver(parts: MailParts, host: Host, run: ShardRun, letter: Letter): void {
  if (joinsWaiting(parts, run, letter)) return;
  if (run.burying.has(letter.id)) run.waitingMail.set(letter.id, [letter]);
  else offer(parts, host, run, letter);
}

/**
 * However many letters wait behind one whose actor is missing, their patience begins while that one waits:
 * one after the other they would hold the position of the shard's mail for a second each.
 *
 * @returns false: no letter to its actor waits
 */
function joinsWaiting(parts: MailParts, { waitingMail }: ShardRun, letter: Letter): boolean {
  const waiting = waitingMail.get(letter.id);
  const isMissing = waiting?.[0]?.waitsUntil !== undefined;
  waiting?.push(isMissing ? patient(parts, letter) : letter);
  return waiting !== undefined;
}

const patient = ({ clock }: MailParts, letter: Letter) => ({
  ...letter,
  waitsUntil: letter.waitsUntil ?? clock.monotonic() + missingPatienceMs,
});

function offer(parts: MailParts, host: Host, run: ShardRun, letter: Letter): void {
  const onTaken = (outcome: Taken) => {
    const isMissing = outcome.kind === 'refused' && outcome.code === 'ACTOR_MISSING';
    if (!isMissing) return settle(parts, host, run, letter, outcome);
    const isUntold = isYoung(parts, letter) && !parts.isTold(letter.id);
    const again = isUntold || !letter.isFromActor ? letter : patient(parts, letter);
    const isPatient = parts.clock.monotonic() < (again.waitsUntil ?? 0);
    if (!isUntold && !isPatient) return settle(parts, host, run, letter, outcome);
    if (joinsWaiting(parts, run, again)) return undefined;
    run.waitingMail.set(letter.id, [again]);
    const restMs = isUntold ? untoldRetryMs : missingRetryMs;
    parts.clock.after(restMs, () => offerWaiting(parts, host, run, letter.id));
    return undefined;
  };
  const takesBack = () => joinsWaiting(parts, run, letter);
  host.deliver(run, letter.id, { ...letter.item, takesBack, onTaken });
}

/** Bounded, because a waiting letter holds the position of the shard's mail. */
const isYoung = ({ clock }: MailParts, { message }: Letter) =>
  clock.now() - message.storedAt < limits.parkedMailMs;

function offerWaiting(parts: MailParts, host: Host, run: ShardRun, id: ActorId): void {
  if (run.burying.has(id)) return;
  const waiting = run.waitingMail.get(id) ?? [];
  run.waitingMail.delete(id);
  for (const letter of waiting) deliver(parts, host, run, letter);
}

/** @returns a promise that resolves when the actor may take what is behind the letter; undefined: at once */
function settle(
  parts: MailParts,
  host: Host,
  run: ShardRun,
  letter: Letter,
  outcome: Taken,
): Promise<void> | undefined {
  const { message } = letter;
  if (outcome.kind === 'refused' && outcome.code === 'ACTOR_PARKED' && waits(parts, host, run, letter))
    return undefined;
  run.queuedMail.delete(message.sequence);
  // Neither taken nor lost: it stays outstanding and is read again, here or by the next owner.
  if (outcome.kind === 'refused' && (outcome.code === 'MAILBOX_FULL' || outcome.code === 'NOT_OWNER'))
    return undefined;
  // A message from one actor to another that has ended meanwhile is nobody's mistake.
  const isNobodysMistake =
    outcome.kind === 'refused' && outcome.code === 'ACTOR_MISSING' && letter.isFromActor;
  if (outcome.kind !== 'refused' || isNobodysMistake) {
    run.mail.outstanding.delete(message.sequence);
    return undefined;
  }
  return buryInOrder(parts, host, run, letter, new OrreryError(outcome.code, outcome.reason));
}

/**
 * A release that can read the parked actor's record may own the shard soon: the actor's mail waits for that
 * and holds the position of the shard's mail. This is bounded in time and number, because otherwise the
 * stream would fill up and refuse everybody.
 *
 * @returns false: it has waited long enough
 */
function waits(parts: MailParts, host: Host, run: ShardRun, letter: Letter): boolean {
  // By two clocks, the server's and ours, so never longer than stated.
  const ageMs = Math.max(0, parts.clock.now() - letter.message.storedAt);
  const restMs = limits.parkedMailMs - ageMs;
  if (restMs <= 0 || run.parkedMail >= limits.mailboxEvents) return false;
  run.parkedMail++;
  parts.clock.after(restMs, () => {
    run.parkedMail--;
    if (run.phase !== 'closed') deliver(parts, host, run, letter);
  });
  return true;
}

/**
 * Messages behind a dead letter to the same actor wait until it is stored. Otherwise the record would name a
 * later message, and the next owner would take the dead letter for taken: it would be neither taken nor
 * stored.
 */
async function buryInOrder(
  parts: MailParts,
  host: Host,
  run: ShardRun,
  { id, message }: Letter,
  error: OrreryError,
): Promise<void> {
  run.burying.set(id, (run.burying.get(id) ?? 0) + 1);
  await bury(parts, run, message, error);
  const rest = (run.burying.get(id) ?? 1) - 1;
  if (rest > 0) run.burying.set(id, rest);
  else run.burying.delete(id);
  if (run.phase !== 'closed') offerWaiting(parts, host, run, id);
}
