/**
 * Streams that are deleted, made anew, backed up and restored while clients go on; the steps of
 * docs/disaster-recovery.md.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NatsServer, startNatsServer } from '../../../packages/dev-cluster/processes/nats-server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { Bus, StoredMessage } from '../../../src/bus/bus.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { until } from '../../until.ts';
import { bytes, codeOf, text } from '../bus-parts.ts';
import { backUp, jetStream, restore } from './backup.ts';
import { connectTo, temporaryFolder } from './nats-backend.ts';

let server: NatsServer;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
  server = await startNatsServer({ dir: folder.dir });
});
afterAll(async () => {
  await server.stop();
  await folder.remove();
});

/** A cluster of its own for each test. */
async function scene(cluster: string) {
  const bus = await connectTo(server.url, { cluster });
  const operator = await connectTo(server.url, { cluster, onlyAsks: true });
  const s = subjects(cluster);
  return { bus, operator, s, streamOf: (name: string) => `ORRERY_${cluster}_${name}` };
}

/** Follows, and notes what it is told. */
async function followed(bus: Bus, stream: 'mail' | 'state', subject: string, of?: string) {
  const told: string[] = [];
  const from = { kind: 'sequence' as const, sequence: 1, ...(of === undefined ? {} : { of }) };
  await bus.follow(stream, {
    subjects: [subject],
    from,
    onMessage: ({ data }: StoredMessage) => void told.push(text(data)),
    onAnother: () => void told.push('(another)'),
  });
  return told;
}

test('a stream that is deleted while everything runs is there again within seconds, and followers go on', async () => {
  const { bus, operator, s, streamOf } = await scene('gone');
  const told = await followed(bus, 'mail', s.mailAll);
  await bus.append(s.send('pod/shop/a'), bytes('one'));
  await until(() => told.length === 1, { what: 'the first message' });
  await jetStream(operator, `STREAM.DELETE.${streamOf('MAIL')}`);
  let isStored = false;
  await until(
    async () => {
      isStored ||=
        (await codeOf(bus.append(s.send('pod/shop/a'), bytes('two'), { timeoutMs: 500 }))) === undefined;
      return isStored;
    },
    { what: 'the stream to be made again' },
  );
  await until(() => told.includes('two'), { what: 'the message in the new stream' });
  expect(told[1]).toBe('(another)');
  await bus.close();
  await operator.close();
});

test.each(['STATE', 'WORLD'] as const)(
  'the fences of a %s made anew are higher than all of before',
  async (stream) => {
    const { bus, operator, s, streamOf } = await scene(`fence${stream}`);
    const fence = stream === 'STATE' ? s.fence(1) : s.worldFence('pods');
    const before = await bus.append(fence, bytes('before'));
    const name = stream === 'STATE' ? 'state' : 'world';
    const makeAnew = async () => {
      await jetStream(operator, `STREAM.DELETE.${streamOf(stream)}`);
      const what = { what: 'the new stream', timeoutMs: 15_000 };
      await until(async () => (await codeOf(bus.streamState(name))) === undefined, what);
    };
    await makeAnew();
    const many = Array.from({ length: 20_000 }, () => bus.append(fence, bytes('more')));
    const last = Math.max(...(await Promise.all(many)).map(({ sequence }) => sequence));
    await makeAnew();
    const after = await bus.append(fence, bytes('after'), { guard: { subject: fence, sequence: 0 } });
    expect(after.sequence).toBeGreaterThan(1_000_000 + before.sequence);
    expect(after.sequence).toBeGreaterThan(last);
    // Settings that change later are taken as before.
    const { config } = await jetStream<{ config: object }>(operator, `STREAM.INFO.${streamOf(stream)}`);
    await jetStream(operator, `STREAM.UPDATE.${streamOf(stream)}`, { ...config, max_msgs_per_subject: 9 });
    const again = await connectTo(server.url, { cluster: `fence${stream}` });
    expect((await again.last(name, fence))?.sequence).toBe(after.sequence);
    await again.close();
    await bus.close();
    await operator.close();
  },
);

test('a replica that just starts makes a stream anew with higher fences, too, after others did so', async () => {
  const { bus, operator, s, streamOf } = await scene('fenceTwice');
  const fence = s.fence(1);
  const before = await bus.append(fence, bytes('before'));
  await jetStream(operator, `STREAM.DELETE.${streamOf('STATE')}`);
  const what = { what: 'the new stream', timeoutMs: 15_000 };
  await until(async () => (await codeOf(bus.streamState('state'))) === undefined, what);
  const between = await bus.append(fence, bytes('between'));
  await bus.close();
  await jetStream(operator, `STREAM.DELETE.${streamOf('STATE')}`);
  // It knows the time alone. Seconds pass meanwhile where nobody makes the stream; here a clock says so.
  const clock = { ...systemClock, now: () => systemClock.now() + 15_000 };
  const newcomer = await connectTo(server.url, { cluster: 'fenceTwice', clock });
  const after = await newcomer.append(fence, bytes('after'));
  expect(between.sequence).toBeGreaterThan(before.sequence);
  expect(after.sequence).toBeGreaterThan(between.sequence);
  await newcomer.close();
  await operator.close();
});

test('followers of a stream made anew go on within seconds, although its server is heard all the time', async () => {
  const { bus, operator, s, streamOf } = await scene('heard');
  const beats: string[] = [];
  await bus.follow('event', {
    subjects: [s.eventAll],
    from: { kind: 'sequence', sequence: 1 },
    onMessage: ({ data }) => void beats.push(text(data)),
    onAnother: () => {},
  });
  const told = await followed(bus, 'state', s.stateAll);
  await bus.append(s.state(1, 'pod/shop/a'), bytes('one'));
  await until(() => told.length === 1, { what: 'the first message' });
  await jetStream(operator, `STREAM.DELETE.${streamOf('STATE')}`);
  const began = systemClock.monotonic();
  await until(
    async () => {
      await bus.append(s.event('pod/shop/a'), bytes('beat'));
      if ((await codeOf(bus.streamState('state'))) !== undefined) return false;
      await bus.append(s.state(1, 'pod/shop/a'), bytes('two'));
      return told.includes('two');
    },
    { what: 'what the new stream holds', timeoutMs: 20_000 },
  );
  expect(systemClock.monotonic() - began).toBeLessThan(8_000);
  expect(beats.length).toBeGreaterThan(1);
  expect(told.slice(0, 2)).toEqual(['one', '(another)']);
  await bus.close();
  await operator.close();
});

test('a place in a stream of before is told to be one in another stream', async () => {
  const { bus, operator, s, streamOf } = await scene('place');
  await bus.append(s.send('pod/shop/a'), bytes('one'));
  const { created, lastSequence } = await bus.streamState('mail');
  expect(lastSequence).toBe(1);
  expect(await followed(bus, 'mail', s.mailAll, created)).not.toContain('(another)');
  await jetStream(operator, `STREAM.DELETE.${streamOf('MAIL')}`);
  await until(async () => (await codeOf(bus.streamState('mail'))) === undefined, {
    what: 'the new stream',
    timeoutMs: 15_000,
  });
  expect((await bus.streamState('mail')).created).not.toBe(created);
  const told = await followed(bus, 'mail', s.mailAll, created);
  await until(() => told.includes('(another)'), { what: 'the word that it is another' });
  await bus.close();
  await operator.close();
});

test('a stream restored from a backup: what was stored since is gone, and followers are told', async () => {
  const { bus, operator, s, streamOf } = await scene('back');
  const subject = s.state(1, 'pod/shop/a');
  await bus.append(subject, bytes('v1'));
  const backup = await backUp(operator, streamOf('STATE'));
  const told = await followed(bus, 'state', s.stateAll);
  await bus.append(subject, bytes('v2'));
  await bus.append(s.fence(1), bytes('f'));
  await until(() => told.includes('v2'), { what: 'what is stored' });
  const before = await bus.streamState('state');
  // The runbook: nobody makes the stream anew meanwhile, since no replica runs.
  await bus.close();
  await jetStream(operator, `STREAM.DELETE.${streamOf('STATE')}`);
  await restore(operator, backup);
  const again = await connectTo(server.url, { cluster: 'back' });
  const after = await again.streamState('state');
  expect(text((await again.last('state', subject))?.data ?? bytes(''))).toBe('v1');
  expect(before.lastSequence - after.lastSequence).toBe(2);
  const late = await followed(again, 'state', s.stateAll, before.created);
  await until(() => late.includes('v1'), { what: 'what the backup holds' });
  expect(late[0]).toBe('(another)');
  expect(after.created).not.toBe(before.created);
  await again.close();
  await operator.close();
});

test('a mail stream that is full does not say that a message is refused for good', async () => {
  const { bus, operator, s, streamOf } = await scene('full');
  await bus.append(s.send('pod/shop/a'), bytes('one'));
  const { config } = await jetStream<{ config: object }>(operator, `STREAM.INFO.${streamOf('MAIL')}`);
  await jetStream(operator, `STREAM.UPDATE.${streamOf('MAIL')}`, { ...config, max_msgs: 1 });
  expect(await codeOf(bus.append(s.send('pod/shop/a'), bytes('two')))).toBe('BUS_UNKNOWN_OUTCOME');
  await jetStream(operator, `STREAM.UPDATE.${streamOf('MAIL')}`, config);
  expect(await codeOf(bus.append(s.send('pod/shop/a'), bytes('two')))).toBeUndefined();
  await bus.close();
  await operator.close();
});

test('a disk that was lost, and a replica that just starts: no fence of before comes again', async () => {
  const [before, empty] = [await temporaryFolder(), await temporaryFolder()];
  const [cluster, s] = ['test', subjects('test')];
  const first = await startNatsServer({ dir: before.dir });
  const owner = await connectTo(first.url, { cluster });
  const { sequence } = await owner.append(s.fence(1), bytes('owner'));
  // One that is stopped looks after no streams.
  const stopped = await connectTo(first.url, { cluster, onlyAsks: true });
  await owner.close();
  await first.kill();
  const second = await startNatsServer({ dir: empty.dir, port: first.port });
  const starting = await connectTo(second.url, { cluster });
  const guard = { subject: s.fence(1), sequence: 0 };
  const claimed = await starting.append(guard.subject, bytes('starting'), { guard });
  expect(claimed.sequence).toBeGreaterThan(sequence);
  await until(() => stopped.status === 'connected', { what: 'the other connection' });
  const late = { guard: { ...guard, sequence } };
  expect(await codeOf(stopped.append(s.state(1, 'pod/shop/a'), bytes('late'), late))).toBe('BUS_CONFLICT');
  for (const bus of [starting, stopped]) await bus.close();
  await second.kill();
  for (const folder of [before, empty]) await folder.remove();
});
