/**
 * The work of a shard's owner: the `Work` of the `shard/<n>` holdings.
 *
 * Owns the shards that this replica has open, and how observations of the world reach their actors. Order of
 * opening: saved actors first, then their observations, then the mail. So a message never meets an actor that
 * the world has something for, but that was not told yet.
 */

import { sleep } from '../../base/clock.ts';
import { asError, OrreryError } from '../../base/errors.ts';
import { type ActorId, type ActorName, parseActorId, type ShardName } from '../../base/ids.ts';
import { ledShard, shardCount } from '../../base/limits.ts';
import type { Host } from '../host/host.ts';
import type { HostParts } from '../host/host-parts.ts';
import type { ShardRun } from '../host/owned.ts';
import { createSaver, type Saver } from '../host/saver.ts';
import type { Router } from '../world/router.ts';
import type { TraceNotes } from '../world/trace-notes.ts';
import type { World } from '../world/world.ts';
import type { HoldingSpec, Work } from './holding.ts';
import { followMail, rereadMail } from './mail.ts';
import { createShardReader, type ReadShard } from './shard-reading.ts';
import { createShardRun, holdingName, mailToPurge } from './shard-run.ts';
import { isCheckpointDue, loadShard, proveOwner, saveCheckpoint } from './shard-store.ts';
import { createTelling } from './telling.ts';

export interface Shards {
  holdings(): HoldingSpec[];
  /** What the owner of the led shard does, for its holding. */
  ledWork(): Work;
  runOf(id: ActorId): ShardRun | null;
  open(): Iterable<ShardRun>;
  /**
   * Called when a shard was opened here; from then on its actors take events.
   *
   * @returns a function that cancels the callback
   */
  onOpened(callback: () => void): () => void;
  /** Tells actors of open shards what the world says of them now. */
  observe(ids: Iterable<string>): void;
  /** Saves how far the shards have come, and removes taken mail from the stream. About once a second. */
  checkpoint(): Promise<void>;
}

interface ShardsParts {
  readonly parts: HostParts;
  readonly host: Host;
  readonly router: Router;
  readonly world: Pick<World, 'reached' | 'sequence' | 'isWhole' | 'onWhole'>;
  readonly onFenced: (holding: string) => void;
  readonly traces: TraceNotes;
  /** Number of shards beside the led one; by default that of limits.ts. */
  readonly shards?: number | undefined;
}

export function createShards(given: ShardsParts): Shards {
  const { host, router, world, onFenced } = given;
  const { tell, isDue } = createTell(given);
  const isTold = (id: ActorId) => {
    const { kind, namespace, name } = parseActorId(id);
    return !isDue(id) && router.isTold(kind, namespace, name);
  };
  const parts: ShardParts = {
    ...given.parts,
    readShard: createShardReader(given.parts),
    isTold,
    onMailAnother: (run) => onFenced(holdingName(run.shard)),
  };
  const runs = new Map<ShardName, ShardRun>();
  const openings = new Set<() => void>();
  const saver = createSaver({ ...parts, fenceSubject: parts.subjects.fence });

  host.listen({
    fenced: (run) => onFenced(holdingName(run.shard)),
    untold: (id) => telling.tell([id]),
    born: (run, id) => tell(run, id),
    room: (run) => void rereadMail(parts, host, run).catch((error) => complain(parts, run, error, deaf)),
  });

  const members = createMembers(given);
  const tellAll = (run: ShardRun) => {
    const ids = new Set<ActorId>(run.cells.keys());
    for (const id of members.of(run.shard)) ids.add(id);
    for (const id of ids) tell(run, id);
  };
  const telling = createTelling({
    world,
    clock: parts.clock,
    tellAll,
    tell: (id) => {
      const run = runs.get(parts.homes.homeOf(id));
      if (run?.phase === 'active') tell(run, id);
      else members.note(id);
    },
  });

  const workOf = (shard: ShardName) =>
    shardWork({ parts, host, world, saver, runs, openings, shard, tellAll: telling.tellAll });

  return {
    holdings: () => holdingsOf(parts, given.shards ?? shardCount, workOf),
    ledWork: () => workOf(ledShard),
    runOf: (id) => runs.get(parts.homes.homeOf(id)) ?? null,
    open: () => runs.values(),
    onOpened(callback) {
      openings.add(callback);
      return () => void openings.delete(callback);
    },
    observe: telling.tell,
    checkpoint: () => checkpointAll(parts, saver, runs.values()),
  };
}

/** Tells an actor what the world says of it: now, or in its turn if its feature has used up its share. */
function createTell({ parts, host, router, world, traces }: ShardsParts) {
  /** An actor that cannot be told hurts itself only (I8). */
  const observe = (kind: string, namespace: string, name: string) => {
    try {
      return router.observe(kind, namespace, name);
    } catch (error) {
      const facts = { actor: `${kind}/${namespace}/${name}`, error: asError(error).message };
      parts.log.error(facts, 'the facts for an actor cannot be worked out');
      return [];
    }
  };
  const tellNow = (run: ShardRun, id: ActorId, { kind, namespace, name }: ActorName): void => {
    const trace = traces.take(id);
    for (const { isPartial: _, ...event } of observe(kind, namespace, name)) {
      if (event.facts === null && !run.cells.has(id)) continue;
      host.deliver(run, id, {
        event,
        cause: null,
        replaces: event.type,
        trace,
        world: world.sequence,
      });
    }
  };
  /** Actors that wait for their turn. */
  const due = new Map<ActorId, ShardRun>();
  const tell = (run: ShardRun, id: ActorId): void => {
    const parsed = parseActorId(id);
    const pace = parts.paces.ofKind(parsed.kind);
    const turn = due.get(id) === run ? null : pace?.turn();
    if (pace === undefined) tellNow(run, id, parsed);
    else if (turn === undefined) pace.charge(() => tellNow(run, id, parsed));
    else if (turn !== null) {
      due.set(id, run);
      void turn.then(() => {
        if (due.get(id) === run) due.delete(id);
        pace.charge(() => run.phase === 'active' && tellNow(run, id, parsed));
      });
    }
  };
  return { tell, isDue: (id: ActorId) => due.has(id) };
}

/**
 * Of whom the world says something. Many shards open together after a claim, so the members are sorted into
 * shards once for all of them.
 */
function createMembers({ parts, router }: ShardsParts) {
  let byShard: Map<ShardName, ActorId[]> | null = null;
  const sorted = () => {
    const found = new Map<ShardName, ActorId[]>();
    for (const id of router.members()) put(found, parts.homes.homeOf(id as ActorId), id as ActorId);
    parts.clock.after(0, () => {
      byShard = null;
    });
    return found;
  };
  return {
    of(shard: ShardName): readonly ActorId[] {
      byShard ??= sorted();
      return byShard.get(shard) ?? [];
    },
    /** News of one whose shard is not open, and may be opened before the members are sorted again. */
    note(id: ActorId): void {
      if (byShard !== null) put(byShard, parts.homes.homeOf(id), id);
    },
  };
}

/**
 * Mail that may be removed once taken. While some replica has or had a loaded feature, that feature's mail is
 * mixed with ours and stays.
 */
function removable({ homes, elsewhere }: HostParts, { shard }: ShardRun): readonly string[] {
  const isShared = typeof shard === 'number' && homes.parts.length + elsewhere().size > 0;
  if (!isShared || typeof shard !== 'number') return homes.mailOf(shard);
  return homes.ownMailOf(shard);
}

function holdingsOf(parts: HostParts, shards: number, workOf: (shard: ShardName) => Work): HoldingSpec[] {
  const dealt = Array.from({ length: shards }, (_, shard) => holdingOf(parts, shard, workOf(shard)));
  const ofFeatures = parts.homes.parts.map(({ name, feature, kinds }) => ({
    ...holdingOf(parts, name, workOf(name)),
    feature: { name: feature, kinds },
  }));
  return [...dealt, ...ofFeatures];
}

function holdingOf({ subjects }: HostParts, shard: ShardName, work: Work): HoldingSpec {
  return { name: holdingName(shard), stream: 'state', fenceSubject: subjects.fence(shard), work };
}

function put(map: Map<ShardName, ActorId[]>, shard: ShardName, id: ActorId): void {
  const known = map.get(shard);
  if (known) known.push(id);
  else map.set(shard, [id]);
}

type ShardParts = HostParts & Parameters<typeof followMail>[0] & { readonly readShard: ReadShard };

interface WorkParts {
  readonly parts: ShardParts;
  readonly host: Host;
  readonly world: Pick<World, 'reached'>;
  readonly saver: Saver;
  readonly runs: Map<ShardName, ShardRun>;
  readonly openings: Iterable<() => void>;
  readonly shard: ShardName;
  readonly tellAll: (run: ShardRun) => void;
}

/**
 * The previous owner may have known more of the world than this replica does yet, so it waits to catch up
 * (I10). Bounded: a recreated world stream counts from the beginning, and an old observation is better than
 * none.
 */
const worldPatienceMs = 5_000;

function shardWork({ parts, host, world, saver, runs, openings, shard, tellAll }: WorkParts): Work {
  const ofFence = (fence: number) => {
    const run = runs.get(shard);
    return run?.fence === fence ? run : null;
  };
  return {
    async load(fence, signal) {
      const run = createShardRun(shard, fence);
      runs.set(shard, run);
      const ended = AbortSignal.any([signal, run.abort.signal]);
      await loadShard(parts, run, ended);
      await Promise.race([world.reached(run.world), sleep(parts.clock, worldPatienceMs, signal)]);
      // The process may have been suspended since the claim: what the shard owes runs only after a proof of
      // ownership (I3). The time limit for actors' messages over `send` must be stored before this owner may
      // go away.
      if (run.owesEffects || run.savedOpenUntil === null) await proveOwner(parts, saver, run);
    },
    open(fence) {
      const run = ofFence(fence);
      if (!run) return;
      host.activate(run);
      tellAll(run);
      followMail(parts, host, run).catch((error) => complain(parts, run, error, deaf));
      for (const callback of openings) callback();
    },
    async drain(fence) {
      const run = ofFence(fence);
      if (!run) return;
      await host.drain(run);
      await saveCheckpoint(parts, saver, run);
    },
    drop(fence) {
      const run = ofFence(fence);
      if (!run) return;
      runs.delete(shard);
      host.drop(run, new OrreryError('NOT_OWNER', 'the shard belongs to another replica now'));
      void run.following?.stop();
    },
  };
}

const deaf = 'its mail is read no more here. Restart this replica, so that another takes the shard';
const unkept =
  'its checkpoint was not saved, or mail that was taken not removed; both are tried again each second, and nothing is lost. If this goes on, NATS takes no writes: the error says why';

async function checkpointAll(parts: HostParts, saver: Saver, runs: Iterable<ShardRun>): Promise<void> {
  const heardAt = parts.earlierHeardAt();
  const heard = { earlierHeardAt: () => heardAt };
  for (const run of runs) {
    const isDue = isCheckpointDue(heard, run) || mailToPurge(run) !== null;
    if (isDue && run.phase === 'active') await checkpointOne(parts, saver, run);
  }
}

async function checkpointOne(parts: HostParts, saver: Saver, run: ShardRun): Promise<void> {
  try {
    await saveCheckpoint(parts, saver, run);
    const upTo = mailToPurge(run);
    if (upTo === null) return;
    for (const subject of removable(parts, run))
      await parts.bus.purge('mail', { subject, belowSequence: upTo });
    run.purged = upTo;
  } catch (error) {
    if (!run.abort.signal.aborted) complain(parts, run, error, unkept);
  }
}

/** @param follows what comes of it, and what to do */
function complain({ log }: HostParts, run: ShardRun, error: unknown, follows: string): void {
  log.warn({ shard: run.shard, error: asError(error).message }, `work on a shard failed: ${follows}`);
}
