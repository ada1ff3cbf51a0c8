/**
 * The directory: which replicas live.
 *
 * Owns: this replica's heartbeat and what is heard of the others'. Promise: nobody is judged while this
 * replica does not hear its own beats (then the broker is away, not the others). A beat of a new incarnation
 * is answered at once, so a replica that starts knows the others within one round trip. Two that live under
 * one name would take everything from each other for ever: the younger one is told so. The last beats of one
 * that died do not count for that, nor those of one that leaves.
 */

import type { Clock, Timer } from '../../base/clock.ts';
import type { Bus, BusMessage, Subscription } from '../../bus/bus.ts';
import { decode, encodeJson } from '../../bus/codec.ts';
import type { Subjects } from '../../bus/subjects.ts';
import { createTwins, type Twin } from './twins.ts';

/** One heartbeat, JSON on `member.<replica>`. */
export interface Beat {
  readonly replica: string;
  /** Differs from start to start of one replica. */
  readonly incarnation: string;
  readonly release: string;
  /** It is ending: its holdings go to others. */
  readonly leaving: boolean;
  /** false: what is written in the cluster does not suit it, and it takes no shards. */
  readonly serving: boolean;
  /**
   * It reads what actors say to one another over `tell`; replicas of releases before that say
   * nothing of it.
   */
  readonly tells: boolean;
  readonly shards: readonly number[];
  readonly actors: number;
  readonly stepsPerSecond: number;
  /** How long the process has been there, ms. Absent: a release before 0.1.0. */
  readonly ageMs?: number;
}

export interface Member extends Beat {
  /** When it was heard first in this incarnation, monotonic ms of this replica. */
  readonly firstHeard: number;
  /** When it was heard last, monotonic ms of this replica. */
  readonly lastHeard: number;
  /** The same in wall time, ms since the epoch. */
  readonly lastSeen: number;
}

export const beatMs = 500;
/** A replica is missing after so many beats. */
const beatsMissed = 3;
const silenceMaxMs = beatMs * beatsMissed;
/** Whoever is silent for longer is not listed any more. */
const rememberedMs = 60_000;

export interface Directory {
  readonly incarnation: string;
  /** Replicas that live and do not leave, this one included; null while nobody can be judged. */
  live(): ReadonlyMap<string, Member> | null;
  /** Whether that very process is still heard of; one that leaves is, until it has gone. */
  isPresent(replica: string, incarnation: string): boolean;
  /** How long this process has been there, ms. */
  ageMs(): number;
  /** Another process of this replica's name took something from this one: it lives, whether or not it is heard. */
  sawTwin(twin: Twin): void;
  /** Everybody who was heard of in the last minute. */
  all(): readonly Member[];
  /**
   * When a replica was heard last that reads what actors say over `send` alone, wall time in ms; 0:
   * never.
   */
  earlierHeardAt(): number;
  /** Tells the others now, not at the next beat. */
  beat(): void;
  stop(): void;
}

export function startDirectory(parts: {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly replica: string;
  readonly incarnation: string;
  readonly describe: () => Omit<Beat, 'replica' | 'incarnation' | 'ageMs'>;
  /** Another process lives under this replica's name. @param isElder that one was there before, and stays */
  readonly onTwin?: (incarnation: string, isElder: boolean) => void;
  /** Called after each own beat, and when somebody came or left. */
  readonly onChange: () => void;
}): Directory {
  const { bus, subjects, clock, replica, incarnation, describe, onChange } = parts;
  /** By name: whoever was heard last under it. */
  const members = new Map<string, Member>();
  /** By name and incarnation: more than one, where two others share a name. */
  const processes = new Map<string, Member>();
  const twins = createTwins({
    ...{ clock, incarnation, livesAfterMs: 2 * beatMs, goneAfterMs: silenceMaxMs },
    onNew: () => beat(),
    onTwin: (twin, isElder) => parts.onTwin?.(twin, isElder),
  });
  let timer: Timer | null = null;
  let stopped = false;

  const beat = () => {
    if (stopped) return;
    const own = { replica, incarnation, ...describe(), ageMs: twins.ageMs() } satisfies Beat;
    bus.publish(subjects.member(replica), encodeJson(own));
  };
  const tick = () => {
    beat();
    onChange();
    const oldest = clock.monotonic() - rememberedMs;
    for (const [key, { lastHeard }] of processes) if (lastHeard < oldest) processes.delete(key);
    timer = clock.after(beatMs, tick);
  };
  const hear = (message: BusMessage) => {
    const heard = readBeat(message);
    if (!heard) return;
    if (heard.replica === replica && heard.incarnation !== incarnation) return twins.hear(heard);
    const key = processKey(heard.replica, heard.incarnation);
    const known = processes.get(key);
    const now = clock.monotonic();
    // One that starts says that it leaves until it can take something over; it lives from then on.
    const firstHeard = !known || (known.leaving && !heard.leaving) ? now : known.firstHeard;
    const member: Member = { ...heard, firstHeard, lastHeard: now, lastSeen: clock.now() };
    members.set(heard.replica, member);
    processes.set(key, member);
    if (!known && heard.replica !== replica) beat();
    if (!known || known.leaving !== heard.leaving || known.serving !== heard.serving) onChange();
  };
  const subscription: Subscription = bus.subscribe(subjects.memberAll, hear);
  tick();
  return {
    incarnation,
    live() {
      const now = clock.monotonic();
      const own = members.get(replica);
      if (!own || now - own.lastHeard > silenceMaxMs) return null;
      const living = [...members].filter(
        ([, member]) => now - member.lastHeard <= silenceMaxMs && !member.leaving,
      );
      return new Map(living);
    },
    isPresent(name, itsIncarnation) {
      if (name === replica && itsIncarnation !== incarnation) return twins.isPresent(itsIncarnation);
      const heard = processes.get(processKey(name, itsIncarnation));
      return heard !== undefined && clock.monotonic() - heard.lastHeard <= silenceMaxMs;
    },
    ageMs: twins.ageMs,
    sawTwin: (twin) => twins.hear(twin, true),
    all() {
      const now = clock.monotonic();
      for (const [name, { lastHeard }] of members) if (now - lastHeard > rememberedMs) members.delete(name);
      return [...members.values()];
    },
    earlierHeardAt: () => latestWithoutTell(members.values()),
    beat,
    stop() {
      stopped = true;
      timer?.cancel();
      subscription.stop();
    },
  };
}

const processKey = (replica: string, incarnation: string) => `${replica} ${incarnation}`;

function latestWithoutTell(members: Iterable<Member>): number {
  let latest = 0;
  for (const { tells, lastSeen } of members) if (!tells) latest = Math.max(latest, lastSeen);
  return latest;
}

function readBeat(message: BusMessage): Beat | null {
  try {
    const beat = decode(message.data) as Partial<Beat> | null;
    if (typeof beat?.replica !== 'string' || typeof beat.incarnation !== 'string') return null;
    return {
      replica: beat.replica,
      incarnation: beat.incarnation,
      release: String(beat.release ?? ''),
      leaving: beat.leaving === true,
      // Replicas of earlier releases say nothing of it.
      serving: beat.serving !== false,
      tells: beat.tells === true,
      shards: Array.isArray(beat.shards) ? beat.shards : [],
      actors: Number(beat.actors ?? 0),
      stepsPerSecond: Number(beat.stepsPerSecond ?? 0),
      ...(typeof beat.ageMs === 'number' ? { ageMs: beat.ageMs } : {}),
    };
  } catch {
    // Foreign bytes on our subject are nobody's heartbeat.
    return null;
  }
}
