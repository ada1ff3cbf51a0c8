/**
 * A chart as the engine takes it: the statechart itself, its version, the effects that it asks for, and what
 * has to be done to records of its earlier versions.
 */
import type { AnyStateMachine } from 'xstate';
import { attempt } from '../base/errors.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import type { AnyEffect, EffectDeclaration } from './effect.ts';
import type { Standing, Tell } from './tell.ts';

export interface Chart {
  /** The kind of its actors. */
  readonly name: string;
  /** What people type for it, as for a Kubernetes resource: `po`. */
  readonly shortName?: string;
  /** Grows with each changed name of a state or field of the context. */
  readonly version: number;
  /** One sentence: what an actor of this kind is for. */
  readonly description: string;
  readonly machine: AnyStateMachine;
  /**
   * Durable: an actor with a record, owned by shard. Otherwise a part of a replica's own life, kept in
   * memory.
   */
  readonly durable: boolean;
  /** Events that bring a durable actor into being. */
  readonly createdBy: readonly string[];
  /** Its actors live in the shard of the one replica that leads, not in those that are dealt out over all. */
  readonly led?: true;
  /** Every effect that the chart can ask for. */
  readonly effects: readonly EffectDeclaration[];
  /**
   * From the version under which a record stands to the next; one step for each version that the chart ever
   * had. Pure.
   */
  readonly migrations?: Readonly<Record<number, Migration>>;
  /** How its contexts stand in records; absent: as they are. */
  readonly form?: ContextForm;
  /**
   * The one event that stands for two that wait one behind the other; null: each is taken for itself. Absent:
   * each always is.
   */
  readonly merge?: (waiting: PlainEvent, next: PlainEvent) => PlainEvent | null;
  /**
   * How long events that wait for the actor may wait for others, ms, so that one step takes them all; 0: the
   * actor has to know. It is asked again with each event that comes. Pure.
   */
  readonly patience?: (standing: Waiting, events: readonly PlainEvent[]) => number;
  /**
   * It counts in real time: its actors are told of a clock that was set (`clock.leapt`), before anything
   * else.
   */
  readonly leaps?: true;
  /**
   * Steps that are saved and not told: nothing is different for anybody but when something was heard of last.
   * Pure.
   */
  readonly quiet?: (step: QuietStep) => boolean;
  /**
   * Of those, steps that need not even be saved at once. When the replica dies they are lost: the chart must
   * bound what that is, and make it good when it is told that the actor has moved (`Stamp.moved`). Pure.
   */
  readonly deferrable?: (step: DeferrableStep) => boolean;
  /** Its actors are told of it when they have moved since their last step (`Stamp.moved`). */
  readonly moves?: true;
  /** Why an actor stands as it stands, in one sentence, with facts; absent: the description of its state. */
  readonly tell?: Tell<unknown>;
  /** What a person should know of an actor beside its state, from its context: lines for `orrery explain`. */
  readonly explain?: (context: unknown) => readonly string[];
}

/** Two forms of one context: the chart's own, and a smaller one without what goes without saying. */
export interface ContextForm {
  slim(context: unknown): unknown;
  /** Takes a whole one as it is. */
  whole(slim: unknown): unknown;
}

/** An actor while events wait for it. */
export type Waiting = Pick<Standing, 'states' | 'context'>;

/** A step of an actor that was there before. */
export interface QuietStep {
  /** States as text. */
  readonly from: string;
  readonly to: string;
  readonly event: PlainEvent;
  readonly effects: readonly AnyEffect[];
  /** Contexts. */
  readonly before: unknown;
  readonly after: unknown;
}

/** A step that would only be kept in memory. */
export interface DeferrableStep extends QuietStep {
  /** The context as it is stored. */
  readonly saved: unknown;
}

/** The part of a record that belongs to the chart. */
export interface StoredState {
  readonly value: unknown;
  readonly context: unknown;
}

/**
 * Pure. The stored state stays as it is until the actor's next step is saved. A deadline goes along with its
 * state, whatever the state and the delay are called now; a state that had none gets one that counts from
 * when the actor is taken up (time/deadlines.ts).
 */
export type Migration = (stored: StoredState) => StoredState;

/** @throws Error if a step is missing: the record cannot be taken up */
export function migrate<S extends StoredState>(
  { version, migrations = {}, form }: Chart,
  stored: S,
  from: number,
): S {
  let state = stored;
  for (let at = from; at < version; at++) {
    const step = migrations[at];
    if (step === undefined) throw new Error(`no step leads on from version ${at}`);
    state = { ...state, ...step(state) };
  }
  return form === undefined ? state : { ...state, context: form.whole(state.context) };
}

/** The same for those who only look: what no step leads on from is shown as it is. */
export function asOfNow<S extends StoredState>(chart: Chart, stored: S, from: number): S {
  if (from > chart.version || (from === chart.version && chart.form === undefined)) return stored;
  return attempt(() => migrate(chart, stored, from), stored);
}

/** Of that the state alone, in the words of the present chart. */
export function stateOfNow(chart: Chart, stored: StoredState, from: number): unknown {
  return from >= chart.version ? stored.value : asOfNow(chart, stored, from).value;
}
