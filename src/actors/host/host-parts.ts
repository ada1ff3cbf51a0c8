/**
 * What the parts of the host share: their dependencies, and the few calls between them.
 */

import type { ActorId, ActorName } from '../../base/ids.ts';
import type { Ambient } from '../../base/log-port.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import type { Tracing } from '../../base/tracing.ts';
import type { Transition } from '../../base/views.ts';
import type { Bus } from '../../bus/bus.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { EffectDeclaration } from '../../machines/effect.ts';
import type { Admission } from '../admission.ts';
import type { EffectContext } from '../effect-runner.ts';
import type { Homes } from '../shards/homes.ts';
import type { Care } from '../time/care.ts';
import type { Paces } from '../time/pace.ts';
import type { ShardRun } from './owned.ts';
import type { EffectData, Stepper } from './step.ts';

export interface HostMetrics {
  transition(kind: string): void;
  stepSeconds(seconds: number): void;
  effect(type: string, outcome: 'done' | 'failed' | 'timed_out' | 'aborted' | 'retried'): void;
  deadLetter(reason: string): void;
  /** Counts stored data that does not have the required form. */
  unreadable?(what: 'record' | 'checkpoint' | 'fence' | 'world'): void;
}

export interface HostParts extends Ambient {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly replica: string;
  readonly metrics: HostMetrics;
  /** Absent: tracing is off. */
  readonly tracing?: Tracing | undefined;
  /** The charts of the durable kinds. */
  readonly steppers: ReadonlyMap<string, Stepper>;
  /** The effects of the charts, by type. */
  readonly effects: ReadonlyMap<string, EffectDeclaration>;
  /** Called after each saved step, with the saved context. */
  readonly onStep?: (transition: Transition, context: unknown) => void;
  readonly runEffect: (effect: EffectData, run: EffectContext) => Promise<PlainEvent>;
  /** The shard in which an actor lives, and the mail of a shard. */
  readonly homes: Homes;
  /** The pace at which actors of loaded features may step. */
  readonly paces: Paces;
  /** How code of loaded features is called; by default directly. */
  readonly care?: Care;
  /** Kinds of features that only other replicas have or had: mail to their actors is not ours. */
  readonly elsewhere: () => ReadonlySet<string>;
  /** Whether the world has the object after which an actor is named. */
  readonly isInWorld: (name: ActorName) => boolean;
  /** Which messages actors accept from outside. */
  readonly admission: Admission;
  /** When a replica whose actors send over `send` was last heard, ms since the epoch; 0: never. */
  readonly earlierHeardAt: () => number;
}

/** What the host reports to its owner. */
export interface HostListener {
  /** A save showed that another replica owns the shard, or that nothing can be saved in it. */
  fenced(run: ShardRun): void;
  /** A message created an actor, which has not been told what the world says of it. */
  born(run: ShardRun, id: ActorId): void;
  /** Mail that was turned away by a full mailbox may be read again now. */
  room(run: ShardRun): void;
  /** The actor could not take its observation and has to be told again. */
  untold(id: ActorId): void;
}
