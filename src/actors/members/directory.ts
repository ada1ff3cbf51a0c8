/**
 * The directory of live replicas.
 *
 * Owns this replica's heartbeat, and what it hears of the others'. Promises: nobody is judged while this
 * replica does not hear its own beats, because then the broker is away, not the others (presence.ts). A beat
 * of a new incarnation is answered at once, so a starting replica knows the others within one round trip. Two
 * processes under one name would take everything from each other forever, so the younger one is told. The
 * last beats of a dead process do not count for that, nor do those of one that leaves.
 */

import type { BusMessage, Subscription } from '../../bus/bus.ts';
import { encodeJson } from '../../bus/codec.ts';
import type { HostParts } from '../host/host-parts.ts';
import { type Beat, createMembers, latestWithoutTell, type Member, readBeat } from './members.ts';
import { silenceMaxMs } from './patience.ts';
import { createPresence } from './presence.ts';
import { pulseMs, startPulses } from './pulses.ts';
import { createTwins, type Twin } from './twins.ts';

export interface Directory {
  readonly incarnation: string;
  /** Replicas that live and are not leaving, this one included; null while nobody can be judged. */
  live(): ReadonlyMap<string, Member> | null;
  /** Whether this replica receives its own beats: only then is anybody judged. */
  hearsSelf(): boolean;
  /** Whether this process is still heard. A leaving one counts until it has gone. */
  isPresent(replica: string, incarnation: string): boolean;
  ageMs(): number;
  /**
   * Another process with this replica's name took something from this one, so it lives, whether or not it is
   * heard.
   */
  sawTwin(twin: Twin): void;
  /** All replicas heard in the last minute. */
  all(): readonly Member[];
  /**
   * When a replica that reads actors' messages from `send` only was last heard, wall time in ms; 0: never.
   */
  earlierHeardAt(): number;
  /** Sends a beat now instead of waiting for the next one. */
  beat(): void;
  stop(): void;
}

interface DirectoryParts extends Pick<HostParts, 'bus' | 'subjects' | 'clock'> {
  readonly replica: string;
  readonly incarnation: string;
  readonly describe: () => Omit<Beat, 'replica' | 'incarnation' | 'ageMs'>;
  /** Another process lives under this replica's name. @param isElder it was there first, and stays */
  readonly onTwin?: (incarnation: string, isElder: boolean) => void;
  readonly log?: HostParts['log'];
  /** Called when a replica came or left, and every 0.6 s. */
  readonly onChange: () => void;
}

export function startDirectory(parts: DirectoryParts): Directory {
  const { bus, subjects, clock, replica, incarnation, describe, onChange } = parts;
  const members = createMembers(clock);
  const twins = createTwins({
    ...{ clock, incarnation, livesAfterMs: 5 * pulseMs, goneAfterMs: silenceMaxMs },
    onNew: () => beat(),
    onTwin: (twin, isElder) => parts.onTwin?.(twin, isElder),
  });
  let stopped = false;
  /** Our last beat, which comes back as it was sent. */
  let sent: { readonly own: Beat; readonly data: Uint8Array } | undefined;
  const beat = () => {
    if (stopped) return;
    const told = { ...describe(), ...presence.told(), ageMs: twins.ageMs() };
    const said = { replica, incarnation, ...told } satisfies Beat;
    sent = { own: said, data: encodeJson(said) };
    bus.publish(subjects.member(replica), sent.data);
  };
  const own = { bus, subjects, clock, replica, incarnation, members };
  const presence = createPresence({ ...own, beat, log: parts.log, onGone: () => onChange() });
  const hear = ({ data }: BusMessage) => {
    const heard = sent && Buffer.compare(sent.data, data) === 0 ? sent.own : readBeat(data);
    if (!heard) return;
    const isOwn = heard.replica === replica;
    if (isOwn && heard.incarnation !== incarnation) return twins.hear(heard);
    const before = members.process(heard.replica, heard.incarnation);
    if (before === undefined && !isOwn && members.isFull()) return;
    const isOneMissing = isOwn ? presence.noteOwn(heard) : void members.note(heard);
    if (!before && !isOwn) pulses.meet(heard.replica);
    const isChanged = before?.leaving !== heard.leaving || before.serving !== heard.serving;
    if (isOneMissing || isChanged) onChange();
  };
  const subscription: Subscription = bus.subscribe(subjects.memberAll, hear);
  const pulses = startPulses({ ...own, beat, onChange });
  return {
    incarnation,
    live() {
      if (!presence.hearsSelf()) return null;
      const living = presence.heard().filter(({ leaving }) => !leaving);
      return new Map(living.map((one) => [one.replica, one]));
    },
    hearsSelf: presence.hearsSelf,
    isPresent(name, itsIncarnation) {
      if (name === replica && itsIncarnation !== incarnation) return twins.isPresent(itsIncarnation);
      const heard = members.process(name, itsIncarnation);
      return heard !== undefined && presence.isHeard(heard);
    },
    ageMs: twins.ageMs,
    sawTwin: (twin) => twins.hear(twin, true),
    all: members.all,
    earlierHeardAt: () => latestWithoutTell(members.all()),
    beat,
    stop() {
      stopped = true;
      pulses.stop();
      presence.stop();
      subscription.stop();
    },
  };
}
