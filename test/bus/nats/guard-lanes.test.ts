/**
 * Conditional writes on a server that keeps several copies: it refuses what it cannot check yet, and nobody
 * may take that for the loss of a shard.
 */
import { describe, expect, test } from 'vitest';
import type { Appended, AppendOptions, BatchMessage } from '../../../src/bus/bus.ts';
import { conflict, inProcess, refused, unknownOutcome } from '../../../src/bus/bus-errors.ts';
import { guardLanes } from '../../../src/bus/nats/guard-lanes.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { codeOf } from '../bus-parts.ts';

const data = new Uint8Array([1]);
const guard = { subject: 'fence.3', sequence: 7 };

/** A server with copies: a write takes 3 ms, and one at a time for each guarded subject. */
function replicatedServer(options: { readonly isReplicated?: boolean; readonly refuse?: string } = {}) {
  const clock = new VirtualClock();
  const onTheWay = new Set<string>();
  const batches: number[] = [];
  const stored: string[] = [];
  let sequence = 100;
  let fence = guard.sequence;
  const store = async (messages: readonly (BatchMessage & { msgId?: string })[]): Promise<Appended> => {
    const guards = messages.flatMap((message) => (message.guard ? [message.guard] : []));
    if (guards.some(({ subject }) => onTheWay.has(subject))) throw inProcess('wrong last sequence (10164)');
    if (messages.length > 1 && messages.some(({ subject }) => subject === options.refuse))
      throw refused('10201');
    for (const one of guards)
      if (one.subject === guard.subject && one.sequence !== fence) throw conflict(one, '10071');
    for (const { subject } of guards) onTheWay.add(subject);
    await new Promise<void>((resolve) => void clock.after(3, resolve));
    for (const { subject } of guards) onTheWay.delete(subject);
    batches.push(messages.length);
    stored.push(...messages.map(({ subject }) => subject));
    sequence += messages.length;
    return { sequence, duplicate: false };
  };
  const lanes = guardLanes({
    append: (subject: string, bytes: Uint8Array, how: AppendOptions = {}) =>
      store([{ subject, data: bytes, ...how }]),
    appendAll: store,
    clock,
    isReplicated: options.isReplicated ?? true,
  });
  return {
    ...{ clock, lanes, stored, batches },
    moveFence: () => {
      fence += 1;
    },
    block: (subject: string) => void onTheWay.add(subject),
  };
}

const subjects = Array.from({ length: 300 }, (_, n) => `state.${n}`);

describe.each([[true], [false]])('several copies are known of: %j', (isReplicated) => {
  test('each of 300 writes under one fence is stored, with the sequence that it has, in a few batches', async () => {
    const { clock, lanes, stored, batches } = replicatedServer({ isReplicated });
    const writing = Promise.all(subjects.map((subject) => lanes.append(subject, data, { guard })));
    await clock.advance(2_000);
    const sequences = (await writing).map(({ sequence }) => sequence - 101);
    expect(sequences.map((at) => stored[at])).toEqual(subjects);
    expect(batches.length).toBeLessThanOrEqual(5);
  });
});

test('lanes of other fences, and writes without a condition, wait for nobody', async () => {
  const { clock, lanes, block } = replicatedServer();
  block('fence.3');
  const other = lanes.append('state.a', data, { guard: { subject: 'fence.4', sequence: 0 } });
  const plain = lanes.append('event.a', data);
  await clock.advance(10);
  await expect(Promise.all([other, plain])).resolves.toHaveLength(2);
});

test('a fence that moved is a conflict for all who wait under it', async () => {
  const { clock, lanes, moveFence } = replicatedServer();
  const writing = subjects.slice(0, 5).map((subject) => codeOf(lanes.append(subject, data, { guard })));
  moveFence();
  await clock.advance(100);
  const codes = await Promise.all(writing);
  expect(codes.slice(1)).toEqual(Array(4).fill('BUS_CONFLICT'));
});

test('one that the server does not take in a batch is told so alone, and the others are stored', async () => {
  const { clock, lanes, stored } = replicatedServer({ refuse: 'state.2' });
  const writing = Promise.all(subjects.slice(0, 5).map((subject) => lanes.append(subject, data, { guard })));
  await clock.advance(100);
  await writing;
  expect(stored.toSorted()).toEqual(subjects.slice(0, 5));
});

test('what cannot be checked in time is told as not stored, never as lost', async () => {
  const { clock, lanes, block } = replicatedServer();
  block('fence.3');
  const code = codeOf(lanes.append('state.a', data, { guard, timeoutMs: 1_000 }));
  const behind = codeOf(lanes.append('state.b', data, { guard, timeoutMs: 1_000 }));
  await clock.advance(1_100);
  expect(await Promise.all([code, behind])).toEqual(['BUS_UNREACHABLE', 'BUS_UNREACHABLE']);
});

test('of a batch without an answer nobody is told more than is known', async () => {
  const clock = new VirtualClock();
  const fail = async () => {
    throw unknownOutcome('no answer');
  };
  const lanes = guardLanes({ append: fail, appendAll: fail, clock, isReplicated: true });
  const codes = subjects.slice(0, 3).map((subject) => codeOf(lanes.append(subject, data, { guard })));
  await clock.advance(10);
  expect(await Promise.all(codes)).toEqual(Array(3).fill('BUS_UNKNOWN_OUTCOME'));
});
