/**
 * I4: "Every wait has a deadline in the record; every effect has an outcome event: done, failed or timed
 * out."
 *
 * In each stored record, every active state that leaves by time has its deadline. Once nothing fails any
 * more, no deadline stays overdue and no effect stays in an outbox longer than it may take.
 */
import { type ActorRecord, isForgotten } from '../../../src/actors/host/records.ts';
import { createStepper, type Stepper } from '../../../src/actors/host/step.ts';
import { charts } from '../../../src/replica/charts.ts';
import type { CheckerKind, Eye } from './checker.ts';

/** For clocks that differ, a shard that was claimed anew, and messages that lag. */
const slackMs = 45_000;

interface Kept {
  readonly record: ActorRecord;
  /** Since when each effect is asked for, world time. */
  readonly since: ReadonlyMap<string, number>;
}

export const deadlines: CheckerKind = {
  name: 'I4',
  create(eye) {
    const steppers = new Map<string, Stepper>();
    const kept = new Map<string, Kept>();
    let calmAt: number | null = null;
    return (sighting) => {
      if (sighting.kind === 'calm') calmAt = eye.now();
      if (sighting.kind === 'second' && calmAt !== null) lookAt(eye, kept, calmAt);
      if (sighting.kind !== 'saved') return;
      const { id, record } = sighting;
      const before = kept.get(id)?.since;
      const since = new Map(record.outbox.map(({ key }) => [key, before?.get(key) ?? eye.now()]));
      kept.set(id, { record, since });
      const lacking = record.gone ? [] : lackingDeadlines(stepperOf(steppers, record.machine), record);
      if (lacking.length > 0)
        eye.breach(`${id} rev ${record.rev} waits without a deadline: ${lacking.join(', ')}`);
    };
  },
};

function lookAt(eye: Eye, kept: ReadonlyMap<string, Kept>, calmAt: number): void {
  const now = eye.now();
  for (const [id, { record, since }] of kept) {
    if (isForgotten(record, now)) continue;
    const overdue = record.timers.find(({ at }) => Math.max(at, calmAt) + slackMs < now);
    if (overdue)
      eye.breach(`${id} rev ${record.rev}: the deadline ${overdue.id} is ${now - overdue.at} ms over`);
    const stuck = record.outbox.find(({ key, effect }) => {
      const asked = Math.max(since.get(key) ?? now, calmAt);
      return asked + timeoutOf(effect) + slackMs < now;
    });
    if (stuck) eye.breach(`${id}: the effect ${stuck.key} (${stuck.effect.type}) has no outcome`);
  }
}

function stepperOf(steppers: Map<string, Stepper>, name: string): Stepper {
  const known = steppers.get(name);
  if (known) return known;
  const chart = charts.find((one) => one.name === name);
  if (!chart) throw new Error(`there is no machine ${name}`);
  const made = createStepper(chart);
  steppers.set(name, made);
  return made;
}

/** Delayed transitions of active states that have no deadline in the record. */
function lackingDeadlines(stepper: Stepper, record: ActorRecord): string[] {
  const armed = new Set(record.timers.map(({ id }) => id));
  return activeDelays(stepper, record).filter((id) => !armed.has(id));
}

/** What leaves a state by time is the same whatever the actor knows: it is looked up once for each state. */
const delaysOf = new Map<string, readonly string[]>();

function activeDelays(stepper: Stepper, { machine, version, snapshot }: ActorRecord): readonly string[] {
  const state = `${machine} ${version} ${JSON.stringify(snapshot.value)}`;
  const known = delaysOf.get(state);
  if (known) return known;
  // A settled state waits for nobody; what it looks after once, it does not look after again.
  const nodes = stepper.restore(snapshot, version)._nodes.filter(({ tags }) => !tags.includes('settled'));
  const delays = nodes.flatMap((node) => node.after.map(({ eventType }) => eventType));
  delaysOf.set(state, delays);
  return delays;
}

const declared = new Map(charts.flatMap(({ effects }) => effects.map((one) => [one.type, one] as const)));

function timeoutOf(effect: { readonly type: string }): number {
  return declared.get(effect.type)?.timeoutMs(effect) ?? 0;
}
