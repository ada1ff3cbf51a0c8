/** Where an answer is expected cannot be guessed from where others were. */
import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/random.ts';
import type { Wire } from '../../../src/bus/nats/wire.ts';
import { wireRequests } from '../../../src/bus/nats/wire-requests.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { bytes } from '../bus-parts.ts';

test('every request has a token of 128 bits of chance under the inbox', () => {
  const replies: string[] = [];
  const nothing = { stop: () => undefined };
  const wire: Wire = {
    status: 'connected',
    inbox: '_INBOX_person.x',
    serverVersion: '2.12.0',
    maxPayload: 1_048_576,
    isClustered: false,
    onStatus: () => nothing,
    onForbidden: () => nothing,
    publish: (_subject, _data, _headers, reply = '') => void replies.push(reply),
    subscribe: () => nothing,
    close: async () => undefined,
  };
  const requests = wireRequests(wire, new VirtualClock(), systemRandom);
  const handlers = { onAnswer: () => false, onFailure: () => undefined };
  for (let n = 0; n < 100; n++) requests.send('a', bytes(''), { timeoutMs: 1_000 }, handlers);
  for (const reply of replies) expect(reply).toMatch(/^_INBOX_person\.x\.r\.[A-Za-z0-9_-]{22}$/);
  expect(new Set(replies).size).toBe(100);
  // A counter would leave the beginnings alike.
  expect(new Set(replies.map((reply) => reply.slice(-22, -19))).size).toBeGreaterThan(80);
});
