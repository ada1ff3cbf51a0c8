/** The quick step gives what xstate gives: each chart, in many situations, takes each event both ways. */
import { expect, test, vi } from 'vitest';
import { assign, raise, setup, transition } from 'xstate';
import { stamped, walk } from '../../../packages/testing/charts/walk.ts';
import { createStepper, type Snapshot, type StepResult, stateText } from '../../../src/actors/host/step.ts';
import type { Chart } from '../../../src/machines/chart.ts';
import { shardChart } from '../../../src/machines/shard/shard.ts';
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

test('a move that was made once is not searched for again', () => {
  const { machine } = shardChart;
  const stepper = createStepper(shardChart);
  const searched = vi.spyOn(machine, 'microstep');
  const live = (): string[] => {
    let { snapshot } = stepper.begin({ name: 'shard/1' }, stamped({ type: 'started' }));
    return lifeOfShard.map((event) => {
      ({ snapshot } = stepper.step(snapshot, stamped(event)));
      return stateText(snapshot.value);
    });
  };
  const once = live();
  const searches = searched.mock.calls.length;
  expect(live()).toEqual(once);
  expect(searched.mock.calls.length).toBe(searches);
  expect(once).toEqual([
    'claiming',
    'held.loading',
    'held.active',
    'held.draining',
    'held.releasing',
    'unowned',
    'claiming',
    'held.loading',
    'unowned',
  ]);
});

const lifeOfShard = [
  { type: 'holding.assigned', seen: 0 },
  { type: 'claim.won', fence: 7 },
  { type: 'holding.loaded', fence: 7 },
  { type: 'holding.withdrawn' },
  { type: 'holding.drained', fence: 7 },
  { type: 'holding.released', fence: 7 },
  { type: 'holding.assigned', seen: 7 },
  { type: 'claim.won', fence: 8 },
  // From here on the chart goes by itself.
  { type: 'holding.fenced' },
];

test('a deadline of no length is taken within the step', () => {
  const machine = setup({
    types: { context: {} as { readonly ms: number | undefined }, events: {} as { readonly type: string } },
    delays: { wait: ({ context }) => context.ms as number },
    actions: { setMs: assign({ ms: undefined }), later: raise({ type: 'due' }, { delay: 'wait' }) },
  }).createMachine({
    context: { ms: 5 },
    initial: 'one',
    states: {
      one: { on: { go: 'two' } },
      two: { entry: 'later', on: { back: 'one', due: 'three' } },
      three: {},
    },
    on: { shorten: { actions: 'setMs' } },
  });
  const chart = { ...shardChart, name: 'short', machine, effects: [] } as unknown as Chart;
  const stepper = createStepper(chart);
  const after = (types: readonly string[]) =>
    types.reduce(
      ({ snapshot }, type) => stepper.step(snapshot, stamped({ type })),
      stepper.begin({}, stamped({ type: 'started' })),
    );
  expect(after(['go', 'back', 'go']).snapshot.value).toBe('two');
  expect(after(['shorten', 'go']).snapshot.value).toBe('three');
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
