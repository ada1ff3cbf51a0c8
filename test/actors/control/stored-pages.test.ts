/** History and dead letters by request, page by page: whoever asks needs no right on the streams. */
import { expect, test } from 'vitest';
import { createControl } from '../../../src/actors/control/control-client.ts';
import { pageEndpoints, placeOf } from '../../../src/actors/control/stored-pages.ts';
import { limits } from '../../../src/base/limits.ts';
import type { Transition } from '../../../src/base/views.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { errorInAnswer, serve } from '../../../src/bus/rpc.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { busFeed, followEvents } from '../../../src/cli/events/events-log.ts';
import { polledFeed } from '../../../src/cli/server/polled-feed.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');

function scene() {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  const bus = hub.connect('replica');
  const endpoints = pageEndpoints({ bus, subjects, clock });
  serve(bus, { name: 'orrery', version: '1.0.0', id: 'r1', clock, endpoints });
  const asking = hub.connect('person');
  const control = createControl({ bus: asking, subjects });
  const happen = (name: string, rev: number, note = '') => {
    const id = `pod/shop/${name}` as const;
    const step = { id, rev, fence: 1, replica: 'r1', at: clock.now(), event: { type: 'pod.recheck', note } };
    return bus.append(
      subjects.event(id),
      encodeJson({ ...step, cause: null, from: 'a', to: 'b', effects: [] }),
    );
  };
  /** Requests wait for the clock. */
  const settle = async <T>(work: Promise<T>): Promise<T> => {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    work.then(over, over);
    for (let n = 0; n < 200 && !isOver; n++) await clock.advance(20);
    return work;
  };
  return { clock, bus, asking, control, happen, settle };
}

test('pages follow one another without a gap or a repeat, and end', async () => {
  const { control, happen, settle } = scene();
  for (let rev = 1; rev <= 25; rev++) await settle(happen(`web-${rev % 3}`, rev));
  const revisions: number[] = [];
  let pages = 0;
  for (let next: number | null | undefined; next !== null; pages++) {
    const page = await settle(
      control.history(next === undefined ? { limit: 10 } : { limit: 10, after: next }),
    );
    revisions.push(...page.steps.map(({ rev }) => rev));
    next = page.next;
  }
  expect(revisions).toEqual(Array.from({ length: 25 }, (_, n) => n + 1));
  expect(pages).toBe(3);
  const one = await settle(control.history({ id: 'pod/shop/web-1' }));
  expect(one.steps.every(({ id }) => id === 'pod/shop/web-1')).toBe(true);
  expect(one.steps).toHaveLength(9);
  expect((await settle(control.history({ kind: 'service' }))).steps).toEqual([]);
});

test('I6: a page is bounded in bytes, and by nobody’s wish in number', async () => {
  const { control, happen, settle } = scene();
  const note = 'x'.repeat(200 * 1024);
  for (let rev = 1; rev <= 5; rev++) await settle(happen('web-0', rev, note));
  const page = await settle(control.history({ limit: 1_000_000 }));
  expect(page.steps).toHaveLength(2);
  expect(JSON.stringify(page).length).toBeLessThan(limits.pageBytes);
  expect(page.next).toBe(2);
});

test('a time that has not come is now: no server writes the year 33658', () => {
  const { bus, clock } = scene();
  const place = (since: number) => placeOf({ bus, subjects, clock }, { since }, 1_000);
  expect(place(1e15)).toEqual({ kind: 'time', at: clock.now() });
  expect(place(0)).toEqual({ kind: 'time', at: clock.now() - 1_000 });
});

test('since when is told, and only that is', async () => {
  const { clock, control, happen, settle } = scene();
  await settle(happen('web-0', 1));
  await clock.advance(60_000);
  const since = clock.now();
  await settle(happen('web-0', 2));
  expect((await settle(control.history({ since }))).steps.map(({ rev }) => rev)).toEqual([2]);
});

test.each([{ limit: 'all' }, { limit: 0 }, { after: -1 }, { since: 1.5 }, { id: 7 }, { id: 'nonsense' }])(
  'a request of %j is answered with what is wrong',
  async (request) => {
    const { control, settle } = scene();
    await expect(settle(control.history(request as never))).rejects.toMatchObject({
      code: expect.stringMatching(/^MESSAGE_/),
    });
  },
);

test.each([
  ['over NATS', ({ asking }: ReturnType<typeof scene>) => busFeed({ bus: asking, subjects }, {})],
  ['by asking', ({ control, clock }: ReturnType<typeof scene>) => polledFeed(control.history, {}, clock)],
])(
  'the log of events %s has each transition once: past, live, and from while it was away',
  async (_, feed) => {
    const parts = scene();
    const { clock, asking, control, happen, settle } = parts;
    await settle(happen('web-0', 1));
    const told: Transition[] = [];
    const log = await settle(
      followEvents({
        feed: feed(parts),
        history: (request) => control.history(request),
        since: clock.now() - 60_000,
        isLive: true,
        clock,
        onStep: (step) => void told.push(step),
      }),
    );
    await settle(happen('web-0', 2));
    await clock.advance(100);
    asking.faults.setLink('down');
    await clock.advance(100);
    await settle(happen('web-0', 3));
    await clock.advance(5_000);
    asking.faults.setLink('up');
    await clock.advance(1_000);
    await settle(happen('web-0', 4));
    await clock.advance(1_000);
    expect(told.map(({ rev }) => rev)).toEqual([1, 2, 3, 4]);
    log.stop();
  },
);

test('the log of events has both lives of an actor that counts its steps anew, under one fence', async () => {
  const { clock, control, happen, settle } = scene();
  const since = clock.now();
  await settle(happen('web-0', 1));
  await clock.advance(2 * 3_600_000);
  await settle(happen('web-0', 1));
  const told: Transition[] = [];
  const feed = { listen: () => () => {} };
  const onStep = (step: Transition) => void told.push(step);
  await settle(followEvents({ feed, history: control.history, since, isLive: false, clock, onStep }));
  expect(told.map(({ rev }) => rev)).toEqual([1, 1]);
});

test('one who asks for hundreds of pages at once gets a few, is told BUSY, and leaves room for others', async () => {
  const { asking, bus, happen, settle } = scene();
  await settle(happen('web-0', 1));
  let reading = 0;
  let most = 0;
  const follow = bus.follow;
  bus.follow = async (stream, options) => {
    reading++;
    most = Math.max(most, reading);
    const following = await follow(stream, options);
    return { ...following, stop: () => following.stop().finally(() => reading--) };
  };
  const as = (user: string) =>
    asking.request(subjects.rpcHistory, encodeJson({}), {
      timeoutMs: 10_000,
      headers: { 'Nats-Request-Info': JSON.stringify({ acc: 'PEOPLE', user }) },
    });
  const flood = Array.from({ length: 300 }, () => as('greedy'));
  const modest = as('modest');
  const answers = (await settle(Promise.all(flood))).map((answer) => errorInAnswer(answer)?.code);
  expect(errorInAnswer(await settle(modest))).toBeUndefined();
  expect(new Set(answers)).toEqual(new Set([undefined, 'BUSY']));
  expect(most).toBeLessThanOrEqual(limits.pagesAtOnce);
});
