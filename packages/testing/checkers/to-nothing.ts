/**
 * Deadlines that come to nothing: the actor is told, no transition follows, and so no step is saved that
 * would take the deadline out of the record. Housekeeping does that, when it finds the actor a second at
 * rest.
 */
import type { ActorRecord, TimerRecord } from '../../../src/actors/host/records.ts';
import { createStepper, isNothing, type Stepper } from '../../../src/actors/host/step.ts';
import { attempt } from '../../../src/base/errors.ts';
import type { Chart } from '../../../src/machines/chart.ts';
import { slowness } from '../time/sim-clock.ts';

/**
 * Until what an actor is done with has left its record, ms: housekeeping comes each second, in peace its time
 * goes slowly, and the first may find the actor not yet at rest.
 */
export const tidyMs = 2 * slowness * 1_000;

/** @returns how long a deadline may stand in the record after its time, ms */
export function tidyTimes(charts: readonly Chart[]) {
  const steppers = new Map<string, Stepper>();
  return (record: ActorRecord, { event }: TimerRecord, now: number): number => {
    const chart = charts.find(({ name }) => name === record.machine);
    if (chart === undefined) return 0;
    // Few deadlines are ever so late, so few charts are asked.
    const stepper = steppers.get(chart.name) ?? createStepper(chart);
    steppers.set(chart.name, stepper);
    // A step that fails parks the actor, which is something.
    return attempt(() => {
      const stamped = { ...event, at: now, random: 0.5 };
      return isNothing(stepper.step(stepper.restore(record.snapshot, record.version), stamped)) ? tidyMs : 0;
    }, 0);
  };
}
