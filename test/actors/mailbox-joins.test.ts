/** Messages that wait for a busy actor and are taken in one step: none is lost, none is taken twice, each sender is told. */
import { describe, expect, test } from 'vitest';
import type { Hot, MailboxItem, Taken } from '../../src/actors/cell.ts';
import { joinedWithLast } from '../../src/actors/mailbox.ts';
import { shortId } from '../../src/actors/next-record.ts';
import type { ActorRecord } from '../../src/actors/records.ts';
import { pod, TestCluster } from './harness.ts';

const join = (waiting: object, next: object) => ({ type: 'both', waiting, next });
const item = (name: string, more: Partial<MailboxItem> = {}): MailboxItem => ({
  event: { type: name },
  cause: null,
  ...more,
});
const hot = (mailbox: MailboxItem[], record: Partial<ActorRecord> = {}): Hot =>
  ({ mailbox, record: { mail: 0, recentIds: [], timers: [], ...record } }) as unknown as Hot;

describe('two items as one', () => {
  test('the joint item has come as far in the mail as its last message, remembers every id, and tells both senders', () => {
    const told: Array<[string, Taken['kind']]> = [];
    const onTaken = (name: string) => (outcome: Taken) => void told.push([name, outcome.kind]);
    const first = item('a', { mail: 5, messageId: 'one', onTaken: onTaken('a') });
    const second = item('b', { mail: 7, messageId: 'two', onTaken: onTaken('b') });
    const joint = joinedWithLast(hot([first]), second, join);
    expect(joint).toMatchObject({ mail: 7, messageIds: ['one', 'two'] });
    expect(joint?.messageId).toBeUndefined();
    joint?.onTaken?.({ kind: 'ignored' });
    expect(told).toEqual([
      ['a', 'ignored'],
      ['b', 'ignored'],
    ]);
  });

  test('what was taken already does not become part of what was not', () => {
    const waiting = item('a', { mail: 9, messageId: 'one' });
    const again = item('b', { mail: 8, messageId: 'two' });
    expect(joinedWithLast(hot([waiting], { recentIds: [shortId('two')] }), again, join)).toBeNull();
    expect(joinedWithLast(hot([waiting], { mail: 8 }), again, join)).toBeNull();
  });

  test.each([
    ['an outcome', item('a', { cause: 'k', completes: 'k' }), item('b', { cause: 'k' })],
    ['a deadline', item('a', { timer: { id: 't', at: 1 } }), item('b')],
    ['an event that the chart failed over', item('a', { mail: 1, failures: 1 }), item('b', { mail: 2 })],
    ['a message and what an effect says', item('a', { mail: 1 }), item('b', { cause: 'k' })],
    ['what two effects say', item('a', { cause: 'k' }), item('b', { cause: 'l' })],
  ])('%s stands alone', (_, waiting, next) => {
    expect(joinedWithLast(hot([waiting]), next, join)).toBeNull();
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
  const marked = cluster.ranOf('pod-condition.patch').map(({ effect }) => effect.uid);
  expect(marked).toHaveLength(100);
  expect(new Set(marked).size).toBe(100);
  const steps = cluster
    .transitions()
    .filter(({ id, event }) => id === 'service/shop/svc-0' && event.type !== 'service.observed');
  expect(steps.length).toBeLessThan(50);
});
