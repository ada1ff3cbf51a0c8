/**
 * One event taken by one chart: with machines/quicken.ts, all that knows xstate's internals.
 *
 * Owns how a machine is started, stepped, persisted and restored, and how its requested actions are sorted
 * into timers and effects. Pure: it executes nothing and reads no clock (I7). It calls `machine.transition`
 * with one shared scope that only collects actions (the public `transition()` creates an actor for each call,
 * three times as slow). An event that the chart ignores returns the same snapshot object. Absent: spawned and
 * invoked children, migrations of old records (the chart's), saving.
 */
import { type AnyActorScope, type AnyMachineSnapshot, type AnyStateNode, createActor } from 'xstate';
import { asError, invariant, OrreryError, placeOf } from '../../base/errors.ts';
import { type Chart, migrate } from '../../machines/chart.ts';
import { nodesBelow, quickened } from '../../machines/quicken.ts';

/** An event as the machine receives it: the fact and the host's stamp. */
export interface StampedEvent {
  readonly type: string;
  readonly at: number;
  readonly random: number;
  readonly [field: string]: unknown;
}

/**
 * The timers that a chart set or cancelled, in order. Order matters: a state that is re-entered cancels its
 * timer, then sets it again.
 */
export type TimerChange =
  | {
      readonly kind: 'set';
      readonly id: string;
      readonly event: { readonly type: string };
      readonly delayMs: number;
    }
  | { readonly kind: 'cancel'; readonly id: string };

export interface EffectData {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface StepResult {
  readonly snapshot: Snapshot;
  /** false: the chart ignored the event; nothing has to be saved. */
  readonly changed: boolean;
  /** The chart reached its final state. */
  readonly done: boolean;
  readonly timers: readonly TimerChange[];
  readonly effects: readonly EffectData[];
}

/** Whether nothing has to be saved: the chart ignored the event. */
export const isNothing = ({ changed, effects, timers }: StepResult): boolean =>
  !changed && effects.length === 0 && timers.length === 0;

/** A deadline (`after`) of a state. */
export interface Deadline {
  /** Id of its timer, and type of its event. */
  readonly id: string;
  /** xstate's id of the state, prefixed with the chart's. */
  readonly state: string;
  /** Its key in `after`. */
  readonly delay: string;
  /** Counted from the event; null: the chart cannot compute it. */
  readonly delayMs: number | null;
}

/** A live snapshot; opaque outside this file. */
export type Snapshot = AnyMachineSnapshot;

/** A snapshot as plain data, as stored in a record. */
export interface PersistedSnapshot {
  readonly value: unknown;
  readonly context: unknown;
  readonly historyValue?: unknown;
}

export interface Stepper {
  readonly chart: Chart;
  /**
   * Starts a new actor and lets it take its first event, in one step.
   *
   * @param input the chart's input; for durable actors their id, namespace and name
   * @throws OrreryError INVARIANT if the chart fails
   */
  begin(input: object, event: StampedEvent): StepResult;
  /** @throws OrreryError INVARIANT if the chart fails; the snapshot is unchanged then */
  step(snapshot: Snapshot, event: StampedEvent): StepResult;
  persist(snapshot: Snapshot): PersistedSnapshot;
  /**
   * @param version of the chart that persisted it, not later than the present one
   * @throws OrreryError ACTOR_PARKED if the chart does not have the state
   */
  restore(persisted: PersistedSnapshot, version: number): Snapshot;
  readonly deadlineIds: ReadonlySet<string>;
  /** The deadlines of the active states, as if they were entered now. */
  deadlinesOf(
    snapshot: Snapshot,
    stamp: { readonly at: number; readonly random: number },
  ): readonly Deadline[];
}

/**
 * Collects the actions that the chart declares as effects; any other custom action is an INVARIANT error.
 */
export function createStepper(chart: Chart): Stepper {
  const { machine } = chart;
  const effectTypes = new Set(chart.effects.map(({ type }) => type));
  const collected: CollectedAction[] = [];
  const scope = collectingScope(chart, collected);
  const transition = quickened(machine);

  const run = (before: Snapshot | null, next: () => Snapshot): StepResult => {
    collected.length = 0;
    const snapshot = guardFailure(chart, next);
    const { timers, effects } = sort(chart, collected, effectTypes);
    return { snapshot, changed: snapshot !== before, done: snapshot.status === 'done', timers, effects };
  };

  return {
    chart,
    begin: (input, event) =>
      run(null, () => {
        const initial = machine.getInitialSnapshot(scope, input) as Snapshot;
        return initial.status === 'active' ? transition(initial, event, scope) : initial;
      }),
    step: (snapshot, event) => run(snapshot, () => transition(snapshot, event, scope)),
    persist(snapshot) {
      // Contexts are plain and charts spawn nothing, so the deep walk of getPersistedSnapshot is only needed
      // for history.
      const { value, context: whole, historyValue } = snapshot;
      const context = chart.form === undefined ? whole : chart.form.slim(whole);
      if (Object.keys(historyValue).length === 0) return { value, context };
      const persisted = machine.getPersistedSnapshot(snapshot) as unknown as PersistedSnapshot;
      return { value, context, historyValue: persisted.historyValue };
    },
    restore(persisted, version) {
      return guardRestore(chart, () => {
        const { value, context, historyValue = {} } = migrate(chart, persisted, version);
        // xstate walks the whole context for actors that it had spawned; charts spawn none.
        const state = { value, context: {}, historyValue, children: {} };
        const whole = { ...state, status: 'active', output: undefined, error: undefined };
        return { ...machine.restoreSnapshot(whole as never, scope), context } as Snapshot;
      });
    },
    deadlineIds: new Set(nodesBelow(machine.root).flatMap((node) => deadlinesIn(node).map(({ id }) => id))),
    deadlinesOf: ({ _nodes, context }, stamp) =>
      _nodes.flatMap((node) =>
        deadlinesIn(node).map((deadline) => ({
          ...deadline,
          delayMs: delayOf(machine, deadline.delay, { context, event: { ...stamp, type: 'actor.taken-up' } }),
        })),
      ),
  };
}

/** In xstate's terms. */
function deadlinesIn({ id: state, config }: AnyStateNode): ReadonlyArray<Omit<Deadline, 'delayMs'>> {
  return Object.keys(config.after ?? {}).map((key) => {
    const delay = Number.isNaN(Number(key)) ? key : String(Number(key));
    return { id: `xstate.after.${delay}.${state}`, state, delay };
  });
}

/** A delay that depends on the event that enters its state can fail on this event, which enters none. */
function delayOf(machine: Chart['machine'], delay: string, moment: object): number | null {
  const meaning: unknown = machine.implementations.delays[delay] ?? Number(delay);
  try {
    const delayMs: unknown = typeof meaning === 'function' ? meaning(moment) : meaning;
    return typeof delayMs === 'number' && Number.isFinite(delayMs) ? Math.max(0, Math.round(delayMs)) : null;
  } catch {
    return null;
  }
}

/** A state's value as text: `proving`, `marking.patching`, parallel regions joined by commas. */
export function stateText(value: unknown): string {
  if (typeof value === 'string') return value;
  const known = texts.get(value as object);
  if (known !== undefined) return known;
  const parts: string[] = [];
  addStates(value as Record<string, unknown>, '', parts);
  const text = parts.join(',');
  texts.set(value as object, text);
  return text;
}

/** A snapshot keeps its value until its state changes. */
const texts = new WeakMap<object, string>();

/** For each region, the innermost state prefixed with its parents. */
function addStates(value: Readonly<Record<string, unknown>>, path: string, parts: string[]): void {
  for (const [key, child] of Object.entries(value)) {
    if (typeof child === 'string') parts.push(child === '' ? `${path}${key}` : `${path}${key}.${child}`);
    else if (isEmpty(child)) parts.push(`${path}${key}`);
    else addStates(child as Record<string, unknown>, `${path}${key}.`, parts);
  }
}

const isEmpty = (value: unknown) => Object.keys(value as object).length === 0;

interface CollectedAction {
  readonly type: string;
  readonly params: unknown;
}

function collectingScope(chart: Chart, collected: CollectedAction[]): AnyActorScope {
  const self = createActor(chart.machine, { input: { id: '', namespace: '', name: '' } });
  const nothing = () => {};
  return {
    self,
    id: '',
    sessionId: '',
    system: self.system,
    logger: nothing,
    defer: nothing,
    emit: nothing,
    stopChild: nothing,
    actionExecutor: (action: CollectedAction) => {
      collected.push(action);
    },
  } as unknown as AnyActorScope;
}

function guardFailure(chart: Chart, next: () => Snapshot): Snapshot {
  let snapshot: Snapshot;
  try {
    snapshot = next();
  } catch (error) {
    throw failureOf(chart, error);
  }
  if (snapshot.status === 'error') throw failureOf(chart, snapshot.error);
  return snapshot;
}

function failureOf({ name }: Chart, cause: unknown): OrreryError {
  const error = asError(cause);
  return new OrreryError('INVARIANT', `the ${name} chart failed: ${error.message}${placeOf(error)}`, {
    cause,
  });
}

function guardRestore(chart: Chart, restore: () => Snapshot): Snapshot {
  try {
    const snapshot = restore();
    if (snapshot.status !== 'error') return snapshot;
    throw snapshot.error;
  } catch (error) {
    throw new OrreryError(
      'ACTOR_PARKED',
      `the ${chart.name} chart has no such state: ${asError(error).message}`,
      {
        cause: error,
      },
    );
  }
}

function sort(chart: Chart, collected: readonly CollectedAction[], effectTypes: ReadonlySet<string>) {
  const timers: TimerChange[] = [];
  const effects: EffectData[] = [];
  for (const { type, params } of collected) {
    if (type === 'xstate.raise') {
      const { id, event, delay } = params as { id: string; event: { type: string }; delay?: number };
      if (delay !== undefined) timers.push({ kind: 'set', id: id ?? event.type, event, delayMs: delay });
    } else if (type === 'xstate.cancel') {
      timers.push({ kind: 'cancel', id: (params as { sendId: string }).sendId });
    } else {
      invariant(effectTypes.has(type), 'a chart asks only for effects that exist', {
        chart: chart.name,
        action: type,
      });
      effects.push({ ...(params as object), type });
    }
  }
  return { timers, effects };
}
