/**
 * What must hold for every chart, whatever it is for. A machine that is registered without a sample fails
 * here.
 */
import { describe, expect, test } from 'vitest';
import type { Chart } from '../../src/machines/chart.ts';
import { machines } from '../chart-of.ts';
import { furtherSamples, type Sample, samples } from './samples.ts';
import { declaredStates, type Situation, stepCopy, type Walk, walk } from './walk.ts';

const charts = Object.values(machines);

test.each(charts.map((chart) => [chart.name, chart] as const))(
  '%s: every state is reachable',
  (_, chart) => {
    const states = walks(chart).flatMap((one) => [...one.states]);
    expect(declaredStates(chart).filter((path) => !states.includes(path))).toEqual([]);
  },
  60_000,
);

test.each(charts.map((chart) => [chart.name, chart] as const))(
  '%s: every state that waits has a deadline (I4)',
  (_, chart) => {
    const situations = walks(chart).flatMap((one) => one.situations);
    const endless = situations.flatMap((situation) => endlessStates(situation));
    expect([...new Set(endless)]).toEqual([]);
  },
);

test.each(charts.map((chart) => [chart.name, chart] as const))(
  '%s: persisting and restoring between any two steps changes nothing',
  (_, chart) => {
    for (const { situations, stepper, events } of walks(chart)) {
      for (const { snapshot } of situations.filter((one) => one.snapshot.status === 'active').slice(0, 400)) {
        for (const event of events) {
          const direct = stepper.persist(
            stepper.step(snapshot, { ...event, at: 1_700_000_000_000, random: 0.5 }).snapshot,
          );
          expect(stepCopy(stepper, snapshot, event)).toEqual(JSON.parse(JSON.stringify(direct)));
        }
      }
    }
  },
);

describe.each(charts.map((chart) => [chart.name, chart] as const))('%s', (_, chart) => {
  test('every state has a description that people read', () => {
    const undescribed: string[] = [];
    const look = (config: { description?: string; states?: Record<string, never> }, path: string) => {
      if (path !== '' && !config.description) undescribed.push(path);
      for (const [name, child] of Object.entries(config.states ?? {})) look(child, `${path}/${name}`);
    };
    look(chart.machine.config as never, '');
    expect(undescribed).toEqual([]);
  });

  test('an event that nobody knows changes nothing', () => {
    for (const { situations, stepper } of walks(chart)) {
      for (const { snapshot } of situations.slice(0, 200)) {
        if (snapshot.status !== 'active') continue;
        const result = stepper.step(snapshot, { type: 'never.heard.of', at: 0, random: 0 });
        expect(result.changed).toBe(false);
      }
    }
  });
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

function samplesOf(chart: Chart): readonly Sample[] {
  const sample = samples[chart.name];
  if (!sample) throw new Error(`add a sample for the ${chart.name} chart to test/machines/samples.ts`);
  return [sample, ...(furtherSamples[chart.name] ?? [])];
}

/**
 * Atomic states that are active, are not tagged as settled and have no armed deadline of their own or of a
 * parent.
 */
function endlessStates({ snapshot, timers, path }: Situation): string[] {
  if (snapshot.status !== 'active') return [];
  const armed = [...timers.values()].map((type) => type.replace(/^xstate\.after\.[^.]+\./, ''));
  return snapshot._nodes.flatMap((node) => {
    if (node.type !== 'atomic' || node.tags.includes('settled')) return [];
    const isBounded = armed.some((owner) => node.id === owner || node.id.startsWith(`${owner}.`));
    return isBounded ? [] : [`${node.id} after ${path.slice(-3).join(', ')}`];
  });
}
