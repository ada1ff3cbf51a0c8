/**
 * What must hold for every chart, whatever it is for. A machine that is registered without a sample fails
 * here.
 */
import { expect, test } from 'vitest';
import {
  endless,
  movedDifferently,
  type Sample,
  takesAnything,
  unreached,
} from '../../packages/testing/charts/findings.ts';
import { type Walk, walk } from '../../packages/testing/charts/walk.ts';
import type { Chart } from '../../src/machines/chart.ts';
import { undescribed } from '../../src/machines/state-names.ts';
import { machines } from '../chart-of.ts';
import { furtherSamples, samples } from './samples.ts';

const charts = Object.values(machines).map((chart) => [chart.name, chart] as const);

test.each(charts)(
  '%s: every state is reachable',
  (_, chart) => {
    expect(unreached(chart, walks(chart))).toEqual([]);
  },
  60_000,
);

test.each(charts)('%s: every state that waits has a deadline (I4)', (_, chart) => {
  expect(walks(chart).flatMap(endless)).toEqual([]);
});

test.each(charts)('%s: persisting and restoring between any two steps changes nothing', (_, chart) => {
  expect(walks(chart).flatMap((one) => movedDifferently(one, one.events))).toEqual([]);
});

test.each(charts)('%s: every state has a description that people read', (_, chart) => {
  expect(undescribed(chart)).toEqual([]);
});

test.each(charts)('%s: an event that nobody knows changes nothing', (_, chart) => {
  expect(walks(chart).flatMap(takesAnything)).toEqual([]);
});

type SampledWalk = Walk & Pick<Sample, 'events'>;
const known = new Map<string, readonly SampledWalk[]>();

function walks(chart: Chart): readonly SampledWalk[] {
  const made =
    known.get(chart.name) ??
    samplesOf(chart).map(({ input, events, situationsMax }) => ({
      ...walk(chart, input, events, situationsMax),
      events,
    }));
  known.set(chart.name, made);
  return made;
}

function samplesOf(chart: Chart) {
  const sample = samples[chart.name];
  if (!sample) throw new Error(`add a sample for the ${chart.name} chart to test/machines/samples.ts`);
  return [sample, ...(furtherSamples[chart.name] ?? [])];
}
