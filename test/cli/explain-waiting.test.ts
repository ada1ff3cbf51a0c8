/** `orrery explain` as a process: what an actor waits for that has no deadline and takes no event. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ActorView, ControlPort } from '../../src/base/views.ts';
import { orrery } from './command.ts';
import { emptyCluster, type FakeOrrery, plainRow, startFakeOrrery } from './fake-orrery.ts';

const vm: ActorView = {
  ...plainRow,
  id: 'workload/shop/vm',
  state: 'standing.faulty,health.unprobed',
  reason: { text: 'no Service publishes the workload', health: 'wrong', since: 1, next: null },
  ...{ machine: 'workload', machineVersion: 2, meaning: [], facts: [], notes: [], fence: 31, context: {} },
  ...{ timers: [], pending: [], recent: [], accepts: [] },
};
const parked: ActorView = { ...vm, id: 'workload/shop/parked', owner: '', parked: true };
const control: ControlPort = {
  ...emptyCluster,
  get: async (id) => [vm, parked].find((view) => view.id === id) ?? null,
};

let fake: FakeOrrery;
beforeAll(async () => {
  fake = await startFakeOrrery(control);
});
afterAll(() => fake?.stop());

const explain = async (id: string) => (await orrery(['explain', id], fake.place)).out;

test('one that only news can move has not ended', async () => {
  const out = await explain(vm.id);
  expect(out).toContain('Waits for\n  news of what it watches: it has no deadline');
  expect(out).toContain('r1 owns shard 7 with fence 31');
});

test('one that is parked, and that no replica owns', async () => {
  const out = await explain(parked.id);
  expect(out).toContain('Waits for\n  the end of what parked it; the reason is above');
  expect(out).toContain('no replica owns shard 7; its last fence is 31');
});
