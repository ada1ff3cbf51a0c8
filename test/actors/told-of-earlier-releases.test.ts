/** What people are told of an actor whose record an earlier release wrote, before its next step. */
import { describe, expect, test } from 'vitest';
import { createAdmission } from '../../src/actors/admission.ts';
import { standingOf } from '../../src/actors/control/actor-views.ts';
import { createCell } from '../../src/actors/host/cell.ts';
import type { ShardRun } from '../../src/actors/host/owned.ts';
import { createStepper, stateText } from '../../src/actors/host/step.ts';
import { stateWords } from '../../src/machines/tell.ts';
import { featuresOf } from '../../src/replica/features.ts';
import { machines } from '../chart-of.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { actorsOf, releases } from './recorded.ts';

const durable = Object.values(machines).filter((chart) => chart.durable);
const admission = createAdmission(featuresOf().flatMap(({ kinds }) => kinds));

describe.each(releases)('records of %s', (release) => {
  test.each(durable.map((chart) => [chart.name, chart] as const))(
    '%s: in the words of the state in which it is taken up',
    (kind, chart) => {
      const stepper = createStepper(chart);
      for (const { id, data, record } of actorsOf(release, kind)) {
        if (record.gone) continue;
        const cell = createCell(id, { shard: 0, fence: 1 } as ShardRun, data);
        const view = standingOf({ stepper, clock: new VirtualClock(), admission }, cell, record, 'a');
        const state = stateText(stepper.restore(record.snapshot, record.version).value);
        expect(view.meaning.map(({ description }) => description)).toContain(stateWords(chart, state).text);
        expect(view.reason.health).toBe(stateWords(chart, state).health);
        expect(view.reason.text).not.toBe(stateText(record.snapshot.value));
      }
    },
  );
});
