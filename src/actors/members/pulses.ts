/**
 * The rhythm of a replica's signs of life: beats, which say all that others know of it, and between them
 * pulses, which say only that it lives.
 *
 * Pulses are for other replicas, and one that is by itself sends none. Each other replica's pulses are heard
 * from its first beat until it is forgotten.
 */
import type { Timer } from '../../base/clock.ts';
import type { BusMessage, Subscription } from '../../bus/bus.ts';
import type { HostParts } from '../host/host-parts.ts';
import type { Members } from './members.ts';

/** The pause between two signs of life. */
export const pulseMs = 200;
/** Every third is a beat. */
const pulsesPerBeat = 3;

interface PulsesParts extends Pick<HostParts, 'bus' | 'subjects' | 'clock'> {
  readonly replica: string;
  readonly incarnation: string;
  readonly members: Pick<Members, 'named' | 'notePulse' | 'forgetOld'>;
  readonly beat: () => void;
  /** Called after each beat, because some waits end without news. */
  readonly onChange: () => void;
}

export function startPulses(parts: PulsesParts) {
  const { bus, subjects, clock, replica, incarnation, members, beat, onChange } = parts;
  const ears = new Map<string, Subscription>();
  const ownPulse = Buffer.from(incarnation);
  let timer: Timer | null = null;

  const tick = (pulses: number) => {
    const phase = pulses % pulsesPerBeat;
    if (phase > 0) bus.publish(subjects.pulse(replica), ownPulse);
    else {
      beat();
      onChange();
      forgetOld();
    }
    tickLater(pulses, ears.size > 0 ? 1 : pulsesPerBeat - phase);
  };
  const tickLater = (pulses: number, count: number) => {
    timer?.cancel();
    timer = clock.after(count * pulseMs, () => tick(pulses + count));
  };
  const forgetOld = () => {
    members.forgetOld();
    for (const [other, ear] of ears) {
      if (members.named(other)) continue;
      ear.stop();
      ears.delete(other);
    }
  };
  tick(0);
  return {
    /** Another replica was heard for the first time, or again as a new process. */
    meet(other: string): void {
      beat();
      // Who was alone has been sending no pulses.
      if (ears.size === 0) tickLater(0, 1);
      if (ears.has(other)) return;
      const hear = ({ data }: BusMessage) => members.notePulse(other, Buffer.from(data).toString());
      ears.set(other, bus.subscribe(subjects.pulse(other), hear));
    },
    stop(): void {
      timer?.cancel();
      for (const ear of ears.values()) ear.stop();
    },
  };
}
