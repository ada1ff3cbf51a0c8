/**
 * The invariants of docs/architecture.md, one by one, on engines with a memory bus and virtual time.
 */
import { expect, test } from 'vitest';
import { stamped } from '../../../packages/testing/charts/walk.ts';
import { type ActorRecord, unpackRecord } from '../../../src/actors/host/records.ts';
import { createStepper } from '../../../src/actors/host/step.ts';
import { limits } from '../../../src/base/limits.ts';
import { encode } from '../../../src/bus/codec.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import { machines } from '../../chart-of.ts';
import { samples } from '../../machines/samples.ts';
import { finished, pod, reachable, TestCluster } from '../harness.ts';

function storedRecords(cluster: TestCluster, id: string): ActorRecord[] {
  return cluster.hub.stored('state').flatMap((message) => {
    const parsed = cluster.subjects.parseState(message.subject);
    return parsed?.id === id ? [unpackRecord(message.data, parsed.id)] : [];
  });
}

test('three Pods of a group with two Services become ready through any number of replicas', async () => {
  const cluster = new TestCluster();
  await cluster.replica('a');
  await cluster.replica('b');
  await cluster.replica('c');
  await cluster.shop(3, 2);
  await cluster.clock.advance(2_000);
  expect(cluster.states()).toMatchObject({
    'pod/shop/web-0': 'gated.ready.proven',
    'pod/shop/web-1': 'gated.ready.proven',
    'pod/shop/web-2': 'gated.ready.proven',
  });
  expect(
    cluster
      .ranOf('pod-condition.patch')
      .map(({ effect }) => effect.name)
      .sort(),
  ).toEqual(['web-0', 'web-1', 'web-2']);
  expect(cluster.dead).toEqual([]);
});

test('I1: an effect runs only after the step that asked for it is stored', async () => {
  const cluster = new TestCluster();
  const early: string[] = [];
  cluster.outside = async (effect, run, replica) => {
    const isStored = storedRecords(cluster, run.actor).some(({ outbox }) =>
      outbox.some(({ key }) => key === run.key),
    );
    if (!isStored) early.push(run.key);
    return reachable(effect, run, replica);
  };
  await cluster.replica('a');
  await cluster.shop(3, 3);
  await cluster.clock.advance(2_000);
  expect(cluster.ran.length).toBeGreaterThan(9);
  expect(early).toEqual([]);
});

test('I2: revisions grow by one, fences never go down, one writer for each fence, also while owners are killed', async () => {
  const cluster = new TestCluster();
  const seen = new Map<string, { rev: number; fence: number }>();
  const writers = new Map<string, string>();
  const broken: string[] = [];
  cluster.hub.observe((stream, message) => {
    const parsed = stream === 'state' ? cluster.subjects.parseState(message.subject) : undefined;
    if (!parsed) return;
    const { rev, fence, feed } = unpackRecord(message.data, parsed.id);
    const before = seen.get(parsed.id) ?? { rev: 0, fence: 0 };
    // A record may be written again at its revision to take finished effects out of it.
    if (rev !== before.rev && rev !== before.rev + 1)
      broken.push(`${parsed.id}: rev ${before.rev} then ${rev}`);
    if (fence < before.fence && rev !== before.rev)
      broken.push(`${parsed.id}: fence ${before.fence} then ${fence}`);
    seen.set(parsed.id, { rev, fence });
    const writer = feed.at(-1)?.replica;
    const key = `${parsed.shard}/${fence}`;
    if (writer !== undefined && (writers.get(key) ?? writer) !== writer)
      broken.push(`two writers under ${key}`);
    if (writer !== undefined) writers.set(key, writer);
  });
  const a = await cluster.replica('a');
  const b = await cluster.replica('b');
  await cluster.replica('c');
  await cluster.clock.advance(6_000);
  await cluster.shop(6, 4);
  await cluster.clock.advance(3);
  a.engine.kill();
  await cluster.clock.advance(2_500);
  for (let n = 0; n < 6; n++) await cluster.put('pods', 'shop', `web-${n}`, pod(n, { uid: `second-${n}` }));
  await cluster.clock.advance(2);
  b.engine.kill();
  await cluster.clock.advance(5_000);
  expect(broken).toEqual([]);
  expect([...seen.keys()].filter((id) => id.startsWith('pod/'))).toHaveLength(6);
  expect(
    Object.entries(cluster.states()).filter(
      ([id, state]) => id.startsWith('pod/') && state !== 'gated.ready.proven',
    ),
  ).toEqual([]);
});

test('I3: a replica that cannot save does nothing outside, and goes on where it was when it can again', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  a.bus.faults.onAppend = (subject) => (subject.includes('.state.') ? 'requestLost' : 'store');
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'another' }));
  await cluster.clock.advance(20_000);
  // What earlier steps asked for may run again; of the step that cannot be saved nothing does.
  const ofUnsaved = cluster.ran.filter(({ effect }) => JSON.stringify(effect).includes('another'));
  expect(ofUnsaved).toEqual([]);
  a.bus.faults.onAppend = undefined;
  await cluster.clock.advance(20_000);
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.ready.proven');
});

test('I2: a save that lands after its sender gave it up is refused: no older record ever stands over a newer one', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  const revs: number[] = [];
  cluster.hub.observe((stream, message) => {
    const parsed = stream === 'state' ? cluster.subjects.parseState(message.subject) : undefined;
    if (parsed?.id === 'pod/shop/web-0') revs.push(unpackRecord(message.data, parsed.id).rev);
  });
  let isLate = true;
  a.bus.faults.onAppend = (subject) => {
    if (!isLate || !subject.endsWith('.pod.shop.web-0') || !subject.includes('.state.')) return 'store';
    isLate = false;
    return { lateMs: limits.appendTimeoutMs + 400 };
  };
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'another' }));
  await cluster.clock.advance(20_000);
  expect(isLate).toBe(false);
  expect(revs).toEqual([...revs].sort((one, other) => one - other));
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.ready.proven');
});

test('I1, I3: a replica with a stale fence never patches', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  // Cut off without knowing it: it still believes that it owns everything.
  a.bus.faults.setLink('silent');
  await cluster.clock.advance(100);
  await cluster.replica('b');
  await cluster.clock.advance(3_000);
  const id = 'pod/shop/web-0' as const;
  const run = a.engine.shards.runOf(id);
  a.bus.faults.setLink('up');
  if (run) a.engine.host.deliver(run, id, { event: { type: 'pod.recheck' }, cause: null });
  await cluster.clock.advance(2_000);
  const afterwards = cluster.ran.filter(
    ({ effect, replica }) => replica === 'a' && effect.type === 'pod-condition.patch',
  );
  expect(afterwards).toHaveLength(1);
  expect(a.engine.shards.runOf(id)?.phase ?? 'closed').not.toBe(undefined);
});

test.each([
  ['never ends', () => new Promise<never>(() => {})],
  ['throws', () => Promise.reject(new Error('no'))],
])('I4: an effect that %s has an outcome all the same', async (_, behave) => {
  const cluster = new TestCluster();
  cluster.outside = (effect, run, replica) =>
    effect.type === 'pod-condition.patch' ? behave() : reachable(effect, run, replica);
  await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(limits.effectTimeoutMs + 1_000);
  const refused = cluster.transitions().filter(({ event }) => event.type === 'condition.refused');
  expect(refused.length).toBeGreaterThan(0);
  cluster.outside = reachable;
  await cluster.clock.advance(limits.effectTimeoutMs + 10_000);
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.ready.proven');
});

test('I5: a message that is delivered twice under one id is taken once, also after a move', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  const sender = cluster.hub.connect('sender');
  const subject = cluster.subjects.send('pod/shop/web-0');
  const send = () => sender.append(subject, encode({ type: 'pod.recheck', id: 'once' }));
  await send();
  await cluster.clock.advance(200_000);
  await send();
  await cluster.replica('b');
  a.engine.kill();
  await cluster.clock.advance(3_000);
  await send();
  await cluster.clock.advance(1_000);
  expect(cluster.transitions().filter(({ event }) => event.type === 'pod.recheck')).toHaveLength(1);
});

test('I5: mail that a killed owner took is not taken again, and mail that it did not take is', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  const sender = cluster.hub.connect('sender');
  const subject = cluster.subjects.send('pod/shop/web-0');
  await sender.append(subject, encode({ type: 'pod.recheck' }));
  await cluster.clock.advance(20);
  a.engine.kill();
  await sender.append(subject, encode({ type: 'pod.recheck' }));
  await cluster.replica('b');
  await cluster.clock.advance(4_000);
  const rechecks = cluster.transitions().filter(({ event }) => event.type === 'pod.recheck');
  expect(rechecks.map(({ replica }) => replica)).toEqual(['a', 'b']);
});

test('I6: a mailbox is bounded; mail beyond the bound is read again and none is lost', {
  timeout: 120_000,
}, async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  const total = limits.mailboxEvents + 600;
  a.bus.faults.onAppend = (subject) => (subject.includes('.state.') ? 'requestLost' : 'store');
  const sender = cluster.hub.connect('sender');
  const subject = cluster.subjects.send('pod/shop/web-0');
  for (let n = 0; n < total; n++) await sender.append(subject, encode({ type: 'pod.recheck', id: `m${n}` }));
  await cluster.clock.advance(100);
  const cell = a.engine.shards.runOf('pod/shop/web-0')?.cells.get('pod/shop/web-0');
  expect(cell?.hot?.mailbox.length).toBeLessThanOrEqual(limits.mailboxEvents);
  a.bus.faults.onAppend = undefined;
  await cluster.clock.advance(30_000);
  const taken = cluster.transitions().filter(({ event }) => event.type === 'pod.recheck');
  expect(taken.length).toBe(total);
});

test('I7: the same events with the same stamps give the same steps', () => {
  for (const [name, { input, events }] of Object.entries(samples)) {
    const chart = machines[name];
    if (!chart) continue;
    const runOnce = () => {
      const stepper = createStepper(chart);
      const [first, ...rest] = events;
      let { snapshot } = stepper.begin(input, stamped(first ?? { type: 'none' }));
      const seen: unknown[] = [];
      for (const event of rest) {
        if (snapshot.status !== 'active') break;
        const result = stepper.step(snapshot, stamped(event));
        snapshot = result.snapshot;
        seen.push([stepper.persist(snapshot), result.effects, result.timers]);
      }
      return JSON.stringify(seen);
    };
    expect(runOnce()).toBe(runOnce());
  }
});

test('I8: a record that cannot be read parks its actor and leaves its neighbours alone', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(3, 1);
  await cluster.clock.advance(2_000);
  a.engine.kill();
  const id = 'pod/shop/web-1' as const;
  const writer = cluster.hub.connect('vandal');
  await writer.append(cluster.subjects.state(shardOf(id), id), new Uint8Array([0xc1]));
  const b = await cluster.replica('b');
  await cluster.clock.advance(3_000);
  for (let n = 0; n < 3; n++) await cluster.put('pods', 'shop', `web-${n}`, pod(n, { uid: `second-${n}` }));
  await cluster.clock.advance(3_000);
  expect(b.engine.shards.runOf(id)?.cells.get(id)?.unreadable).toContain('cannot be read');
  const patched = cluster.ran.filter(
    ({ replica, effect }) => replica === 'b' && effect.type === 'pod-condition.patch',
  );
  expect(patched.map(({ effect }) => effect.name).sort()).toEqual(['web-0', 'web-2']);
});

test('I8: a record of a newer machine version, or of none, is left untouched', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(2, 1);
  await cluster.clock.advance(2_000);
  a.engine.kill();
  const id = 'pod/shop/web-0' as const;
  const subject = cluster.subjects.state(shardOf(id), id);
  const [record] = storedRecords(cluster, id).slice(-1);
  const newer = encode({ ...record, version: 99 });
  await cluster.hub.connect('newer release').append(subject, newer);
  const other = 'pod/shop/web-1' as const;
  const [standing] = storedRecords(cluster, other).slice(-1);
  const without = encode({ ...standing, machine: 'absent' });
  await cluster.hub
    .connect('one with another feature')
    .append(cluster.subjects.state(shardOf(other), other), without);
  const b = await cluster.replica('b');
  await cluster.clock.advance(3_000);
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'another' }));
  await cluster.clock.advance(5_000);
  expect(b.engine.shards.runOf(id)?.cells.get(id)?.unreadable).toMatch(
    /^a newer release wrote its record \(machine \S+ version 99, here \d+\): upgrade again/,
  );
  expect(storedRecords(cluster, id).at(-1)).toMatchObject({ version: 99 });
  expect(b.engine.shards.runOf(other)?.cells.get(other)?.unreadable).toBe(
    'this replica has no machine absent: turn its feature on again (--without leaves it out), load it (--feature), or start a release that has it',
  );
});

test('every saved step is on the event stream once and in order, also when the owner dies before it told', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(4, 2);
  a.bus.faults.onAppend = (subject) => (subject.includes('.event.') ? 'requestLost' : 'store');
  await cluster.clock.advance(2_000);
  a.engine.kill();
  await cluster.replica('b');
  await cluster.clock.advance(10_000);
  const revs = new Map<string, number[]>();
  for (const { id, rev } of cluster.transitions()) revs.set(id, [...(revs.get(id) ?? []), rev]);
  for (const [id, found] of revs) expect([id, found]).toEqual([id, found.map((_, index) => index + 1)]);
  expect(cluster.states()['pod/shop/web-3']).toBe('gated.ready.proven');
});

test('a restarted Orrery asks for no proof that it had', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  const unreached = new Set(['10.1.0.2']);
  cluster.outside = async (effect, run, replica) => {
    const url = (effect.probe as { url: string } | undefined)?.url ?? '';
    if (effect.type === 'route.sample' && [...unreached].some((ip) => url.includes(ip))) {
      return finished(Number(effect.round), []);
    }
    return reachable(effect, run, replica);
  };
  await cluster.shop(1, 2);
  await cluster.clock.advance(1_000);
  a.engine.kill();
  const asked = cluster.ran.length;
  await cluster.replica('b');
  await cluster.clock.advance(3_000);
  unreached.clear();
  await cluster.clock.advance(8_000);
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.ready.proven');
  const later = cluster.ran.slice(asked).filter(({ effect }) => effect.type === 'route.sample');
  expect(later.filter(({ effect }) => (effect.probe as { url: string }).url.includes('10.1.0.1'))).toEqual(
    [],
  );
});

test('a graceful stop hands every shard over without anybody waiting for a time-out', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  const b = await cluster.replica('b');
  await cluster.shop(3, 2);
  await cluster.clock.advance(1_000);
  const stopping = a.engine.stop(4_000);
  await cluster.clock.advance(100);
  expect(b.engine.ownership.active()).toHaveLength(64);
  await cluster.clock.advance(4_000);
  await stopping;
});
