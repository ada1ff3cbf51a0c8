/**
 * I4: "Every wait has a deadline in the record; every effect has an outcome event: done, failed or timed
 * out."
 *
 * In each stored record, every active state that leaves by time has its deadline. Once faults have ended, no
 * deadline stays overdue, and no effect stays in an outbox longer than it may take.
 */
import { type ActorRecord, isForgotten } from '../../../src/actors/host/records.ts';
import { createStepper, type Stepper } from '../../../src/actors/host/step.ts';
import type { Chart } from '../../../src/machines/chart.ts';
import type { CheckerKind, Eye } from './checker.ts';
import { createDueTimes, type DueTimes } from './due-times.ts';
import { tidyMs, tidyTimes } from './to-nothing.ts';

/** Allowance for clocks that differ, a shard that was claimed again, and messages that lag. */
const slackMs = 45_000;

interface Kept {
  readonly record: ActorRecord;
  /** Since when each effect has been requested, world time. */
  readonly since: ReadonlyMap<string, number>;
}

/** @param charts of the features that run in the cluster */
export const deadlines = (charts: readonly Chart[]): CheckerKind => ({
  name: 'I4',
  create(eye) {
    const steppers = new Map(charts.map((chart) => [chart.name, createStepper(chart)]));
    const effects = new Map(charts.flatMap((chart) => chart.effects.map((one) => [one.type, one] as const)));
    const tidyOf = tidyTimes(charts);
    const timeoutOf: TimeoutOf = (effect) => effects.get(effect.type)?.timeoutMs(effect) ?? 0;
    const delaysOf = new Map<string, readonly string[]>();
    const kept = new Map<string, Kept>();
    const due = createDueTimes(eye.now);
    let calmAt: number | null = null;
    return (sighting) => {
      if (sighting.kind === 'lost' && sighting.stream === 'state') kept.clear();
      if (sighting.kind === 'calm') calmAt = eye.now();
      if (sighting.kind === 'second' && calmAt !== null)
        lookAt(eye, kept, calmAt, { timeoutOf, tidyOf, due });
      if (sighting.kind !== 'saved') return;
      const { id, record } = sighting;
      due.note(id, record);
      const before = kept.get(id)?.since;
      const since = new Map(record.outbox.map(({ key }) => [key, before?.get(key) ?? eye.now()]));
      kept.set(id, { record, since });
      const stepper = steppers.get(record.machine);
      if (stepper === undefined) return eye.breach(`${id}: nobody knows the machine ${record.machine}`);
      const lacking = record.gone ? [] : lackingDeadlines(delaysOf, stepper, record);
      if (lacking.length > 0)
        eye.breach(`${id} rev ${record.rev} waits without a deadline: ${lacking.join(', ')}`);
    };
  },
});

type TidyOf = ReturnType<typeof tidyTimes>;
type TimeoutOf = (effect: { readonly type: string }) => number;

function lookAt(
  eye: Eye,
  kept: ReadonlyMap<string, Kept>,
  calmAt: number,
  {
    timeoutOf,
    tidyOf,
    due,
  }: { readonly timeoutOf: TimeoutOf; readonly tidyOf: TidyOf; readonly due: DueTimes },
): void {
  const now = eye.now();
  for (const [id, { record, since }] of kept) {
    if (isForgotten(record, now)) continue;
    const overdue = record.timers.find((timer) => {
      const overMs = now - Math.max(due.of(id, timer), calmAt) - slackMs;
      return overMs > 0 && overMs > tidyOf(record, timer, now);
    });
    if (overdue)
      eye.breach(`${id} rev ${record.rev}: the deadline ${overdue.id} is ${now - overdue.at} ms over`);
    const stuck = record.outbox.find(({ key, effect }) => {
      const asked = Math.max(since.get(key) ?? now, calmAt);
      return asked + timeoutOf(effect) + tidyMs + slackMs < now;
    });
    if (stuck) eye.breach(`${id}: the effect ${stuck.key} (${stuck.effect.type}) has no outcome`);
  }
}

/** Delayed transitions of active states that have no deadline in the record. */
function lackingDeadlines(delaysOf: Delays, stepper: Stepper, record: ActorRecord): string[] {
  const armed = new Set(record.timers.map(({ id }) => id));
  return activeDelays(delaysOf, stepper, record).filter((id) => !armed.has(id));
}

/**
 * Which delays end a state does not depend on what the actor knows: they are looked up once for each state.
 */
type Delays = Map<string, readonly string[]>;

function activeDelays(
  delaysOf: Delays,
  stepper: Stepper,
  { machine, version, snapshot }: ActorRecord,
): readonly string[] {
  const state = `${machine} ${version} ${JSON.stringify(snapshot.value)}`;
  const known = delaysOf.get(state);
  if (known) return known;
  // A settled state waits for nobody; it looks once, and not again.
  const nodes = stepper.restore(snapshot, version)._nodes.filter(({ tags }) => !tags.includes('settled'));
  const delays = nodes.flatMap((node) => node.after.map(({ eventType }) => eventType));
  delaysOf.set(state, delays);
  return delays;
}
