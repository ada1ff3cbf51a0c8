/**
 * Messages that wait for a busy actor and are taken in one step: none is lost, none is taken twice, each
 * sender is told.
 */
import { describe, expect, test } from 'vitest';
import { put, takeNext } from '../../../src/actors/host/mailbox.ts';
import type { Hot, MailboxItem, Taken } from '../../../src/actors/host/owned.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import { shortId } from '../../../src/actors/shards/message-ids.ts';
import { pod, TestCluster } from '../harness.ts';

const join = (waiting: object, next: object) => ({ type: 'both', waiting, next });
const item = (name: string, more: Partial<MailboxItem> = {}): MailboxItem => ({
  event: { type: name },
  cause: null,
  ...more,
});
const hot = (mailbox: MailboxItem[], record: Partial<ActorRecord> = {}): Hot =>
  ({ mailbox, record: { mail: 0, recentIds: [], timers: [], ...record } }) as unknown as Hot;

describe('an observation', () => {
  const world = (name: string, n: number) => item(name, { world: n, replaces: name });
  const names = ({ mailbox }: Hot) => mailbox.map(({ event, world: n }) => `${event.type}${n ?? ''}`);
  const waitingUntil = (until: number): Hot =>
    ({ ...hot([item('m', { mail: 1 }), world('w', 1)]), company: { until } }) as unknown as Hot;

  test('that waits for company parts no messages, and is replaced by the next of its sort; the world goes on', () => {
    const waiting = waitingUntil(1_000);
    for (const one of [item('n', { mail: 2 }), world('v', 2), item('o', { mail: 3 }), world('w', 4)])
      put(waiting, one, 999);
    expect(names(waiting)).toEqual(['m', 'n', 'o', 'w4', 'v4']);
  });

  test('that has waited long enough, or waits for none, keeps its place: nobody passes it for ever', () => {
    const waiting = waitingUntil(1_000);
    put(waiting, item('n', { mail: 2 }), 1_000);
    expect(names(waiting)).toEqual(['m', 'w1', 'n']);
    const busy = { ...waitingUntil(0), company: null };
    put(busy, item('n', { mail: 2 }), 0);
    expect(names(busy)).toEqual(['m', 'w1', 'n']);
  });
});

describe('what waits behind one another', () => {
  test('is taken as one: as far in the mail as its last message, with every id, and each sender is told', () => {
    const told: Array<[string, Taken['kind']]> = [];
    const onTaken = (name: string) => (outcome: Taken) => void told.push([name, outcome.kind]);
    const waiting = hot([
      item('a', { mail: 5, messageId: 'one', onTaken: onTaken('a') }),
      item('b', { mail: 7, messageId: 'two', onTaken: onTaken('b') }),
      item('c', { mail: 8, onTaken: onTaken('c') }),
    ]);
    const joint = takeNext(waiting, join);
    expect(waiting.mailbox).toEqual([]);
    expect(joint).toMatchObject({ mail: 8, messageIds: ['one', 'two'] });
    expect(joint?.messageId).toBeUndefined();
    joint?.onTaken?.({ kind: 'ignored' });
    expect(told).toEqual(['a', 'b', 'c'].map((name) => [name, 'ignored']));
  });

  test('what was taken already becomes part of nothing, first or later', () => {
    const record = { mail: 4, recentIds: [`${shortId('zero')} ${shortId('old')}`] };
    const old = item('old', { mail: 9, messageId: 'old' });
    const older = item('older', { mail: 3 });
    const fresh = item('fresh', { mail: 10, messageId: 'new' });
    for (const again of [old, older]) {
      expect(takeNext(hot([fresh, again], record), join)).toBe(fresh);
      expect(takeNext(hot([again, fresh], record), join)).toBe(again);
    }
  });

  test('a message that came twice is taken once', () => {
    const first = item('a', { mail: 1, messageId: 'one' });
    expect(takeNext(hot([first, item('a', { mail: 2, messageId: 'one' })]), join)).toBe(first);
  });

  test.each([
    ['an outcome', item('a', { cause: 'k', completes: 'k' }), item('b', { cause: 'k' })],
    ['a deadline', item('a', { timer: { id: 't', at: 1 } }), item('b')],
    ['an observation', item('a', { replaces: 'o' }), item('b')],
    ['an event that the chart failed over', item('a', { mail: 1, failures: 1 }), item('b', { mail: 2 })],
    ['a message and what an effect says', item('a', { mail: 1 }), item('b', { cause: 'k' })],
    ['what two effects say', item('a', { cause: 'k' }), item('b', { cause: 'l' })],
  ])('%s is taken for itself', (_, first, next) => {
    const record = first.timer ? { timers: [{ ...first.timer, event: { type: 'a' } }] } : {};
    const waiting = hot([first, next], record);
    expect(takeNext(waiting, join)).toBe(first);
    expect(waiting.mailbox).toEqual([next]);
  });
});

test('a hundred Pods that ask a Service at once cost it a few steps, and each of them becomes ready', async () => {
  const cluster = new TestCluster();
  await cluster.replica('a');
  await cluster.shop(0, 1);
  const puts = Array.from({ length: 100 }, (_, n) => {
    const address = { ip: `10.2.0.${n + 1}`, family: 'IPv4' } as const;
    return cluster.put('pods', 'shop', `many-${n}`, pod(n, { uid: `many-${n}`, address }));
  });
  await Promise.all(puts);
  await cluster.clock.advance(2_000);
  const marked = cluster
    .ranOf('pod-condition.patch')
    .filter(({ effect }) => effect.status === 'True')
    .map(({ effect }) => effect.uid);
  expect(marked).toHaveLength(100);
  expect(new Set(marked).size).toBe(100);
  const steps = cluster
    .transitions()
    .filter(({ id, event }) => id === 'service/shop/svc-0' && event.type !== 'service.observed');
  expect(steps.length).toBeLessThan(50);
});
