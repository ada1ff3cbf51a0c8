/** Replicas with different sets of loaded features, and different versions of one. */
import { beforeEach, expect, test } from 'vitest';
import { createControl, createForget } from '../../src/actors/control/control-client.ts';
import { serveControl } from '../../src/actors/control/control-server.ts';
import { defineFeature, defineKind } from '../../src/api/index.ts';
import { TestCluster, type TestReplica } from '../actors/harness.ts';
import { greeting, greetings, kindOptions, written } from './greetings.ts';

const id = 'greeting/shop/a';
const world = 'greetings/v1/ConfigMap';
const next = defineFeature({ name: 'greetings', version: '1.1.0', kinds: [greeting] });
const other = defineFeature({
  name: 'greetings',
  version: '1.0.0',
  kinds: [
    defineKind({
      ...kindOptions,
      messages: { ...kindOptions.messages, 'greeting.more': kindOptions.messages['greeting.again'] },
    }),
  ],
});

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

async function synced(cluster: TestCluster) {
  await cluster.put('_synced', '', world, { kind: 'synced', gates: [], resource: world });
}

/** A replica with the feature and one without, and an object to greet. */
async function besideEachOther() {
  const cluster = new TestCluster();
  const a = await cluster.replica('a', { more: [greetings] });
  const b = await cluster.replica('b');
  await synced(cluster);
  await cluster.put(world, 'shop', 'a', object('one'));
  return { cluster, a, b };
}

const partsOf = ({ engine }: TestReplica) =>
  engine.ownership.active().filter((name) => name.startsWith('part/'));
const shardsOf = ({ engine }: TestReplica) =>
  engine.ownership.active().filter((name) => name.startsWith('shard/'));

test('a replica without the feature takes its share of the rest, and none of the feature', async () => {
  const { cluster, a, b } = await besideEachOther();
  await cluster.clock.advance(30_000);
  expect(shardsOf(b).length).toBeGreaterThan(20);
  expect(shardsOf(a).length + shardsOf(b).length).toBe(64);
  expect([partsOf(a).length, partsOf(b).length]).toEqual([16, 0]);
  expect(b.engine.remarks()).toEqual([
    'the feature greetings 1.0.0 is not loaded here: its actors are left to a',
  ]);
  expect(a.engine.remarks()).toEqual([]);
  expect(cluster.states()[id]).toBe('resting');
});

test('messages to its actors are taken once, whoever owns the shard that they are dealt to', async () => {
  const cluster = new TestCluster();
  await cluster.replica('a', { more: [greetings] });
  await cluster.replica('b');
  await synced(cluster);
  for (let n = 0; n < 20; n++) await cluster.put(world, 'shop', `n${n}`, object(`n${n}`));
  await cluster.clock.advance(30_000);
  written.length = 0;
  for (let n = 0; n < 20; n++) await cluster.mail(`greeting/shop/n${n}`, { type: 'greeting.again' });
  await cluster.clock.advance(5_000);
  expect([...written].sort()).toEqual(Array.from({ length: 20 }, (_, n) => `hello n${n}`).sort());
  expect(cluster.dead).toEqual([]);
});

test('when nobody has the feature its records and mail stay, are told as such, and are taken up again', async () => {
  const { cluster, a, b } = await besideEachOther();
  await cluster.clock.advance(10_000);
  a.engine.kill();
  await cluster.clock.advance(10_000);
  await cluster.mail(id, { type: 'greeting.again' });
  await cluster.clock.advance(60_000);
  expect(cluster.dead).toEqual([]);
  const control = serve(cluster, b);
  const listed = await cluster.whileTimePasses(control.list({}));
  expect(listed.actors).toMatchObject([
    {
      id,
      state: 'resting',
      parked: true,
      reason: {
        health: 'wrong',
        text: expect.stringContaining('no replica has loaded the feature greetings'),
      },
    },
  ]);
  expect(await cluster.whileTimePasses(control.get(id))).toMatchObject({
    id,
    state: 'resting',
    context: { written: 'one' },
  });
  written.length = 0;
  await cluster.replica('c', { more: [greetings] });
  await synced(cluster);
  await cluster.clock.advance(10_000);
  expect(written).toEqual(['hello one']);
  expect(cluster.states()[id]).toBe('resting');
});

test('orrery forget takes away what nobody has loaded any more, and nothing else', async () => {
  const { cluster, a, b } = await besideEachOther();
  await cluster.clock.advance(10_000);
  const control = serve(cluster, b);
  const forget = createForget({ bus: b.bus, subjects: cluster.subjects });
  const asked = (kind: string, dryRun: boolean) => cluster.whileTimePasses(forget(kind, dryRun));
  await expect(asked('greeting', false)).rejects.toThrow('the feature of the kind greeting is loaded by a');
  await expect(asked('pod', false)).rejects.toThrow("the kind pod is one of the program's own");
  await expect(asked('nobody', false)).rejects.toThrow('nothing is stored of a kind nobody');
  a.engine.kill();
  await cluster.clock.advance(70_000);
  const what = { kind: 'greeting', feature: 'greetings', actors: 1 };
  expect(await asked('greeting', true)).toEqual({ ...what, forgotten: false });
  expect(await asked('greeting', false)).toEqual({ ...what, forgotten: true });
  await cluster.clock.advance(1_000);
  expect((await cluster.whileTimePasses(control.list({}))).actors).toEqual([]);
  await expect(asked('greeting', true)).rejects.toThrow('nothing is stored of a kind greeting');
});

test('of two versions the higher one owns the kinds; when it goes, the lower one takes them up', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a', { more: [greetings] });
  await cluster.clock.advance(10_000);
  expect(partsOf(a)).toHaveLength(16);
  const b = await cluster.replica('b', { more: [next] });
  await cluster.clock.advance(10_000);
  expect([partsOf(a).length, partsOf(b).length]).toEqual([0, 16]);
  expect(a.engine.remarks()).toEqual([
    'the feature greetings is loaded here in version 1.0.0, elsewhere in 1.1.0: its actors are left to b',
  ]);
  b.engine.kill();
  await cluster.clock.advance(10_000);
  expect(partsOf(a)).toHaveLength(16);
  expect(a.engine.remarks()).toEqual([]);
});

test('two that differ under one version: one of them owns the kinds, and the other says so', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a', { more: [greetings] });
  const b = await cluster.replica('b', { more: [other] });
  await cluster.clock.advance(30_000);
  expect([partsOf(a).length, partsOf(b).length].sort()).toEqual([0, 16]);
  expect([...a.engine.remarks(), ...b.engine.remarks()]).toEqual([
    expect.stringContaining(
      'the feature greetings 1.0.0 differs from that of other replicas under the same version',
    ),
  ]);
});

function serve(cluster: TestCluster, { engine, bus, name }: TestReplica) {
  const { clock, subjects } = cluster;
  serveControl({ engine, bus, subjects, clock, replica: name, release: '1.0.0', requests: [] });
  return createControl({ bus, subjects });
}
