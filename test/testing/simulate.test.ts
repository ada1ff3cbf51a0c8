/** The simulation that users of the package run their features in: what it finds without being told. */
import { expect, test } from 'vitest';
import { type Simulation, simulate } from '../../packages/testing/simulation/simulate.ts';
import { actionsOf, defineFeature, defineKind, effect, setup, tell } from '../../src/api/index.ts';
import { type Context, greeted } from '../api/greetings.ts';

const write = effect('greeting.write', {
  run: async ({ text }: { readonly text: string }) => ({ length: text.length }),
});

/** A feature that greets each ConfigMap once. @param after where it goes from there */
function greeterOf(greetedState: object) {
  const machine = setup({
    types: { context: {} as { name: string } },
    actions: { ...actionsOf(write) },
  } as never).createMachine({
    id: 'greeting',
    context: ({ input }: { input: { name: string } }) => ({ name: input.name }),
    initial: 'greeting',
    states: {
      greeting: {
        description: 'Says hello.',
        entry: { type: 'greeting.write', params: { text: 'hello' } },
        on: { 'greeting.write.done': 'greeted', 'greeting.write.failed': 'greeted' },
        after: { 35000: 'greeted' },
      },
      greeted: greetedState,
    },
  } as never);
  const parts = { name: 'greeting', version: 1, description: 'Greets.', effects: [write], join: greeted };
  const told = tell<Context>(() => ({ text: 'greets' }));
  const kind = defineKind({ ...parts, machine, tell: told } as never);
  return defineFeature({ name: 'greeter', version: '1.0.0', kinds: [kind] });
}

const simulationOf = (state: object): Simulation => ({
  features: [greeterOf({ description: 'It has said so.', ...state })],
  begin: ({ kube }) =>
    kube.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'default', labels: { 'example.com/greet': 'yes' } },
      data: { who: 'one' },
    }),
  unsettled: () => [],
});

test('an actor that never comes to rest starves, unless it may wait', async () => {
  const restless = simulationOf({ after: { 20000: 'greeting' } });
  const { breach } = await simulate(restless, { seed: 1, chaos: '10s', rest: '1m' });
  expect(breach?.promise).toBe('nothing starves');
  expect(breach?.text).toMatch(/greeting\/default\/a .* has not come to rest for 60 s/);
  const waiting = await simulate({ ...restless, mayWait: () => true }, { seed: 1, chaos: '10s', rest: '1m' });
  expect(waiting.breach).toBeNull();
});

test('one that rests starves nobody', async () => {
  const resting = simulationOf({ tags: 'settled' });
  expect((await simulate(resting, { seed: 1, chaos: '10s', rest: '1m' })).breach).toBeNull();
});

test('an invariant learns since when nothing has kept the replicas from their work', async () => {
  const quiet: number[] = [];
  const watch: NonNullable<Simulation['invariants']>[number]['watch'] = ({ now, after, quietSince }) => {
    const look = () => {
      quiet.push(now() - quietSince());
      after(1_000, look);
    };
    after(1_000, look);
  };
  const resting = { ...simulationOf({ tags: 'settled' }), invariants: [{ name: 'quiet', watch }] };
  await simulate(resting, { seed: 8, chaos: '30s' });
  expect(Math.min(...quiet)).toBe(0);
  expect(quiet.at(-1)).toBeGreaterThan(3_000);
});
