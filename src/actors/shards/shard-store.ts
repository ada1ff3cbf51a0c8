/**
 * Reads a shard as its last owner saved it, and keeps its checkpoint.
 *
 * Promise: `loadShard` resolves only when everything up to the new fence was read. Every save of an earlier owner stands before
 * the fence in the stream, and later ones are refused, so nothing is missed; where it is read from a replica of the stream that
 * lags, it waits.
 */

import { asError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import type { Bus, StoredMessage } from '../../bus/bus.ts';
import type { Subjects } from '../../bus/subjects.ts';
import { createCell } from '../host/cell.ts';
import { lastPublished, type Published } from '../host/feed.ts';
import type { HostPorts } from '../host/host-parts.ts';
import type { ShardRun } from '../host/owned.ts';
import { type ActorRecord, goneRecordSeconds, packRecord, unpackRecord } from '../host/records.ts';
import type { Saver } from '../host/saver.ts';
import { stateText } from '../host/step.ts';

import { type Checkpoint, packCheckpoint, readCheckpoint } from './checkpoint.ts';
import { openUntil } from './mail-origin.ts';
import { begin, feedPosition, position } from './shard-run.ts';

interface StorePorts
  extends Pick<
    HostPorts,
    'bus' | 'subjects' | 'clock' | 'random' | 'log' | 'steppers' | 'metrics' | 'earlierHeardAt'
  > {}

interface Loaded {
  readonly id: ActorId;
  readonly sequence: number;
  readonly record: ActorRecord;
}

export async function loadShard(ports: StorePorts, run: ShardRun, signal: AbortSignal): Promise<void> {
  const { found, stored } = await readAll(ports.bus, ports.subjects, run, signal);
  const checkpoint = placesOf(ports, run, stored);
  run.mail.begun = run.mail.saved = checkpoint.mail;
  run.feed.begun = run.feed.saved = checkpoint.feed;
  run.savedOpenUntil = checkpoint.sendIsOpenUntil;
  // Until now the shard may have been of a release whose actors spoke over `send`.
  run.sendIsOpenUntil = checkpoint.sendIsOpenUntil ?? ports.clock.now();
  const loaded = found.flatMap((message) => readRecord(ports, run, message));
  const doubtful = loaded.filter(
    ({ sequence, record }) => sequence > checkpoint.feed && record.feed.length > 0,
  );
  const published = await lastPublished(
    ports,
    doubtful.map(({ id }) => id),
  );
  for (const one of loaded) {
    const isDoubtful = one.sequence > checkpoint.feed;
    try {
      place(ports, run, one, isDoubtful ? (published.get(one.id) ?? nothingYet) : everything);
    } catch (error) {
      park(ports, run, one.id, packRecord(one.record), error);
      continue;
    }
    run.world = Math.max(run.world, one.record.world ?? 0);
    run.owesEffects ||= one.record.outbox.length > 0;
  }
}

/** Saves how far the shard has come, if it has come further. */
export async function saveCheckpoint(ports: StorePorts, saver: Saver, run: ShardRun): Promise<void> {
  const next = checkpointOf(ports, run);
  const isKnown = next.mail === run.mail.saved && next.feed === run.feed.saved;
  if (isKnown && next.sendIsOpenUntil === run.savedOpenUntil) return;
  await writeCheckpoint(ports, saver, run, next);
}

/** Proves by a write that the fence still holds. @throws OrreryError NOT_OWNER | BUS_UNKNOWN_OUTCOME */
export function proveOwner(ports: StorePorts, saver: Saver, run: ShardRun): Promise<void> {
  return writeCheckpoint(ports, saver, run, checkpointOf(ports, run));
}

function checkpointOf(ports: StorePorts, run: ShardRun): Checkpoint {
  const mail = position(run.mail);
  return { mail, feed: feedPosition(run), sendIsOpenUntil: openUntil(ports, run) };
}

async function writeCheckpoint(ports: StorePorts, saver: Saver, run: ShardRun, checkpoint: Checkpoint) {
  await saver.save(run, ports.subjects.checkpoint(run.shard), packCheckpoint(checkpoint));
  run.mail.saved = checkpoint.mail;
  run.feed.saved = checkpoint.feed;
  run.savedOpenUntil = checkpoint.sendIsOpenUntil;
}

const nothingYet: Published = { fence: 0, rev: 0 };
const everything: Published = { fence: Number.POSITIVE_INFINITY, rev: 0 };

/** Revisions of an actor that ended begin anew after a while; fences never do. */
const isLater = (one: Published, other: Published) =>
  one.fence > other.fence || (one.fence === other.fence && one.rev > other.rev);

async function readAll(bus: Bus, subjects: Subjects, run: ShardRun, signal: AbortSignal) {
  const fenceSubject = subjects.fence(run.shard);
  const checkpointSubject = subjects.checkpoint(run.shard);
  const found: StoredMessage[] = [];
  let stored: StoredMessage | null = null;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // It may be aborted before anybody waits for it.
  promise.catch(() => {});
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const following = await bus.follow('state', {
    subjects: [subjects.stateOfShard(run.shard), fenceSubject],
    from: { kind: 'lastPerSubject' },
    onMessage: (message) => {
      if (message.subject === fenceSubject) {
        if (message.sequence >= run.fence) resolve();
      } else if (message.subject === checkpointSubject) stored = message;
      else found.push(message);
    },
  });
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    void following.stop();
  }
  return { found, stored: stored as StoredMessage | null };
}

/**
 * A checkpoint that cannot be read must not make the shard deaf: it begins at the oldest message,
 * and its records know what they took.
 */
function placesOf(ports: StorePorts, run: ShardRun, stored: StoredMessage | null): Checkpoint {
  const nowhere = { mail: 0, feed: 0, sendIsOpenUntil: null };
  if (stored === null) return nowhere;
  const checkpoint = readCheckpoint(stored.data);
  if (checkpoint !== null) return checkpoint;
  ports.metrics.unreadable?.('checkpoint');
  ports.log.error(
    { shard: run.shard },
    'the checkpoint of a shard cannot be read; it begins at the oldest message',
  );
  return { ...nowhere, sendIsOpenUntil: 0 };
}

function readRecord(ports: StorePorts, run: ShardRun, message: StoredMessage): Loaded[] {
  const parsed = ports.subjects.parseState(message.subject);
  if (!parsed || message.data.byteLength === 0) return [];
  const { id } = parsed;
  try {
    return [{ id, sequence: message.sequence, record: unpackRecord(message.data, id) }];
  } catch (error) {
    park(ports, run, id, message.data, error);
    return [];
  }
}

/** What is wrong with one record hurts its actor alone (I8). */
function park(ports: StorePorts, run: ShardRun, id: ActorId, bytes: Uint8Array, error: unknown): void {
  const cell = createCell(id, run, bytes);
  cell.unreadable = asError(error).message;
  run.cells.set(id, cell);
  ports.metrics.unreadable?.('record');
  ports.log.error({ actor: id, error: cell.unreadable }, 'actor parked: its record cannot be read');
}

function place(
  ports: StorePorts,
  run: ShardRun,
  { id, record, sequence }: Loaded,
  published: Published,
): void {
  const { clock, steppers } = ports;
  const until = record.at + goneRecordSeconds * 1000;
  if (record.gone && until < clock.now()) return;
  if (record.gone) run.ended.push({ id, until });
  const feed = record.feed.filter(({ fence, rev }) => isLater({ fence, rev }, published));
  if (feed.length > 0) {
    begin(run.feed, sequence);
    run.unpublished.set(id, sequence);
  }
  const cell = createCell(
    id,
    run,
    packRecord(feed.length === record.feed.length ? record : { ...record, feed }),
  );
  cell.state = record.gone ? '' : stateText(record.snapshot.value);
  const chart = steppers.get(record.machine)?.chart;
  if (!chart || chart.version < record.version) {
    cell.unreadable = `machine ${record.machine} version ${record.version} is unknown to this release`;
  }
  run.cells.set(id, cell);
}
