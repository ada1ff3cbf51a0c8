/** One timer serves all requests, and each still ends in its own time. */
import { expect, test } from 'vitest';
import type { BusStatus } from '../../../src/bus/bus.ts';
import type { Wire } from '../../../src/bus/nats/wire.ts';
import { type WireRequests, wireRequests } from '../../../src/bus/nats/wire-requests.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { bytes } from '../bus-parts.ts';

/** Nobody answers here. */
function scene() {
  const clock = new VirtualClock();
  const replies: string[] = [];
  const statuses: ((status: BusStatus) => void)[] = [];
  const nothing = { stop: () => undefined };
  let answer: Parameters<Wire['subscribe']>[1] = () => {};
  const wire: Wire = {
    ...{ status: 'connected', inbox: '_INBOX', serverVersion: '2.12.0', isClustered: false },
    maxPayload: 1_048_576,
    onStatus(callback) {
      statuses.push(callback);
      return nothing;
    },
    onForbidden: () => ({ stop: () => undefined }),
    publish: (_subject, _data, _headers, reply = '') => void replies.push(reply),
    subscribe(_subject, onMessage) {
      answer = onMessage;
      return nothing;
    },
    close: async () => undefined,
  };
  let set = 0;
  const after = (delayMs: number, fn: () => void) => {
    set += 1;
    return clock.after(delayMs, fn);
  };
  const counted = { now: () => clock.now(), monotonic: () => clock.monotonic(), after };
  let ids = 0;
  const requests = wireRequests(wire, counted, { id: () => `${ids++}` });
  const begun = clock.monotonic();
  const ended: [name: string, how: string, ms: number][] = [];
  return {
    ...{ clock, ended, statuses, timers: () => set },
    answer: (at: number) =>
      answer({
        subject: replies[at] ?? '',
        data: bytes('!'),
        reply: '',
        status: 0,
        description: '',
        headers: () => ({}),
      }),
    ask(name: string, timeoutMs: number, then?: (requests: WireRequests) => void) {
      const note = (how: string) => void ended.push([name, how, clock.monotonic() - begun]);
      const onFailure = (how: string) => {
        note(how);
        then?.(requests);
      };
      const onAnswer = () => {
        note('answered');
        return false;
      };
      requests.send('a', bytes(''), { timeoutMs }, { onAnswer, onFailure });
    },
  };
}

test('a request that is less patient than those before it ends at its own deadline', async () => {
  const { clock, ask, ended } = scene();
  ask('patient', 5_000);
  ask('short', 200);
  await clock.advance(300);
  ask('later', 1_000);
  await clock.advance(6_000);
  expect(ended).toEqual([
    ['short', 'timeout', 225],
    ['later', 'timeout', 1_325],
    ['patient', 'timeout', 5_025],
  ]);
});

test('requests that are answered in time cost one timer for each five seconds, not one each', async () => {
  const { clock, ask, answer, ended, timers } = scene();
  for (let n = 0; n < 100; n++) {
    ask('one', 5_000);
    answer(n);
    await clock.advance(100);
  }
  expect(ended).toHaveLength(100);
  expect(timers()).toBeLessThanOrEqual(3);
});

test('a lost connection ends all requests at once, and later ones have their time', async () => {
  const { clock, ask, ended, statuses } = scene();
  ask('lost', 5_000);
  for (const tell of statuses) tell('disconnected');
  for (const tell of statuses) tell('connected');
  ask('next', 1_000);
  await clock.advance(2_000);
  expect(ended).toEqual([
    ['lost', 'disconnected', 0],
    ['next', 'timeout', 1_025],
  ]);
});
