/** The page's live feed, on sockets that the test opens, silences and closes. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { VirtualClock } from '../../packages/testing/time/virtual-clock.ts';
import { connectLive } from '../../src/inspector/page/connection.ts';

class TestSocket {
  static readonly OPEN = 1;
  static all: TestSocket[] = [];
  readyState = 1;
  isClosed = false;
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: ((end: { code: number }) => void) | null = null;
  constructor() {
    TestSocket.all.push(this);
  }
  send(): void {}
  /** As in a browser whose peer is gone: nobody answers the closing. */
  close(): void {
    this.isClosed = true;
  }
  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

let clock: VirtualClock;
let states: string[];
let heard: string[];
let doubts: number;
beforeEach(() => {
  TestSocket.all = [];
  vi.stubGlobal('WebSocket', TestSocket);
  clock = new VirtualClock();
  states = [];
  heard = [];
  doubts = 0;
  connectLive({
    clock,
    address: 'ws://replica/api/v1/inspect',
    onState: (state) => void states.push(state),
    onMessage: ({ type }) => void heard.push(type),
    onDoubt: () => void doubts++,
  });
});
afterEach(() => vi.unstubAllGlobals());

const last = () => TestSocket.all.at(-1);
const hello = { type: 'hello', replica: 'a', release: '1', now: 0 };
const beat = { type: 'beat', now: 0, asOf: 0 };

test('a connection that is silent, and that nobody ends, is opened again', async () => {
  const first = last();
  first?.say(hello);
  for (let second = 0; second < 30; second++) {
    await clock.advance(1_000);
    first?.say(beat);
  }
  expect(TestSocket.all).toHaveLength(1);
  await clock.advance(16_000);
  expect(TestSocket.all).toHaveLength(2);
  expect(first?.isClosed).toBe(true);
  last()?.say(hello);
  expect(states).toEqual(['connecting', 'live', 'lost', 'live']);
  // Whatever still comes from the one that was given up.
  heard.length = 0;
  first?.say(beat);
  first?.onclose?.({ code: 1006 });
  expect([heard, states.at(-1)]).toEqual([[], 'live']);
  await clock.advance(5_000);
  expect(TestSocket.all).toHaveLength(2);
});

test('one that never opens is tried again too', async () => {
  await clock.advance(60_000);
  expect(TestSocket.all.length).toBeGreaterThan(2);
  expect(states.at(-1)).toBe('lost');
});

test('a replica with too many pages is said to be full until one is free', async () => {
  for (let attempt = 0; attempt < 3; attempt++) {
    last()?.onclose?.({ code: 1013 });
    await clock.advance(5_000);
  }
  last()?.say(hello);
  expect(states).toEqual(['connecting', 'full', 'full', 'full', 'live']);
});

test('a replica that is gone is not asked whether it still accepts the token; the next to be tried is', async () => {
  last()?.say(hello);
  last()?.onclose?.({ code: 1006 });
  expect([states.at(-1), doubts]).toEqual(['lost', 0]);
  await clock.advance(100);
  expect(TestSocket.all).toHaveLength(2);
  last()?.onclose?.({ code: 1006 });
  expect([states.at(-1), doubts]).toEqual(['lost', 1]);
  await clock.advance(400);
  last()?.onclose?.({ code: 1013 });
  expect([states.at(-1), doubts]).toEqual(['full', 1]);
});
