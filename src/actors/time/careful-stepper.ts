/**
 * Steps a chart of a loaded feature with the care that the feature needs (care.ts). The chart's `tell` is
 * charged to the feature's share (pace.ts) but does not wait: a list asks thousands of actors at once.
 */
import type { Chart } from '../../machines/chart.ts';
import type { Stepper } from '../host/step.ts';
import type { Care } from './care.ts';
import { heldBack, type Pace } from './pace.ts';

export function carefulStepper(stepper: Stepper, feature: string, care: Care, pace: Pace): Stepper {
  const chart = carefulChart(stepper.chart, feature, care, pace);
  const { name } = chart;
  return {
    ...stepper,
    chart,
    begin: (input, event) => care.run(feature, `${name}: ${event.type}`, () => stepper.begin(input, event)),
    step: (snapshot, event) =>
      care.run(feature, `${name}: ${event.type}`, () => stepper.step(snapshot, event)),
    restore: (persisted, version) =>
      care.run(feature, `${name}: migrations`, () => stepper.restore(persisted, version)),
    deadlinesOf: (snapshot, stamp) =>
      care.run(feature, `${name}: delays`, () => stepper.deadlinesOf(snapshot, stamp)),
  };
}

function carefulChart(chart: Chart, feature: string, care: Care, pace: Pace): Chart {
  const of = <A extends unknown[], R>(what: string, work: ((...args: A) => R) | undefined) =>
    work && ((...args: A) => care.run(feature, `${chart.name}: ${what}`, () => work(...args)));
  const { tell, merge, patience, quiet, deferrable } = chart;
  const told = of('tell', tell);
  return {
    ...chart,
    ...(told
      ? {
          tell: (standing) =>
            pace.isOverdrawn() ? { text: heldBack(feature) } : pace.charge(() => told(standing)),
        }
      : {}),
    ...(merge ? { merge: of('merge', merge) } : {}),
    ...(patience ? { patience: of('patience', patience) } : {}),
    ...(quiet ? { quiet: of('quiet', quiet) } : {}),
    ...(deferrable ? { deferrable: of('deferrable', deferrable) } : {}),
  } as Chart;
}
