/** The page's live feed and what it makes of it, on sockets that the test opens, silences and closes. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type OwnClock, ownClock, VirtualClock } from '../../packages/testing/time/virtual-clock.ts';
import { connectLive, newsText } from '../../src/inspector/page/connection.ts';
import { Store } from '../../src/inspector/page/page-store.ts';

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

const hourMs = 3_600_000;
/** Ends the connection that every test begins with. */
const leaveFirst = () => {
  last()?.onclose?.({ code: 4401 });
  TestSocket.all = [];
};

test('a machine that slept connects again at once, unless what was sent is there', async () => {
  const machine = ownClock(clock);
  leaveFirst();
  connectLive({ clock: machine, address: 'ws://a/api', onState() {}, onMessage() {}, onDoubt() {} });
  const first = last();
  first?.say(hello);
  await clock.advance(5_000);
  machine.suspend(hourMs);
  first?.say(beat);
  await clock.advance(10_000);
  expect(TestSocket.all).toHaveLength(1);
  machine.suspend(hourMs);
  await clock.advance(2_500);
  expect([TestSocket.all.length, first?.isClosed]).toEqual([2, true]);
});

test('a picture that nobody renews says how old it is, whatever the connection does', () => {
  const silence = { ms: 9 * hourMs, asOf: Date.parse('2026-11-22T03:12:05'), isReplica: true };
  const old = 'no news since 9h (as of 03:12:05)';
  expect(newsText('live', null)).toBe('live');
  expect(newsText('live', silence)).toBe(old);
  expect(newsText('lost', silence)).toBe(`reconnecting; ${old}`);
  expect(newsText('lost', { ...silence, asOf: 0 })).toBe('reconnecting; no news since 9h');
  expect(newsText('refused', silence)).toBe('signed out');
});

describe('what the page shows', () => {
  let machine: OwnClock;
  let store: Store;
  const replica = (one: string, lastSeen: number) => ({ replica: one, lastSeen, shards: [], actors: 1 });
  const row = (n: number, rev: number, more: object = {}) => ({
    ...{ id: `pod/shop/web-${n}`, rev, state: 'proving', since: 0, shard: 1, owner: 'a', parked: false },
    reason: { text: '', health: 'ok', since: 0, next: null },
    ...more,
  });
  /** The replica's clock, a second ahead, which does not sleep. */
  const there = () => machine.now() + 1_000;
  const cluster = (owner = 'a') => {
    const now = there();
    const shards = [{ shard: 1, owner, fence: 1, state: 'active', actors: 1 }];
    const letters = { count: 0, newest: [] };
    return {
      ...{ type: 'cluster', now, isWhole: true, missingShards: [], deadLetters: letters, shards },
      replicas: [replica('a', now - 200)],
    };
  };
  const begin = (rows: object[], owner?: string) => {
    last()?.say({ type: 'hello', replica: 'a', release: '1', now: there() });
    last()?.say({ type: 'rows', rows, ended: [] });
    last()?.say(cluster(owner));
  };
  const steps = () => store.rates.of('pod').reduce((sum, one) => sum + one, 0);
  const news = () => store.news.map(({ row, at }) => [row.id.slice(-1), (there() - at) / 1_000]);

  beforeEach(() => {
    machine = ownClock(clock);
    leaveFirst();
    vi.stubGlobal('fetch', () => Promise.reject(new Error('absent')));
    store = new Store({ clock: machine, address: 'ws://replica/api/v1/inspect', beforeFrame() {} });
  });

  test('after an hour of sleep is said to be an hour old at once, and stands still until there is news', async () => {
    begin([row(0, 1)]);
    const asOf = there();
    await clock.advance(900);
    expect([store.silence, store.now() - asOf]).toEqual([null, 900]);
    machine.suspend(hourMs);
    expect(store.silence).toEqual({ ms: hourMs + 900, asOf, isReplica: true });
    expect(store.now()).toBe(asOf);
    await clock.advance(2_000);
    expect(store.silence?.ms).toBe(hourMs + 2_900);
    await clock.advance(500);
    // The new feed has begun; what is shown is still that of an hour ago, and the replica is not to blame.
    last()?.say({ type: 'hello', replica: 'a', release: '1', now: there() });
    expect(store.silence).toMatchObject({ asOf, isReplica: true });
    begin([row(0, 400)]);
    expect([store.silence, store.now() - there()]).toEqual([null, 0]);
  });

  test('counts no steps of an hour as those of a second, and no move as one of now', async () => {
    begin([row(0, 1)]);
    last()?.say({ type: 'rows', rows: [row(0, 3)], ended: [] });
    await clock.advance(1_000);
    expect(steps()).toBe(2);
    machine.suspend(hourMs);
    await clock.advance(2_500);
    begin([row(0, 5_000)], 'b');
    last()?.say({ type: 'rows', rows: [row(0, 5_001)], ended: [] });
    await clock.advance(1_000);
    expect(steps()).toBe(3);
    last()?.say(cluster('a'));
    expect(store.moves.map(({ from, to }) => [from, to])).toEqual([['b', 'a']]);
  });

  test('as just happened is what the replica dates, newest first', async () => {
    begin([row(0, 7, { event: 'pod.observed', at: there() - 600_000 }), row(1, 2)]);
    last()?.say({ type: 'rows', rows: [row(1, 3, { event: 'route.proven', at: there() - 100 })], ended: [] });
    last()?.say({ type: 'rows', rows: [row(2, 3, { event: 'pod.observed' })], ended: [] });
    await clock.advance(1_000);
    expect(news()).toEqual([
      ['2', 1],
      ['1', 1.1],
      ['0', 601],
    ]);
  });
});

describe('a feed that was refused', () => {
  const session = (status: number) =>
    new Response(JSON.stringify(status === 200 ? { user: 'ann', maySend: true, signedIn: true } : {}), {
      status,
    });
  /** A page whose feed ends with "forbidden"; then its question who it is gets these answers, one by one. */
  async function refused(...answers: number[]) {
    leaveFirst();
    let isRefused = false;
    vi.stubGlobal('fetch', async (path: string) => {
      if (path.endsWith('machines')) return Response.json({ machines: [] });
      if (!isRefused) return session(200);
      const status = answers.shift() ?? 200;
      if (status === 0) throw new Error('the replica is gone');
      return session(status);
    });
    const store = new Store({ clock, address: 'ws://replica/api/v1/inspect', beforeFrame() {} });
    last()?.say(hello);
    await clock.advance(1_000);
    const before = TestSocket.all.length;
    isRefused = true;
    last()?.onclose?.({ code: 4403 });
    return { store, tried: () => TestSocket.all.length - before };
  }

  test('whose permission is back goes on', async () => {
    const { store, tried } = await refused(200);
    await clock.advance(100);
    expect([tried(), store.refused]).toEqual([1, null]);
  });

  test('is asked about again until somebody says whether the page may look', async () => {
    const { store, tried } = await refused(0, 503, 401, 200);
    await clock.advance(60_000);
    expect([tried(), store.refused?.status]).toEqual([0, 401]);
  });

  test('for lack of a right goes on once it is granted', async () => {
    const { store, tried } = await refused(403, 403, 200);
    await clock.advance(4_000);
    expect([tried(), store.refused?.status]).toEqual([0, 403]);
    await clock.advance(8_000);
    expect([tried(), store.refused]).toEqual([1, null]);
  });
});
