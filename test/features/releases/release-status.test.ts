/**
 * The status of a release is written under the leadership's fence and, where nodes matter, under their epoch;
 * else it says why not.
 */
import { beforeEach, expect, test } from 'vitest';
import { ledShard } from '../../../src/base/limits.ts';
import { decode } from '../../../src/bus/codec.ts';
import { type MemoryHub, memoryHub } from '../../../src/bus/memory/hub.ts';
import type { MemoryBus } from '../../../src/bus/memory/memory-bus.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { writeReleaseStatus } from '../../../src/features/releases/effects/release-status.ts';
import type { ReleaseStatusWrite } from '../../../src/machines/release/release-effects.ts';
import { context } from '../../kube/effects/fake-port.ts';
import { status } from '../../machines/release/release-script.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');
const subject = subjects.releaseStatus('platform');
const text = new TextEncoder().encode('{}');
let clock: VirtualClock;
let hub: MemoryHub;
let bus: MemoryBus;
let fence: number;
let epoch: number;

beforeEach(async () => {
  clock = new VirtualClock();
  hub = memoryHub({ clock, cluster: 'test' });
  bus = hub.connect();
  fence = (await bus.append(subjects.fence(ledShard), text)).sequence;
  epoch = (await bus.append(subjects.nodesEpoch, text)).sequence;
});

const run = (change: Partial<ReleaseStatusWrite>) => {
  const effect = {
    type: 'release-status.write',
    bundle: 'platform',
    fence,
    epoch,
    status: status('Working', '0.2.0', '0.1.0'),
    ...change,
  } as const;
  return writeReleaseStatus({ bus, subjects, clock })(effect, context);
};

test('under both conditions it is stored, with its own sequence told, and the epoch moves', async () => {
  const outcome = await run({});
  const stored = await bus.last('state', subject);
  expect(outcome).toEqual({
    type: 'status.written',
    fence,
    status: status('Working', '0.2.0', '0.1.0'),
    sequence: stored?.sequence,
  });
  expect(decode(stored?.data ?? text)).toMatchObject({ state: 'Working', release: '0.2.0' });
  expect((await bus.last('state', subjects.nodesEpoch))?.sequence).toBeGreaterThan(epoch);
});

test('without an epoch the nodes do not matter, and theirs does not move', async () => {
  expect(await run({ epoch: null })).toMatchObject({ type: 'status.written' });
  expect((await bus.last('state', subjects.nodesEpoch))?.sequence).toBe(epoch);
});

test.each([
  ['the leadership has moved', () => bus.append(subjects.fence(ledShard), text), 'leadership'],
  ['a node has come', () => bus.append(subjects.nodesEpoch, text), 'nodes'],
] as const)('refused because %s: nothing is stored, and it says which', async (_, change, by) => {
  await change();
  expect(await run({})).toEqual({ type: 'status.refused', fence, by });
  expect(await bus.last('state', subject)).toBeUndefined();
});

test('without an answer nobody knows whether it is stored', async () => {
  bus.faults.onAppend = () => 'answerLost';
  const outcome = run({});
  await clock.advance(10_000);
  expect(await outcome).toMatchObject({ type: 'status.unknown', fence });
  expect(hub.stored('state').map((message) => message.subject)).toContain(subject);
});
