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
const timer = { event: 'xstate.after.lookAgain.pod.gated', at: Date.UTC(2400, 0, 1) };
const proven: ActorView = { ...vm, id: 'pod/shop/a', timers: [timer], accepts: ['pod.recheck'] };
const control: ControlPort = {
  ...emptyCluster,
  get: async (id) => [vm, parked, proven].find((view) => view.id === id) ?? null,
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
  expect(out).toContain('\n  next: nothing happens by itself\n');
  expect(out).toContain('r1 owns shard 7 with fence 31');
});

test('one that is parked, and that no replica owns', async () => {
  const out = await explain(parked.id);
  expect(out).toContain('Waits for\n  the end of what parked it; the reason is above');
  expect(out).toContain('no replica owns shard 7; its last fence is 31');
});

test('one whose chart names nothing that comes, while a deadline runs', async () => {
  const out = await explain(proven.id);
  expect(out).toMatch(/^ {2}next: only its deadline, look again, in \d+d \(2400-01-01T00:00:00\.000Z\)$/m);
  expect(out).toMatch(/Waits for\n {2}look again in \d+d, at 2400/);
});
