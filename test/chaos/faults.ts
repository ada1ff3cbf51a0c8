/**
 * The faults of a run: drawn from a seed, one line for each. Every fault is undone after a while, and all are
 * by `end`; only what was killed stays dead, and a successor is started.
 */
import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Chance } from '../../packages/testing/time/chance.ts';
import { systemClock as clock, sleep } from '../../src/base/clock.ts';
import { asError } from '../../src/base/errors.ts';
import type { LinkState } from '../../src/bus/memory/faults.ts';
import type { ApiServers } from './api-servers.ts';
import type { FailOvers } from './fail-over.ts';
import type { Link } from './link.ts';
import type { NatsServers } from './nats-servers.ts';
import type { Crew, Member } from './replica-crew.ts';
import type { StreamFaults } from './stream-faults.ts';

export const faultKinds = [
  'kill',
  'pause',
  'rollOver',
  'natsCut',
  'natsSilent',
  'apiCut',
  'apiSilent',
  'natsKilled',
  'natsStopped',
  'natsLeader',
  'storeFull',
  'diskFull',
  'streamDeleted',
  'apiKilled',
  'apiStopped',
  'clockSet',
  'twin',
  'stateDeleted',
  'etcdRestored',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface FaultParts {
  readonly crew: Crew;
  readonly nats: NatsServers;
  readonly api: ApiServers;
  readonly streams: StreamFaults;
  readonly kinds: ReadonlySet<FaultKind>;
  readonly chance: Chance;
  readonly failOvers: FailOvers;
  /** Kubernetes is put back to an earlier state; its servers are dead. */
  readonly onRestoring: () => void;
  /** It was, and those who have to be started again were. */
  readonly onRestored: () => void;
  readonly say: (text: string) => void;
}

export interface Faults {
  /** How often each was done. */
  readonly counts: ReadonlyMap<FaultKind, number>;
  /** @param kind absent: drawn */
  act(kind?: FaultKind): void;
  /** Ends all faults. Resolves once everything works. */
  end(): Promise<void>;
}

type Done = string | null;
/** Takes it back after this time, or when all faults end. */
type ForAWhile = (ms: number, undo: () => unknown) => void;
/** @param isAlone nothing else fails at present */
type Act = (forAWhile: ForAWhile, isAlone: boolean) => Done | Promise<Done>;

export function createFaults(parts: FaultParts): Faults {
  const { chance, say, kinds, failOvers } = parts;
  const acts = new Map(Object.entries(actsOf(parts)) as ReadonlyArray<[FaultKind, Act]>);
  const counts = new Map<FaultKind, number>();
  const undoing = new Set<() => Promise<void>>();
  const active = new Set<Promise<unknown>>();
  const wanted = [...kinds];
  const forAWhile: ForAWhile = (ms, undo) => {
    let isDone = false;
    const once = async () => {
      if (isDone) return;
      isDone = true;
      undoing.delete(once);
      timer.cancel();
      await undo();
    };
    const timer = clock.after(ms, () => void track(once()));
    undoing.add(once);
  };
  const track = (work: Promise<unknown>) => {
    const tracked = work.catch((error) => say(`a fault could not be taken back: ${asError(error).message}`));
    active.add(tracked);
    void tracked.then(() => active.delete(tracked));
    return tracked;
  };
  const run = async (kind: FaultKind, act: Act) => {
    if (kind !== 'kill' && kind !== 'rollOver') failOvers.disturbed();
    const isAlone = undoing.size === 0;
    const done = await act(forAWhile, isAlone);
    if (done === null) return;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    say(
      `${kind}: ${done}${kind === 'kill' && isAlone ? '' : undoing.size > 1 ? ` (${undoing.size} at once)` : ''}`,
    );
  };
  return {
    counts,
    act(kind = chance.pick(wanted)) {
      const act = kind && acts.get(kind);
      if (act) void track(run(kind, act));
    },
    async end() {
      await Promise.all([...undoing].map((undo) => undo()));
      await Promise.all(active);
      await Promise.all([...undoing].map((undo) => undo()));
    },
  };
}

function actsOf(parts: FaultParts): Record<FaultKind, Act> {
  return {
    ...replicaFaults(parts),
    ...linkFaults(parts),
    ...serverFaults(parts),
    ...storeFaults(parts),
    etcdRestored: etcdRestored(parts),
  };
}

function replicaFaults({ crew, chance, failOvers }: FaultParts) {
  const any = () => chance.pick(crew.members.filter(({ state }) => state === 'running'));
  const short = (least: number, most: number) => chance.seldomLong(least, most);
  const again = (name: string) => {
    const isThere = crew.members.some((one) => one.name === name && one.state !== 'ending');
    return isThere ? null : crew.start(name);
  };
  return {
    kill(forAWhile: ForAWhile, isAlone: boolean) {
      const member = any();
      if (!member) return null;
      failOvers.killed(member.name, clock.now(), isAlone);
      const gone = crew.kill(member);
      forAWhile(short(200, 5_000), () => gone.then(() => again(member.name)));
      return member.name;
    },
    pause(forAWhile: ForAWhile) {
      const member = any();
      if (!member) return null;
      const ms = short(1_000, 10_000);
      crew.pause(member);
      forAWhile(ms, () => crew.resume(member));
      return `${member.name} for ${seconds(ms)}`;
    },
    rollOver(forAWhile: ForAWhile) {
      const member = any();
      if (!member) return null;
      const gone = crew.end(member);
      forAWhile(0, () => gone.then(() => again(member.name)));
      return member.name;
    },
    clockSet(forAWhile: ForAWhile) {
      const member = any();
      if (!member) return null;
      const byMs = Math.round(short(500, 60_000)) * (chance.happens(0.5) ? 1 : -1);
      writeFileSync(member.clockFile, `${byMs}`);
      forAWhile(short(2_000, 15_000), () => writeFileSync(member.clockFile, '0'));
      return `of ${member.name} by ${seconds(byMs)}`;
    },
    async twin() {
      const member = any();
      if (!member || crew.members.some(({ isTwin }) => isTwin)) return null;
      await crew.start(member.name, true);
      return `another ${member.name}`;
    },
  } satisfies Partial<Record<FaultKind, Act>>;
}

function linkFaults({ crew, chance }: FaultParts) {
  const fault =
    (linksOf: (member: Member) => readonly Link[], state: LinkState, most: number): Act =>
    (forAWhile) => {
      const member = chance.pick(crew.members.filter((one) => one.state !== 'ending'));
      const links = member ? linksOf(member).filter((link) => link.state === 'up') : [];
      if (!member || links.length === 0) return null;
      const ms = chance.seldomLong(300, most);
      for (const link of links) link.set(state);
      forAWhile(ms, () => {
        for (const link of links) link.set('up');
      });
      return `${member.name} for ${seconds(ms)}`;
    };
  const nats = ({ natsLinks }: Member) => natsLinks;
  const kube = ({ kubeLink }: Member) => [kubeLink];
  return {
    natsCut: fault(nats, 'down', 10_000),
    natsSilent: fault(nats, 'silent', 10_000),
    apiCut: fault(kube, 'down', 15_000),
    apiSilent: fault(kube, 'silent', 15_000),
  };
}

function serverFaults({ nats, api, chance, streams }: FaultParts) {
  const isWhole = () => nats.living.length === nats.copies;
  const kill = (index: number, forAWhile: ForAWhile) => {
    const gone = nats.kill(index);
    forAWhile(chance.seldomLong(300, 4_000), () => gone.then(() => nats.start(index)));
    return `n${index}`;
  };
  return {
    natsKilled: (forAWhile) => (isWhole() ? kill(chance.int(0, nats.copies - 1), forAWhile) : null),
    async natsLeader(forAWhile) {
      if (nats.copies === 1 || !isWhole()) return null;
      const leader = await streams.leaderOf('state').catch(() => null);
      return leader === null || !isWhole() ? null : `${kill(leader, forAWhile)}, which led the state`;
    },
    natsStopped(forAWhile) {
      const index = chance.pick(nats.living);
      const server = index === undefined ? undefined : nats.server(index);
      if (!server || !isWhole()) return null;
      const ms = chance.seldomLong(500, 6_000);
      server.pause();
      forAWhile(ms, () => server.resume());
      return `n${index} for ${seconds(ms)}`;
    },
    apiKilled(forAWhile) {
      if (!api.canFail) return null;
      const which = chance.pick(['kube-apiserver', 'etcd'] as const) ?? 'etcd';
      const gone = api.kill(which);
      forAWhile(chance.seldomLong(300, 4_000), () => gone.then(() => api.start(which)));
      return which;
    },
    apiStopped(forAWhile) {
      if (!api.canFail) return null;
      const which = chance.pick(['kube-apiserver', 'etcd'] as const) ?? 'etcd';
      const ms = chance.seldomLong(500, 8_000);
      api.pause(which);
      forAWhile(ms, () => api.resume(which));
      return `${which} for ${seconds(ms)}`;
    },
  } satisfies Partial<Record<FaultKind, Act>>;
}

/**
 * By then whoever can notice the restore has: nobody can once the versions have passed the old ones, ms after
 * it.
 */
const noticedMs = 6_000;

/** As docs/disaster-recovery.md says, with a bump of the versions or without. */
function etcdRestored({ api, chance, crew, onRestoring, onRestored, say }: FaultParts): Act {
  let isUnderWay = false;
  const { backups } = api;
  const restartAll = async () => {
    say('its versions have passed the old ones: every replica is started again');
    for (const member of crew.members.filter(({ state }) => state === 'running')) {
      await crew.end(member);
      await crew.start(member.name);
    }
  };
  return async (forAWhile) => {
    if (backups === undefined || isUnderWay) return null;
    isUnderWay = true;
    const isBumped = chance.happens(0.5);
    const ms = chance.between(3_000, 15_000);
    await backups.backUp().catch((error) => {
      isUnderWay = false;
      throw error;
    });
    forAWhile(ms, async () => {
      try {
        const before = await backups.revision().catch(() => Number.POSITIVE_INFINITY);
        await backups.putBack(isBumped, onRestoring);
        await sleep(clock, noticedMs);
        if (!isBumped && (await backups.revision()) >= before) await restartAll();
      } finally {
        onRestored();
        isUnderWay = false;
      }
    });
    return `to what it is now, in ${seconds(ms)}${isBumped ? ', with bumped versions' : ''}`;
  };
}

function storeFaults({ streams, nats, chance }: FaultParts) {
  return {
    /** As docs/disaster-recovery.md says: room is made, and the servers are restarted. */
    async diskFull(forAWhile) {
      if (nats.living.length < nats.copies) return null;
      const filler = join(nats.dir, 'filler');
      const ms = chance.seldomLong(2_000, 15_000);
      forAWhile(ms, async () => {
        rmSync(filler, { force: true });
        for (const index of nats.living) {
          await nats.kill(index);
          await nats.start(index);
        }
      });
      fillUp(filler);
      return `for ${seconds(ms)}`;
    },
    async storeFull(forAWhile) {
      const stream = chance.pick(['state', 'state', 'mail', 'event'] as const) ?? 'state';
      const ms = chance.seldomLong(1_000, 8_000);
      await streams.fill(stream);
      forAWhile(ms, () => streams.empty(stream));
      return `the ${stream} stream for ${seconds(ms)}`;
    },
    async streamDeleted() {
      const stream = chance.pick(['mail', 'dead', 'world'] as const) ?? 'mail';
      await streams.remove(stream);
      return stream;
    },
    async stateDeleted() {
      if (nats.living.length < nats.copies) return null;
      try {
        await streams.loseState();
      } finally {
        await streams.empty('state');
      }
      return 'records and fences';
    },
  } satisfies Partial<Record<FaultKind, Act>>;
}

const blockBytes = 65_536;

/** Writes until the file system takes no more. */
function fillUp(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (const block = Buffer.alloc(blockBytes); ; ) writeSync(file, block);
  } catch {
    // It is full.
  } finally {
    closeSync(file);
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** Leaves out what has no meaning here. */
export function drawKinds(
  chance: Chance,
  options: { isReplicated: boolean; hasApi: boolean; hasBackups: boolean; hasSmallDisk: boolean },
): Set<FaultKind> {
  const not = new Set<FaultKind>([
    ...(options.isReplicated ? [] : (['natsLeader'] as const)),
    ...(options.hasSmallDisk ? [] : (['diskFull'] as const)),
    ...(options.hasBackups ? [] : (['etcdRestored'] as const)),
    ...(options.hasApi ? [] : (['apiKilled', 'apiStopped'] as const)),
  ]);
  return new Set(faultKinds.filter((kind) => !not.has(kind) && chance.happens(0.7)));
}
