/** Features written with the public API: on the memory bus, with replicas that die. */
import { beforeEach, expect, test } from 'vitest';
import { TestCluster } from '../actors/harness.ts';
import { greetings, written } from './greetings.ts';

const id = 'greeting/shop/a';
const world = 'greetings/v1/ConfigMap';
const object = (who: string) => ({
  kind: 'kept',
  uid: 'uid-1',
  resourceVersion: '1',
  createdAt: 0,
  deleting: false,
  labels: {},
  kept: { who },
});

beforeEach(() => {
  written.length = 0;
});

async function stage() {
  const cluster = new TestCluster([greetings]);
  const a = await cluster.replica('a');
  await cluster.replica('b');
  await cluster.put('_synced', '', world, { kind: 'synced', gates: [], resource: world });
  return { cluster, a };
}

test('an actor is there for each object, is told of it, and its effects run once', async () => {
  const { cluster } = await stage();
  await cluster.put(world, 'shop', 'a', object('world'));
  await cluster.clock.advance(2_000);
  expect(cluster.states()[id]).toBe('resting');
  expect(written).toEqual(['hello world']);
  await cluster.remove(world, 'shop', 'a');
  await cluster.clock.advance(2_000);
  expect(cluster.states()[id]).toBe('gone');
});

test('what a replica began before it died, another one ends, once', async () => {
  const { cluster, a } = await stage();
  await cluster.put(world, 'shop', 'a', object('one'));
  await cluster.clock.advance(2_000);
  a.engine.kill();
  await cluster.put(world, 'shop', 'a', object('two'));
  await cluster.clock.advance(10_000);
  expect(cluster.states()[id]).toBe('resting');
  expect(written).toEqual(['hello one', 'hello two']);
});
