/** The quick step gives what xstate gives: each chart, in many situations, takes each event both ways. */
import { expect, test } from 'vitest';
import { assign, transition } from 'xstate';
import { stamped, walk } from '../../../packages/testing/charts/walk.ts';
import type { Snapshot, StepResult } from '../../../src/actors/host/step.ts';
import type { Chart } from '../../../src/machines/chart.ts';
import { machines } from '../../chart-of.ts';
import { samples } from '../../machines/samples.ts';

const situationsMax = 120;
const charts = Object.values(machines).map((chart) => [chart.name, chart] as const);

test.each(charts)('%s: states, context, effects and deadlines are those of xstate', (name, chart) => {
  const sample = samples[name];
  if (sample === undefined) throw new Error(`no sample for ${name}`);
  const { situations, stepper } = walk(chart, sample.input, sample.events, situationsMax);
  const slow = byXstate(chart);
  let changes = 0;
  for (const { snapshot, timers } of situations) {
    if (snapshot.status !== 'active') continue;
    const types = new Set(timers.values());
    for (const event of [...sample.events, ...[...types].map((type) => ({ type }))]) {
      const result = stepper.step(snapshot, stamped(event));
      expect([event.type, shown(result)]).toEqual([event.type, slow(snapshot, stamped(event))]);
      if (result.changed) changes += 1;
    }
  }
  expect(changes).toBeGreaterThan(0);
});

const shown = ({ snapshot, timers, effects, changed, done }: StepResult) => ({
  ...{ value: snapshot.value, context: snapshot.context, tags: [...snapshot.tags], changed, done },
  ...{ effects, timers: timers.map(({ kind, id }) => `${kind} ${id}`) },
});

type Event = ReturnType<typeof stamped>;
interface Asked {
  readonly type: string;
  readonly params: unknown;
}

/** A machine of its own that nobody made quicker, stepped by the public function. */
function byXstate({ machine }: Chart) {
  const plain = Object.entries(machine.implementations.actions).flatMap(([name, action]) =>
    isAssign(action) ? [[name, assign(action.assignment as never)]] : [],
  );
  const own = machine.provide({ actions: Object.fromEntries(plain) } as never);
  return ({ value, context, historyValue }: Snapshot, event: Event) => {
    const before = { ...own.resolveState({ value: value as never, context: {}, historyValue }), context };
    const [after, asked] = transition(own, before as never, event) as unknown as [Snapshot, Asked[]];
    const timers = asked.flatMap(({ type, params }) => timerOf(type, params as Raised));
    const effects = asked.flatMap(({ type, params }) =>
      type.startsWith('xstate.') ? [] : [{ ...(params as object), type }],
    );
    const { tags, status } = after;
    const reached = { value: after.value, context: after.context, tags: [...tags], timers, effects };
    return { ...reached, changed: (after as unknown) !== before, done: status === 'done' };
  };
}

interface Raised {
  readonly id?: string;
  readonly sendId?: string;
  readonly delay?: number;
  readonly event?: { readonly type: string };
}

function timerOf(type: string, { id, sendId, delay, event }: Raised): string[] {
  if (type === 'xstate.cancel') return [`cancel ${sendId}`];
  return type === 'xstate.raise' && delay !== undefined ? [`set ${id ?? event?.type}`] : [];
}

const isAssign = (action: unknown): action is { readonly assignment: unknown } =>
  typeof action === 'function' && 'assignment' in action;
