/** What the runs of effects in one replica share: opened once, closed at its end (src/api/per-replica.ts). */
import { expect, test } from 'vitest';
import { testCluster } from '../../packages/testing/index.ts';
import { actionsOf, defineFeature, defineKind, effect, perReplica, setup, v } from '../../src/api/index.ts';
import { createOpened } from '../../src/api/per-replica.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log-port.ts';
import { VirtualClock } from '../virtual-clock.ts';

const said: string[] = [];
let clients = 0;
const client = perReplica({
  open: async () => ({ number: ++clients }),
  close: async ({ number }) => void said.push(`client ${number} is closed`),
});
const work = effect('unit.work', {
  run: async (_: object, { use }) => void said.push(`by client ${(await use(client)).number}`),
});
const machine = setup({
  types: { events: {} as { readonly type: string } },
  actions: { ...actionsOf(work) },
}).createMachine({
  id: 'unit',
  context: {},
  initial: 'idle',
  on: { 'unit.go': { actions: { type: 'unit.work', params: {} } } },
  states: { idle: { tags: 'settled' } },
});

test('replicas open one each, for all of their actors, and close it when they stop', async () => {
  const kind = defineKind({
    ...{ name: 'unit', version: 1, description: 'Works.', machine, effects: [work], createdBy: ['unit.go'] },
    messages: { 'unit.go': v.object({}) },
  });
  using cluster = testCluster({
    features: [defineFeature({ name: 'units', version: '1.0.0', kinds: [kind] })],
  });
  const a = await cluster.start('a');
  for (const name of ['x', 'y', 'z']) await cluster.send(`unit/shop/${name}`, 'unit.go');
  await cluster.advance('2s');
  expect(said).toEqual(['by client 1', 'by client 1', 'by client 1']);
  a.stop();
  await cluster.advance('2s');
  expect(said.at(-1)).toBe('client 1 is closed');
});

function stage() {
  const clock = new VirtualClock();
  return { clock, opened: createOpened({ clock, log: silentLog }, (_what, run) => run()) };
}

test('one that could not be opened is opened anew by the next who needs it', async () => {
  const { opened } = stage();
  let tries = 0;
  const shy = perReplica({
    open: () => {
      if (++tries === 1) throw new Error('not today');
      return 'here';
    },
  });
  await expect(opened.use(shy)).rejects.toThrow('not today');
  expect(await opened.use(shy)).toBe('here');
});

test('one that does not open in time fails, and is closed when it comes after all', async () => {
  const { clock, opened } = stage();
  const { promise, resolve } = Promise.withResolvers<string>();
  const closed: string[] = [];
  const late = perReplica({ open: () => promise, close: (one) => void closed.push(one) });
  const used = expect(opened.use(late)).rejects.toMatchObject({ code: 'TIMEOUT' });
  await clock.advance(limits.effectTimeoutMs);
  await used;
  resolve('too late');
  await clock.advance(0);
  expect(closed).toEqual(['too late']);
});

test('one that does not close holds no replica up', async () => {
  const { clock, opened } = stage();
  await opened.use(perReplica({ open: () => 1, close: () => new Promise(() => {}) }));
  let isClosed = false;
  void opened.close().then(() => {
    isClosed = true;
  });
  await clock.advance(limits.closeTimeoutMs);
  expect(isClosed).toBe(true);
});
