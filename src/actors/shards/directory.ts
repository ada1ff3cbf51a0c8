/**
 * The directory: which replicas live.
 *
 * Owns: this replica's heartbeat and what is heard of the others'. Promise: nobody is judged while this
 * replica does not hear its own beats (then the broker is away, not the others). A beat of a new incarnation
 * is answered at once, so a replica that starts knows the others within one round trip. Two that live under
 * one name would take everything from each other for ever: the younger one is told so. The last beats of one
 * that died do not count for that, nor those of one that leaves.
 */

import type { Timer } from '../../base/clock.ts';
import type { BusMessage, Subscription } from '../../bus/bus.ts';
import { encodeJson } from '../../bus/codec.ts';
import type { HostParts } from '../host/host-parts.ts';
import { type Beat, createMembers, latestWithoutTell, type Member, readBeat } from './members.ts';
import { createTwins, type Twin } from './twins.ts';

export const beatMs = 500;
/** A replica is missing after so many beats. */
const beatsMissed = 3;
const silenceMaxMs = beatMs * beatsMissed;

export interface Directory {
  readonly incarnation: string;
  /** Replicas that live and do not leave, this one included; null while nobody can be judged. */
  live(): ReadonlyMap<string, Member> | null;
  /** Whether that very process is still heard of; one that leaves is, until it has gone. */
  isPresent(replica: string, incarnation: string): boolean;
  /** How long this process has been there, ms. */
  ageMs(): number;
  /**
   * Another process of this replica's name took something from this one: it lives, whether or not it is
   * heard.
   */
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

interface DirectoryParts extends Pick<HostParts, 'bus' | 'subjects' | 'clock'> {
  readonly replica: string;
  readonly incarnation: string;
  readonly describe: () => Omit<Beat, 'replica' | 'incarnation' | 'ageMs'>;
  /** Another process lives under this replica's name. @param isElder that one was there before, and stays */
  readonly onTwin?: (incarnation: string, isElder: boolean) => void;
  /** Called after each own beat, and when somebody came or left. */
  readonly onChange: () => void;
}

export function startDirectory(parts: DirectoryParts): Directory {
  const { bus, subjects, clock, replica, incarnation, describe, onChange } = parts;
  const members = createMembers(clock);
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
    members.forgetOld();
    timer = clock.after(beatMs, tick);
  };
  const hear = ({ data }: BusMessage) => {
    const heard = readBeat(data);
    if (!heard) return;
    if (heard.replica === replica && heard.incarnation !== incarnation) return twins.hear(heard);
    const before = members.note(heard);
    if (!before && heard.replica !== replica) beat();
    if (!before || before.leaving !== heard.leaving || before.serving !== heard.serving) onChange();
  };
  const subscription: Subscription = bus.subscribe(subjects.memberAll, hear);
  tick();
  return {
    incarnation,
    live() {
      const isHeard = (one: Member) => clock.monotonic() - one.lastHeard <= silenceMaxMs;
      const own = members.named(replica);
      if (!own || !isHeard(own)) return null;
      const living = members.all().filter((one) => isHeard(one) && !one.leaving);
      return new Map(living.map((one) => [one.replica, one]));
    },
    isPresent(name, itsIncarnation) {
      if (name === replica && itsIncarnation !== incarnation) return twins.isPresent(itsIncarnation);
      const heard = members.process(name, itsIncarnation);
      return heard !== undefined && clock.monotonic() - heard.lastHeard <= silenceMaxMs;
    },
    ageMs: twins.ageMs,
    sawTwin: (twin) => twins.hear(twin, true),
    all() {
      members.forgetOld();
      return members.all();
    },
    earlierHeardAt: () => latestWithoutTell(members.all()),
    beat,
    stop() {
      stopped = true;
      timer?.cancel();
      subscription.stop();
    },
  };
}
