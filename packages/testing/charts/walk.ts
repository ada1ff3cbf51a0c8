/**
 * Walks a chart's graph: from the beginning, tries every event of a sample and every armed deadline in every
 * situation that it reaches, breadth first, up to a bound. The caller gets what was reached and checks it.
 */
import { getMicrosteps } from 'xstate';
import { createStepper, type Snapshot, type Stepper } from '../../../src/actors/host/step.ts';
import type { Chart } from '../../../src/machines/chart.ts';

export interface Situation {
  readonly snapshot: Snapshot;
  /** Events of the armed deadlines, by timer id. */
  readonly timers: ReadonlyMap<string, string>;
  /** Types of the effects that wait for an outcome on the path; for messages of failures. */
  readonly path: readonly string[];
}

export interface Walk {
  readonly situations: readonly Situation[];
  /** Dotted paths of every state that was ever active. */
  readonly states: ReadonlySet<string>;
  readonly stepper: Stepper;
}

export type SampleEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** @param situationsMax bound on the walk; all states are reached long before */
export function walk(
  chart: Chart,
  input: object,
  events: readonly SampleEvent[],
  situationsMax = 2_000,
): Walk {
  const stepper = createStepper(chart);
  const seen = new Map<string, Situation>();
  const states = new Set<string>();
  const queue: Situation[] = [];
  const visit = (situation: Situation) => {
    const key = JSON.stringify([stepper.persist(situation.snapshot), [...situation.timers.keys()].sort()]);
    for (const { path } of situation.snapshot._nodes) states.add(path.join('.'));
    if (seen.has(key) || seen.size >= situationsMax) return;
    seen.set(key, situation);
    if (situation.snapshot.status === 'active') queue.push(situation);
  };
  const missing = new Set(declaredStates(chart));
  for (const event of events) visit(after(stepper, null, event, input));
  const passed = new Set<string>();
  // Hardly ever do two steps of the same event between the same states pass through different ones; and they
  // cost more to replay than to take.
  const pass = (from: Situation, event: SampleEvent, to: Situation) => {
    const key = JSON.stringify([from.snapshot.value, event.type, to.snapshot.value]);
    if (passed.has(key)) return;
    passed.add(key);
    for (const path of passedStates(chart, from, event)) states.add(path);
  };
  const isDone = () => seen.size >= situationsMax && missing.size === 0;
  for (let next = queue.shift(); next && !isDone(); next = queue.shift()) {
    for (const event of [...events, ...timerEvents(next)]) {
      const reached = after(stepper, next, event, input);
      // An ignored event leads nowhere: most are ignored in most situations.
      if (reached === next) continue;
      visit(reached);
      for (const path of states) missing.delete(path);
      if (missing.size > 0) pass(next, event, reached);
    }
  }
  return { situations: [...seen.values()], states, stepper };
}

/** States that a step only passes through. */
function passedStates({ machine }: Chart, { snapshot }: Situation, event: SampleEvent): string[] {
  const microsteps = getMicrosteps(machine, snapshot as never, stamped(event));
  return microsteps.flatMap(([{ _nodes }]) => _nodes.map(({ path }) => path.join('.')));
}

function timerEvents({ timers }: Situation): SampleEvent[] {
  return [...timers.values()].map((type) => ({ type }));
}

export const stamped = (event: SampleEvent) => ({ ...event, at: 1_700_000_000_000, random: 0.5 });

function after(stepper: Stepper, before: Situation | null, event: SampleEvent, input: object): Situation {
  const result =
    before === null ? stepper.begin(input, stamped(event)) : stepper.step(before.snapshot, stamped(event));
  if (before !== null && !result.changed && result.timers.length === 0) return before;
  const timers = new Map(before?.timers);
  for (const change of result.timers) {
    timers.delete(change.id);
    if (change.kind === 'set') timers.set(change.id, change.event.type);
  }
  return { snapshot: result.snapshot, timers, path: [...(before?.path ?? []), event.type] };
}

/** Dotted paths of all states in a chart's configuration. */
export function declaredStates(chart: Chart): string[] {
  const list = (config: { states?: Record<string, unknown> }, prefix: string): string[] =>
    Object.entries(config.states ?? {}).flatMap(([name, child]) => {
      const path = prefix === '' ? name : `${prefix}.${name}`;
      return [path, ...list(child as { states?: Record<string, unknown> }, path)];
    });
  return list(chart.machine.config as { states?: Record<string, unknown> }, '');
}

/** A plain copy of the snapshot, as a replica has it that took the actor over. */
export function copyOf(stepper: Stepper, snapshot: Snapshot): Snapshot {
  return stepper.restore(JSON.parse(JSON.stringify(stepper.persist(snapshot))), stepper.chart.version);
}
