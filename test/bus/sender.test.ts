/** Who asks: what the server says counts before what anybody writes, and nothing of it breaks a line. */
import { expect, test } from 'vitest';
import { causeBy, senderIn } from '../../src/bus/sender.ts';

const info = (value: unknown) => ({
  'Nats-Request-Info': typeof value === 'string' ? value : JSON.stringify(value),
});

test.each([
  [{ acc: 'ORRERY_PEOPLE', user: 'person', rtt: 12 }, 'nats:ORRERY_PEOPLE/person'],
  [{ acc: 'ORRERY_PEOPLE' }, 'nats:ORRERY_PEOPLE'],
  [{ acc: 'ORRERY_PEOPLE', user: 7 }, 'nats:ORRERY_PEOPLE'],
  [{ user: 'person' }, null],
  [null, null],
  ['{', null],
  ['['.repeat(9_000), null],
  [{ acc: 'A', user: 'a\nb\u202eé' }, 'nats:A/a?b??'],
])('the server says %j', (value, by) => {
  expect(senderIn(info(value))).toBe(by);
});

test('what a replica says of an HTTP caller counts only where the server says nothing', () => {
  const by = { 'Orrery-By': 'http:alice' };
  expect(senderIn(by)).toBe('http:alice');
  expect(senderIn({ ...by, ...info({ acc: 'P', user: 'bob' }) })).toBe('nats:P/bob');
  expect(senderIn({ ...by, ...info('{') })).toBeNull();
  expect(senderIn({})).toBeNull();
});

test('a name is of bounded length', () => {
  expect(senderIn(info({ acc: 'A', user: 'x'.repeat(5_000) }))).toHaveLength(200);
});

test('a cause names who sent', () => {
  const cause = causeBy('m-17', 'nats:P/bob');
  expect(cause).toBe('m-17 by nats:P/bob');
  expect(causeBy('pod/shop/web-0/3/0', null)).toBe('pod/shop/web-0/3/0');
});
