/**
 * What the parts of the host share: the ports they are handed and the few calls between them.
 */

import type { Clock } from '../../base/clock.ts';
import type { ActorId } from '../../base/ids.ts';
import type { Random } from '../../base/random.ts';
import type { TraceContext, Tracing } from '../../base/tracing.ts';
import type { Transition } from '../../base/views.ts';
import type { Bus } from '../../bus/bus.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { Origin } from '../../features/proxiers/admission-proxier.ts';
import type { ShardRun } from '../shards/shard-run.ts';
import type { EffectData, Stepper } from './step.ts';

/** What is logged and counted; the composition root hands in the real ones. */
export interface HostLog {
  debug(facts: object, message: string): void;
  /** Whether `debug` writes anything: lines that are made for each step ask first. */
  isDebug?(): boolean;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

export interface HostMetrics {
  transition(kind: string): void;
  stepSeconds(seconds: number): void;
  effect(type: string, outcome: 'done' | 'failed' | 'timed_out' | 'aborted'): void;
  deadLetter(reason: string): void;
}

export interface EffectRun {
  readonly key: string;
  readonly actor: ActorId;
  readonly signal: AbortSignal;
  readonly emit: (event: PlainEvent) => void;
  /** Of the effect's span, where traces are wanted. */
  readonly trace?: TraceContext | undefined;
}

export type PlainEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface HostPorts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly replica: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: HostLog;
  readonly metrics: HostMetrics;
  /** Absent: no traces are wanted. */
  readonly tracing?: Tracing | undefined;
  /** The charts of the durable kinds. */
  readonly steppers: ReadonlyMap<string, Stepper>;
  /** Event types that bring an actor of the kind into being. */
  readonly creators: ReadonlyMap<string, ReadonlySet<string>>;
  /** The event that stands for two of an actor that wait one behind the other; null if each is a step of its own. */
  readonly join?: (waiting: PlainEvent, next: PlainEvent) => PlainEvent | null;
  /** Called after each saved step, with the context that the step was saved with. */
  readonly onStep?: (transition: Transition, context: unknown) => void;
  /** Runs one effect to its outcome. */
  readonly runEffect: (effect: EffectData, run: EffectRun) => Promise<PlainEvent>;
  /** The outcome of an effect that threw or ran out of time. */
  readonly failureOf: (effect: EffectData, message: string) => PlainEvent;
  /** Longest time that an effect may take, ms. */
  readonly effectTimeoutMs: (effect: EffectData) => number;
  /** Whether a message from the mail may reach an actor of the kind, or why not. @throws OrreryError MESSAGE_UNKNOWN_EVENT */
  readonly admit: (kind: string, event: PlainEvent, origin: Origin) => PlainEvent;
}

/** What the host tells its owner. */
export interface HostListener {
  /** A save showed that another replica owns the shard, or nothing can be saved in it. */
  fenced(run: ShardRun): void;
  /** An actor was brought into being by a message: it has not been told what the world says of it. */
  born(run: ShardRun, id: ActorId): void;
  /** Mail was turned away because a mailbox was full, and may be read again now. */
  room(run: ShardRun): void;
  /** The actor could not take what the world says of it: it is to be told anew. */
  untold(id: ActorId): void;
}
