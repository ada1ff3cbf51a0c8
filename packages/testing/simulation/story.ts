/** What was seen of a simulated cluster, judged by the checkers as it happens. */
import { hash } from '../../../src/actors/shards/rendezvous.ts';
import type { Transition } from '../../../src/base/views.ts';
import type { CheckerKind, Eye, Scene } from '../checkers/checker.ts';
import type { See, Sighting } from './sightings.ts';

export interface Breach {
  /** The checker's name. */
  readonly promise: string;
  readonly text: string;
  /** Since the start of the simulation, ms. */
  readonly atMs: number;
}

export interface Verdict {
  /** The first broken promise. */
  readonly breach: Breach | null;
  /** Saved steps. */
  readonly steps: number;
  /** The feed. */
  readonly transitions: readonly Transition[];
  /** Equal for equal stories. */
  readonly fingerprint: string;
}

export interface Story {
  readonly see: See;
  /** Starts to judge. */
  watch<W extends Scene>(eye: Omit<Eye<W>, 'breach'>, checkers: readonly CheckerKind<W>[]): void;
  listen(listener: (sighting: Sighting) => void): void;
  /** Somebody else has seen a broken promise. */
  breach(promise: string, text: string): void;
  /** Whether a promise was broken. */
  isOver(): boolean;
  verdict(): Verdict;
  /** How often checkers have looked at something. */
  checks(): number;
}

/** @param onSighting called with each sighting and the time since the start, ms */
export function createStory(onSighting?: (atMs: number, sighting: Sighting) => void): Story {
  const transitions: Transition[] = [];
  const listeners: Array<(sighting: Sighting) => void> = [];
  let breach: Breach | null = null;
  let steps = 0;
  let checks = 0;
  let watching = 0;
  let print = 0;
  let now = () => 0;
  const see: See = (sighting) => {
    // What the end of a run brings is nobody's fault.
    if (breach !== null) return;
    onSighting?.(now(), sighting);
    if (sighting.kind === 'saved') {
      const { id, sequence, record, before } = sighting;
      if (record.rev !== before?.rev) steps++;
      print = hash(`${print} ${id} ${sequence} ${now()} ${record.feed.at(-1)?.to}`);
    }
    if (sighting.kind === 'told') transitions.push(sighting.transition);
    checks += watching;
    for (const listener of listeners) listener(sighting);
  };
  return {
    see,
    listen: (listener) => void listeners.push(listener),
    isOver: () => breach !== null,
    breach: (promise, text) => {
      breach ??= { promise, text, atMs: Math.round(now()) };
    },
    watch(eye, checkers) {
      now = () => eye.world.clock.monotonic();
      watching += checkers.length;
      for (const { name, create } of checkers) {
        const onBreach = (text: string) => {
          breach ??= { promise: name, text, atMs: Math.round(now()) };
        };
        listeners.push(create({ ...eye, breach: onBreach }));
      }
    },
    checks: () => checks,
    verdict: () => ({ breach, steps, transitions, fingerprint: (print >>> 0).toString(16) }),
  };
}
