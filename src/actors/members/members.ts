/** The replicas heard of: the latest beat of each, and of each process if several share a name. */
import type { Clock } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { decode } from '../../bus/codec.ts';
import type { Edition } from '../edition.ts';

/** A loaded feature, as a replica announces it in its beats. */
export interface EditionTold extends Edition {
  readonly name: string;
  /** The kinds of its actors. */
  readonly kinds: readonly string[];
}

/** One heartbeat, JSON on `member.<replica>`. */
export interface Beat {
  readonly replica: string;
  /** Differs from start to start of one replica. */
  readonly incarnation: string;
  readonly release: string;
  /** It is shutting down: its holdings move to others. */
  readonly leaving: boolean;
  /** false: the cluster's state does not suit its release, and it takes no shards. */
  readonly serving: boolean;
  /** It reads messages between actors from `tell`; absent in earlier releases. */
  readonly tells: boolean;
  readonly shards: readonly number[];
  /** The features that it has loaded; absent in earlier releases, which have none. */
  readonly editions: readonly EditionTold[];
  /** Features that it has a reason to call with care (time/care.ts). Absent: none. */
  readonly suspects?: readonly string[];
  readonly actors: number;
  readonly stepsPerSecond: number;
  /** Which Kubernetes cluster it works for; absent: it does not know. */
  readonly kubernetes?: string;
  /** Which state stream it works with; absent: it does not know. */
  readonly store?: string;
  /** The age of the process, ms. Absent: a release before 0.1.0. */
  readonly ageMs?: number;
  /** It answers whoever asks whether it is there (roll-call.ts). Absent: it has not heard itself do so. */
  readonly answers?: boolean;
}

export interface Member extends Beat {
  /** When it was first heard in this incarnation, this replica's monotonic ms. */
  readonly firstHeard: number;
  /** When it was last heard, this replica's monotonic ms. */
  readonly lastHeard: number;
  /** The same in wall time, ms since the epoch. */
  readonly lastSeen: number;
}

/** A replica that is silent for longer is removed from the list, ms. */
const rememberedMs = 60_000;

export type Members = ReturnType<typeof createMembers>;

export function createMembers(clock: Clock) {
  /** By name: the process that was last heard under it. */
  const named = new Map<string, Member>();
  /** By name and incarnation. */
  const processes = new Map<string, Member>();
  const hear = (member: Member) => {
    named.set(member.replica, member);
    processes.set(processKey(member.replica, member.incarnation), member);
  };
  return {
    /** @returns what was known of that process before */
    note(beat: Beat): Member | undefined {
      const before = processes.get(processKey(beat.replica, beat.incarnation));
      const now = clock.monotonic();
      // A starting replica announces that it leaves until it can take something over; its life starts then.
      const firstHeard = !before || (before.leaving && !beat.leaving) ? now : before.firstHeard;
      const member: Member = { ...beat, firstHeard, lastHeard: now, lastSeen: clock.now() };
      hear(member);
      return before;
    },
    /** Notes a sign of life of a process that has beaten before. */
    notePulse(replica: string, incarnation: string): void {
      const before = processes.get(processKey(replica, incarnation));
      if (before !== undefined) hear({ ...before, lastHeard: clock.monotonic(), lastSeen: clock.now() });
    },
    isFull: () => processes.size >= limits.processesHeard,
    named: (replica: string) => named.get(replica),
    process: (replica: string, incarnation: string) => processes.get(processKey(replica, incarnation)),
    /** One for each name. */
    all: () => [...named.values()],
    forgetOld(): void {
      const oldest = clock.monotonic() - rememberedMs;
      for (const book of [named, processes])
        for (const [key, { lastHeard }] of book) if (lastHeard < oldest) book.delete(key);
    },
  };
}

const processKey = (replica: string, incarnation: string) => `${replica} ${incarnation}`;

export function latestWithoutTell(members: Iterable<Member>): number {
  let latest = 0;
  for (const { tells, lastSeen } of members) if (!tells) latest = Math.max(latest, lastSeen);
  return latest;
}

const isText = (value: unknown): value is string => typeof value === 'string';

function isEdition(value: Partial<EditionTold> | null): boolean {
  const { name, version, fingerprint, kinds } = value ?? {};
  return [name, version, fingerprint].every((text) => typeof text === 'string') && Array.isArray(kinds);
}

export function readBeat(data: Uint8Array): Beat | null {
  // Unreadable bytes on our subject are no heartbeat.
  return attempt(() => {
    const beat = decode(data) as Partial<Beat> | null;
    if (typeof beat?.replica !== 'string' || typeof beat.incarnation !== 'string') return null;
    return {
      replica: beat.replica,
      incarnation: beat.incarnation,
      release: String(beat.release ?? ''),
      leaving: beat.leaving === true,
      // Absent in beats of earlier releases.
      serving: beat.serving !== false,
      tells: beat.tells === true,
      shards: Array.isArray(beat.shards) ? beat.shards : [],
      editions: Array.isArray(beat.editions) ? beat.editions.filter(isEdition) : [],
      ...(Array.isArray(beat.suspects) ? { suspects: beat.suspects.filter(isText) } : {}),
      actors: Number(beat.actors ?? 0),
      stepsPerSecond: Number(beat.stepsPerSecond ?? 0),
      ...(typeof beat.kubernetes === 'string' ? { kubernetes: beat.kubernetes } : {}),
      ...(typeof beat.store === 'string' ? { store: beat.store } : {}),
      ...(typeof beat.ageMs === 'number' ? { ageMs: beat.ageMs } : {}),
      ...(beat.answers === true ? { answers: true } : {}),
    };
  }, null);
}
