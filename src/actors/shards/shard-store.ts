/**
 * Reads a shard as its last owner saved it, and saves its checkpoint.
 *
 * Promise: `loadShard` resolves only when everything before the new fence was read. Every save of an earlier
 * owner precedes the fence in the stream, and later ones are refused, so nothing is missed. If it reads from
 * a copy of the stream that lags, it waits.
 */

import { sleep } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import type { StoredMessage, StreamState } from '../../bus/bus.ts';
import { type Chart, stateOfNow } from '../../machines/chart.ts';
import { createCell, note, noteStored } from '../host/cell.ts';
import { lastPublished, nothingYet, type Published } from '../host/feed.ts';
import type { HostParts } from '../host/host-parts.ts';
import type { ShardRun } from '../host/owned.ts';
import { markUnreadable } from '../host/parking.ts';
import { type ActorRecord, packRecord, unpackRecord } from '../host/records.ts';
import type { Saver } from '../host/saver.ts';
import { stateText } from '../host/step.ts';
import { goneRecordSeconds, isLater } from '../step-order.ts';

import { type Checkpoint, packCheckpoint, readCheckpoint } from './checkpoint.ts';
import { openUntil } from './mail-origin.ts';
import type { ReadShard } from './shard-reading.ts';
import { begin, feedPosition, position } from './shard-run.ts';

interface ShardStoreParts
  extends Pick<
    HostParts,
    'bus' | 'subjects' | 'clock' | 'random' | 'log' | 'steppers' | 'metrics' | 'earlierHeardAt'
  > {}

interface Loaded {
  readonly id: ActorId;
  readonly sequence: number;
  readonly record: ActorRecord;
  readonly data: Uint8Array;
  readonly storedAt: number;
}

interface LoadParts extends ShardStoreParts {
  readonly readShard: ReadShard;
}

export async function loadShard(parts: LoadParts, run: ShardRun, signal: AbortSignal): Promise<void> {
  const [stored, mail] = await Promise.all([
    parts.readShard(run, signal),
    answered(parts, signal, ({ bus }) => bus.streamState('mail')),
  ]);
  const checkpoint = placesOf(parts, run, stored.checkpoint);
  run.feed.begun = run.feed.saved = checkpoint.feed;
  run.savedOpenUntil = stored.checkpoint === null ? null : checkpoint.sendIsOpenUntil;
  run.sendIsOpenUntil = checkpoint.sendIsOpenUntil ?? (await claimedAt(parts, run, signal));
  const loaded = await readRecords(parts, run, stored.records, signal);
  findMail(parts, run, checkpoint, loaded, await confirmed(parts, signal, mail, checkpoint.mail));
  const doubtful = loaded.filter(
    ({ sequence, record }) => sequence > checkpoint.feed && record.feed.length > 0,
  );
  const published = await lastPublished(
    parts,
    doubtful.map(({ id }) => id),
  );
  for (const one of loaded) {
    const isDoubtful = one.sequence > checkpoint.feed;
    try {
      const told = isDoubtful ? (published.get(one.id) ?? nothingYet) : everything;
      place(parts, run, one, told, stored.claimedAt - one.storedAt);
    } catch (error) {
      park(parts, run, one.id, packRecord(one.record), error);
      continue;
    }
    run.world = Math.max(run.world, one.record.world ?? 0);
    run.owesEffects ||= one.record.outbox.length > 0;
  }
}

/** Whether the shard has come further than its stored checkpoint says. */
export function isCheckpointDue(parts: Pick<ShardStoreParts, 'earlierHeardAt'>, run: ShardRun): boolean {
  const isKnown = position(run.mail) === run.mail.saved && feedPosition(run) === run.feed.saved;
  return !isKnown || openUntil(parts, run) !== run.savedOpenUntil;
}

/** Saves how far the shard has come, if that has changed. */
export async function saveCheckpoint(parts: ShardStoreParts, saver: Saver, run: ShardRun): Promise<void> {
  if (isCheckpointDue(parts, run)) await proveOwner(parts, saver, run);
}

/** Proves by a write that the fence still holds. @throws OrreryError NOT_OWNER | BUS_UNKNOWN_OUTCOME */
export function proveOwner(parts: ShardStoreParts, saver: Saver, run: ShardRun): Promise<void> {
  return writeCheckpoint(parts, saver, run, checkpointOf(parts, run));
}

function checkpointOf(parts: ShardStoreParts, run: ShardRun): Checkpoint {
  const { mailOf, unnamedMailOf } = run;
  const places = { mail: position(run.mail), feed: feedPosition(run) };
  return { ...places, mailOf, unnamedMailOf, sendIsOpenUntil: openUntil(parts, run) };
}

/** A few milliseconds of reading; most shards have less. */
const pieceBytes = 2 * 1024 * 1024;

/** A stream without a leader, or one that is being created, is available in a moment. */
const busRetryMs = 250;

async function answered<T>(
  parts: ShardStoreParts,
  signal: AbortSignal,
  ask: (parts: ShardStoreParts) => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await ask(parts);
    } catch (error) {
      parts.log.debug({ error: asError(error).message }, 'a stream does not answer yet');
    }
    await sleep(parts.clock, busRetryMs, signal);
  }
}

/**
 * When this replica claimed the shard. Before that, its owner may have run a release whose actors used
 * `send`. By the server's clock, like the times of the mail: if our clock were ahead, `send` would stay open.
 */
async function claimedAt(parts: ShardStoreParts, run: ShardRun, signal: AbortSignal): Promise<number> {
  const fence = parts.subjects.fence(run.shard);
  return (await answered(parts, signal, ({ bus }) => bus.last('state', fence)))?.storedAt ?? 0;
}

/** For a moment, a stream's leader may know less than another server has delivered. */
const leaderLagMs = 2_000;

/**
 * Asks again if the stream seems to have gone back behind a position in it; not if it has no other copy: by
 * then it may have as many messages again, others.
 */
async function confirmed(
  parts: ShardStoreParts,
  signal: AbortSignal,
  mail: StreamState,
  position: number,
): Promise<StreamState> {
  if (mail.lastSequence >= position || mail.copies === 1) return mail;
  await sleep(parts.clock, leaderLagMs, signal);
  return answered(parts, signal, ({ bus }) => bus.streamState('mail'));
}

/**
 * Finds the position in the mail from which the shard continues. A position belongs to one stream: in a
 * recreated or restored stream the same numbers are other messages, and the shard starts at the oldest.
 * Messages that were taken may then come again (at least once).
 */
function findMail(
  { clock, log }: ShardStoreParts,
  run: ShardRun,
  checkpoint: Checkpoint,
  loaded: readonly Loaded[],
  stream: StreamState,
): void {
  const known = checkpoint.mailOf ?? stream.created;
  run.unnamedMailOf = checkpoint.unnamedMailOf ?? (checkpoint.mailOf === undefined ? known : null);
  const places = loaded.flatMap(({ record }) => (mailOfRecord(run, record) === known ? record.mail : 0));
  const furthest = places.reduce((most, place) => Math.max(most, place), checkpoint.mail);
  const isSame = known === stream.created || known.startsWith(`${stream.created}~`);
  if (isSame && furthest <= stream.lastSequence) {
    run.mailOf = known;
    run.mail.begun = run.mail.saved = checkpoint.mail;
    return;
  }
  run.mailOf = isSame ? `${stream.created}~${clock.now().toString(36)}` : stream.created;
  run.mail.begun = 0;
  run.mail.saved = -1;
  const facts = { shard: run.shard, place: furthest, lastSequence: stream.lastSequence };
  log.error(facts, 'the mail stream was replaced or restored; reading from its first message');
}

const mailOfRecord = (run: ShardRun, { mailOf }: ActorRecord) => mailOf ?? run.unnamedMailOf;

async function writeCheckpoint(parts: ShardStoreParts, saver: Saver, run: ShardRun, checkpoint: Checkpoint) {
  await saver.save(run, parts.subjects.checkpoint(run.shard), packCheckpoint(checkpoint));
  run.mail.saved = checkpoint.mail;
  run.feed.saved = checkpoint.feed;
  run.savedOpenUntil = checkpoint.sendIsOpenUntil;
}

const everything: Published = { ...nothingYet, fence: Number.POSITIVE_INFINITY };

/**
 * An unreadable checkpoint must not make the shard deaf: it starts at the oldest message, and its records
 * show which ones they took. Without a readable one nothing over `send` is believed to come from an actor: a
 * release whose actors used it has left one, and everybody else may have written there since.
 */
function placesOf(parts: ShardStoreParts, run: ShardRun, stored: StoredMessage | null): Checkpoint {
  const nowhere = { mail: 0, feed: 0, sendIsOpenUntil: 0 };
  if (stored === null) return nowhere;
  const checkpoint = readCheckpoint(stored.data);
  if (checkpoint !== null) return checkpoint;
  parts.metrics.unreadable?.('checkpoint');
  parts.log.error(
    { shard: run.shard },
    'the checkpoint of a shard cannot be read; starting at the oldest message',
  );
  return nowhere;
}

/** In pieces, so that all other work in this replica continues in between, however large the records are. */
async function readRecords(
  parts: ShardStoreParts,
  run: ShardRun,
  found: readonly StoredMessage[],
  signal: AbortSignal,
): Promise<Loaded[]> {
  const loaded: Loaded[] = [];
  let bytes = 0;
  for (const message of found) {
    loaded.push(...readRecord(parts, run, message));
    bytes += message.data.byteLength;
    if (bytes < pieceBytes) continue;
    bytes = 0;
    await sleep(parts.clock, 0, signal);
  }
  return loaded;
}

function readRecord(parts: ShardStoreParts, run: ShardRun, message: StoredMessage): Loaded[] {
  const parsed = parts.subjects.parseState(message.subject);
  if (!parsed || message.data.byteLength === 0) return [];
  const { id } = parsed;
  try {
    const { sequence, data, storedAt } = message;
    return [{ id, sequence, data, storedAt, record: unpackRecord(data, id) }];
  } catch (error) {
    park(parts, run, id, message.data, error);
    return [];
  }
}

/** For a record of an earlier version, the state in which the actor continues. */
function stateNow(chart: Chart | undefined, { snapshot, version }: ActorRecord): string {
  return stateText(chart === undefined ? snapshot.value : stateOfNow(chart, snapshot, version));
}

/** A bad record hurts its own actor only (I8). */
function park(parts: ShardStoreParts, run: ShardRun, id: ActorId, bytes: Uint8Array, error: unknown): void {
  const cell = createCell(id, run, bytes);
  markUnreadable(cell, asError(error).message);
  run.cells.set(cell.id, cell);
  parts.metrics.unreadable?.('record');
  parts.log.error({ actor: id, error: cell.unreadable }, 'actor parked: its record cannot be read');
}

/** Why no chart of this replica can take the record, and what to do; null: one can. */
function strangeness(chart: Chart | undefined, { machine, version }: ActorRecord): string | null {
  if (chart === undefined)
    return `this replica has no machine ${machine}: turn its feature on again (--without leaves it out), load it (--feature), or start a release that has it`;
  if (version <= chart.version) return null;
  return `a newer release wrote its record (machine ${machine} version ${version}, here ${chart.version}): upgrade again`;
}

function place(
  parts: ShardStoreParts,
  run: ShardRun,
  { id, record, sequence, data }: Loaded,
  published: Published,
  /** For how long it has been stored. */
  ageMs: number,
): void {
  const { clock, steppers } = parts;
  // By the server's clock: those of replicas may have been set.
  if (record.gone && ageMs > goneRecordSeconds * 1_000) return;
  noteStored(run, id, record, clock.monotonic() - ageMs);
  const feed = record.feed.filter((step) => isLater(step, published));
  if (feed.length > 0) {
    begin(run.feed, sequence);
    run.unpublished.set(id, sequence);
  }
  const mail = mailOfRecord(run, record) === run.mailOf ? record.mail : 0;
  const isAsStored = feed.length === record.feed.length && mail === record.mail;
  const cell = createCell(id, run, isAsStored ? data.slice() : packRecord({ ...record, feed, mail }));
  const chart = steppers.get(record.machine)?.chart;
  note(cell, record, stateNow(chart, record), chart);
  const strange = strangeness(chart, record);
  if (strange !== null) markUnreadable(cell, strange);
  run.cells.set(cell.id, cell);
}
