/**
 * A chart as the engine takes it: the statechart, its version, its effects, and the migrations of records of
 * earlier versions.
 */
import type { AnyStateMachine } from 'xstate';
import { attempt } from '../base/errors.ts';
import type { ActorName } from '../base/ids.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import type { AnyEffect, EffectDeclaration } from './effect.ts';
import type { Standing, Tell } from './tell.ts';

/** In which a message would create an actor. */
export interface Circumstances {
  /** Actors of the kind in its shard. */
  readonly alike: number;
  /** The world has the object of that name. */
  readonly isInWorld: boolean;
}

export interface Chart {
  /** The kind of its actors. */
  readonly name: string;
  /** The short form for people, as for a Kubernetes resource: `po`. */
  readonly shortName?: string;
  /** Increases with each changed state name or context field. */
  readonly version: number;
  /** One sentence: the purpose of an actor of this kind. */
  readonly description: string;
  readonly machine: AnyStateMachine;
  /** Durable: an actor with a record, owned by shard. Otherwise: part of a replica's own life, in memory. */
  readonly durable: boolean;
  /** Events that create a durable actor. */
  readonly createdBy: readonly string[];
  /**
   * Why a message may not create an actor of this name; null: it may. Absent: it may create any.
   */
  readonly refuses?: (name: ActorName, circumstances: Circumstances) => string | null;
  /**
   * Its actors live in the shard of the one replica that leads, not in the shards that all replicas share.
   */
  readonly led?: true;
  /** Every effect that the chart can request. */
  readonly effects: readonly EffectDeclaration[];
  /** From each version to the next; one step for each version that the chart ever had. Pure. */
  readonly migrations?: Readonly<Record<number, Migration>>;
  /** The form of its contexts in records; by default unchanged. */
  readonly form?: ContextForm;
  /** Merges two consecutive waiting events into one; null: they cannot be merged. Absent: they never are. */
  readonly merge?: (waiting: PlainEvent, next: PlainEvent) => PlainEvent | null;
  /**
   * How long the events waiting for the actor may wait for others, ms, so that one step takes them all; 0:
   * process them now. Called again with each new event. Pure.
   */
  readonly patience?: (standing: Waiting, events: readonly PlainEvent[]) => number;
  /**
   * It counts in real time: its actors learn that the clock was set (`clock.leapt`) before any other event.
   */
  readonly leaps?: true;
  /** Steps that are saved but not reported: nothing changed except when something was last heard. Pure. */
  readonly quiet?: (step: QuietStep) => boolean;
  /**
   * Those of the quiet steps that need not be saved at once. They are lost if the replica dies: the chart
   * must bound that loss and repair it when it learns that the actor has moved (`Stamp.moved`). Pure.
   */
  readonly deferrable?: (step: DeferrableStep) => boolean;
  /** Its actors learn that they have moved since their last step (`Stamp.moved`). */
  readonly moves?: true;
  /**
   * Whether somebody should look at the actor in whatever state it is, by its context as it is in the record:
   * it is `wrong` then. It knows no time, so that only a step changes it
   * (docs/decisions/0006-reasons.md). Pure.
   */
  readonly needsLook?: (context: unknown) => boolean;
  /** Why an actor stands as it does, in one sentence, with facts; default: the description of its state. */
  readonly tell?: Tell<unknown>;
  /** Further lines for `orrery explain`, from the actor's context. */
  readonly explain?: (context: unknown) => readonly string[];
}

/** Two forms of a context: the chart's own, and a smaller one without default values. */
export interface ContextForm {
  slim(context: unknown): unknown;
  /** Returns a context that is already whole unchanged. */
  whole(slim: unknown): unknown;
}

/** An actor with waiting events. */
export type Waiting = Pick<Standing, 'states' | 'context'>;

/** A step of an existing actor. */
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

/** A step that would be kept in memory only. */
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
 * Pure. The stored state is not rewritten until the actor's next step is saved. A deadline follows its state,
 * whatever the state and the delay are called now; a state without one gets a deadline that counts from
 * loading (time/deadlines.ts).
 */
export type Migration = (stored: StoredState) => StoredState;

/** @throws Error if a step is missing: the record cannot be loaded */
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

/** The same for display: a version without a migration is shown unchanged. */
export function asOfNow<S extends StoredState>(chart: Chart, stored: S, from: number): S {
  if (from > chart.version || (from === chart.version && chart.form === undefined)) return stored;
  return attempt(() => migrate(chart, stored, from), stored);
}

/** The state of that alone, in the terms of the present chart. */
export function stateOfNow(chart: Chart, stored: StoredState, from: number): unknown {
  return from >= chart.version ? stored.value : asOfNow(chart, stored, from).value;
}
