/** The time line of the cluster: which steps are told, page by page, and how one step led to others. */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { ActorId } from '../../src/base/ids.ts';
import type { HistoryRequest, StoredPort, Transition } from '../../src/base/views.ts';
import { readEvents } from '../../src/inspector/events/event-pages.ts';
import { readNewest } from '../../src/inspector/events/newest-events.ts';
import { readSequence } from '../../src/inspector/events/sequence.ts';
import { inject } from './http-parts.ts';

const midnight = Date.UTC(2026, 10, 22);
const second = 1_000;

function step(id: string, rev: number, at: number, cause: string | null = null, type = 'it.happened') {
  const made: Transition = {
    id: id as ActorId,
    rev,
    at: midnight + at,
    cause,
    event: { type },
    from: 'a',
    to: 'b',
    effects: [],
    fence: 1,
    replica: 'r1',
  };
  return made;
}

/** What is stored, told in pages of `size`. */
function stored(steps: readonly Transition[], size = 2): Pick<StoredPort, 'history'> & { pages: number } {
  const port = {
    pages: 0,
    async history({ since = 0, after, id, kind }: HistoryRequest) {
      port.pages++;
      const wanted = steps
        .map((one, index) => ({ one, index }))
        .filter(({ one, index }) => (after === undefined ? one.at >= since : index > after))
        .filter(({ one }) => id === undefined || one.id === id)
        .filter(({ one }) => kind === undefined || one.id.startsWith(`${kind}/`));
      const page = wanted.slice(0, size);
      return {
        steps: page.map(({ one }) => one),
        next: wanted.length > size ? (page.at(-1)?.index ?? null) : null,
      };
    },
  };
  return port;
}

const night = [
  step('pod/shop/a', 1, 0),
  step('domain/_/x.example', 4, 10 * second, null, 'issuance.refused'),
  step('pod/shop/b', 1, 20 * second),
  step('domain/_/y.example', 2, 30 * second),
  step('pod/shop/a', 2, 100 * second),
];

describe('the steps of a time', () => {
  const all = { since: 0, until: Number.MAX_SAFE_INTEGER, text: '', limit: 100 };
  const told = async (request: object, port = stored(night)) =>
    (await readEvents(port, { ...all, ...request })).steps.map(({ id, rev }) => `${id}/${rev}`);

  test('all of them, over as many pages as there are', async () => {
    expect(await told({})).toEqual(night.map(({ id, rev }) => `${id}/${rev}`));
  });

  test('from when to when, of which kind, saying what', async () => {
    const time = { since: midnight + 5 * second, until: midnight + 25 * second };
    expect(await told(time)).toEqual(['domain/_/x.example/4', 'pod/shop/b/1']);
    expect(await told({ ...time, kind: 'domain' })).toEqual(['domain/_/x.example/4']);
    expect(await told({ text: 'REFUSED' })).toEqual(['domain/_/x.example/4']);
  });

  test('no page is read that lies wholly after the time', async () => {
    const late = Array.from({ length: 40 }, (_, n) => step('pod/shop/z', n, (1_000 + n) * second));
    const port = stored([...night, ...late]);
    await told({ until: midnight + 25 * second }, port);
    expect(port.pages).toBeLessThanOrEqual(4);
  });

  test('when there are enough, it is told where to go on', async () => {
    const port = stored(night);
    const first = await readEvents(port, { ...all, limit: 2 });
    expect(first.steps).toHaveLength(2);
    const rest = await readEvents(port, { ...all, after: first.next ?? -1 });
    expect([...first.steps, ...rest.steps]).toEqual(night);
    expect(rest.next).toBeNull();
  });
});

describe('the newest steps', () => {
  const told = ({ steps }: { readonly steps: readonly Transition[] }) => steps.map(({ rev }) => rev);
  const asked = { since: 0, until: midnight + 3_600 * second, text: '', limit: 4 };
  const numbered = (ats: readonly number[]) => ats.map((at, rev) => step('pod/shop/a', rev, at));

  test('come first, however long ago; the next answer goes on where this one ends', async () => {
    const port = stored(numbered([0, 10, 1_000, 1_000, 1_000, 3_000, 3_500].map((at) => at * second)), 500);
    const first = await readNewest(port, asked);
    expect(told(first)).toEqual([6, 5, 4, 3, 2]);
    const rest = await readNewest(port, { ...asked, until: first.earlier ?? 0, since: midnight });
    expect([told(rest), rest.earlier]).toEqual([[1, 0], null]);
  });

  test('the beginning of what is asked for ends it', async () => {
    const port = stored(numbered([0, 1_000, 2_000].map((at) => at * second)), 500);
    const { steps, earlier } = await readNewest(port, { ...asked, since: midnight + 500 * second });
    expect([told({ steps }), earlier]).toEqual([[2, 1], null]);
  });

  test('much that happened at once is read in shorter spans', async () => {
    const crowded = numbered(Array.from({ length: 280 }, (_, n) => 3_558 * second + n * 150));
    const port = stored(crowded, 10);
    expect(told(await readNewest(port, asked))).toEqual([279, 278, 277, 276]);
    const atOnce = stored(numbered(Array.from({ length: 300 }, (_, n) => 3_599 * second + n)), 10);
    await expect(readNewest(atOnce, asked)).rejects.toThrow(/^too much happened at 2026-11-22T01:00:00/);
    // What came after it is told first.
    const later = stored(
      numbered([
        ...Array.from({ length: 300 }, (_, n) => 3_570 * second + n),
        3_595 * second,
        3_598 * second,
      ]),
      10,
    );
    const page = await readNewest(later, asked);
    expect([told(page), (page.earlier ?? 0) >= midnight + 3_570 * second]).toEqual([[301, 300], true]);
    await expect(readNewest(later, { ...asked, until: page.earlier ?? 0 })).rejects.toThrow(/^too much/);
  });

  test('what nobody said is looked for in a bounded number of spans', async () => {
    const port = stored(numbered([0, 3_000 * second]), 500);
    const { steps, earlier } = await readNewest(port, { ...asked, since: -1e15, text: 'unsaid' });
    expect(steps).toEqual([]);
    expect(earlier).toBeLessThan(midnight - 24 * 3_600 * second);
    expect(port.pages).toBeLessThan(20);
  });
});

describe('how a step led to others', () => {
  const chain = [
    step('service/shop/cart', 7, 0, null, 'world.changed'),
    step('pod/shop/a', 3, 20, 'service/shop/cart/7/0', 'route.proven'),
    step('pod/shop/b', 9, 30, 'service/shop/cart/7/1', 'route.proven'),
    step('workload/shop/web', 2, 45, 'pod/shop/a/3/1', 'pod.ready'),
    step('pod/shop/other', 1, 50, 'service/shop/other/1/0'),
  ];
  const told = async (id: string, rev: number, at: number) =>
    (await readSequence(stored(chain), { id: id as ActorId, rev, by: midnight + at }, midnight))?.steps.map(
      (one) => `${one.depth} ${one.step.id}/${one.step.rev}`,
    );
  const whole = ['0 service/shop/cart/7', '1 pod/shop/a/3', '2 workload/shop/web/2', '1 pod/shop/b/9'];

  test('from its beginning to its ends, wherever in it one looks', async () => {
    expect(await told('service/shop/cart', 7, 0)).toEqual(whole);
    expect(await told('pod/shop/a', 3, 20)).toEqual(whole);
    expect(await told('workload/shop/web', 2, 45)).toEqual(whole);
  });

  test('a step whose cause is not kept any more begins its sequence', async () => {
    expect(await told('pod/shop/other', 1, 50)).toEqual(['0 pod/shop/other/1']);
  });

  test('a step that is not kept has none', async () => {
    expect(await told('pod/shop/a', 99, 20)).toBeUndefined();
  });
});

describe('of an actor that ended, was forgotten and came back, so that its revisions repeat', () => {
  const hours = 3_600_000;
  const day = [
    step('service/shop/cart', 7, 0),
    step('pod/shop/a', 1, 1_000, 'service/shop/cart/7/0', 'first.life'),
    step('pod/shop/a', 2, 2_000, null, 'first.end'),
    step('service/shop/cart', 8, 9 * hours),
    step('pod/shop/a', 1, 9 * hours + 1_000, 'service/shop/cart/8/0', 'second.life'),
    step('pod/shop/b', 4, 9 * hours + 2_000, 'pod/shop/a/1/0'),
  ];
  const now = midnight + 12 * hours;
  const told = async (by: number | null) => {
    const view = await readSequence(stored(day), { id: 'pod/shop/a', rev: 1, by }, now);
    return view?.steps.map((one) => `${one.step.id}/${one.step.rev} ${one.step.event.type}`);
  };
  const first = ['service/shop/cart/7 it.happened', 'pod/shop/a/1 first.life'];
  const second = ['service/shop/cart/8 it.happened', 'pod/shop/a/1 second.life', 'pod/shop/b/4 it.happened'];

  test('the last is meant, unless a time says otherwise', async () => {
    expect(await told(null)).toEqual(second);
    expect(await told(midnight + 9 * hours + 1_000)).toEqual(second);
  });

  test('the time of the step, and any between it and the next life, means the former', async () => {
    for (const at of [1_000, 5_000, 8 * hours]) expect(await told(midnight + at)).toEqual(first);
  });

  test('a time before both means none of them', async () => {
    expect(await told(midnight - 1 * hours)).toBeUndefined();
  });

  test('a page of an earlier release, which says 0, is shown the last', async () => {
    const { statusCode, json } = await inject(
      { stored: stored(day, 500), clock: { now: () => now } as never },
      { url: '/api/v1/events/sequence?id=pod/shop/a&rev=1&at=0' },
    );
    expect([statusCode, json().steps[1].step.event.type]).toEqual([200, 'second.life']);
  });

  test('an actor with too many steps to look through is no actor without the step', async () => {
    const busy = Array.from({ length: 9_000 }, (_, n) => step('pod/shop/a', n + 2, 11.9 * hours + n));
    const asked = (rev: number, by: number | null = null) =>
      readSequence(stored([...day, ...busy], 500), { id: 'pod/shop/a', rev, by }, now);
    await expect(asked(9_000)).rejects.toMatchObject({ message: expect.stringContaining('say when') });
    const when = midnight + 11.9 * hours;
    expect((await asked(2_000, when))?.steps).toHaveLength(1);
    expect((await asked(1))?.steps).toHaveLength(3);
  });
});

describe('over HTTP', () => {
  const get = async (url: string, parts = {}) => {
    const answer = await inject({ stored: stored(night, 500), ...parts }, { url });
    return { status: answer.statusCode, body: answer.json() };
  };

  test('a time has a zone, or is milliseconds', async () => {
    const { status, body } = await get(
      '/api/v1/events?from=2026-11-22T01:00:05%2B01:00&to=2026-11-22T00:00:15Z',
    );
    expect(status).toBe(200);
    expect(body.steps.map(({ id }: Transition) => id)).toEqual(['domain/_/x.example']);
    const same = await get(`/api/v1/events?from=${midnight + 5_000}&to=${midnight + 15_000}`);
    expect(same.body).toEqual(body);
  });

  test.each([
    ['from=03:10', 'a time such as'],
    ['kind=planet', 'pod'],
    ['id=pod', 'KIND/NAMESPACE/NAME'],
    ['limit=0', 'from 1 on'],
    ['colour=red', 'the parameters from, to'],
    ['from=2&to=1', 'before from'],
    ['order=random', 'oldest or newest'],
    ['order=newest&after=3', 'pass earlier as to'],
  ])('%s: what is wrong is told', async (query, right) => {
    const { status, body } = await get(`/api/v1/events?${query}`);
    expect([status, body.error.code]).toEqual([400, 'USAGE']);
    expect(body.error.message).toContain(right);
  });

  test('the newest first, of the last 24 hours', async () => {
    const now = midnight + 24 * 3_600_000 + 5_000;
    const clock = { ...systemClock, now: () => now };
    const { body } = await get('/api/v1/events?order=newest', { clock });
    expect(body.steps.map(({ id }: Transition) => id)).toEqual(
      night
        .slice(1)
        .toReversed()
        .map(({ id }) => id),
    );
    expect(body.earlier).toBeNull();
  });

  test('a sequence, or that there is none', async () => {
    const found = await get(`/api/v1/events/sequence?id=pod/shop/a&rev=1&at=${midnight}`);
    expect(found.body.steps).toHaveLength(1);
    const missing = await get(`/api/v1/events/sequence?id=pod/shop/a&rev=77&at=${midnight}`);
    expect([missing.status, missing.body.error.message]).toEqual([
      404,
      'there is no step 77 of pod/shop/a in the last 24 hours',
    ]);
  });
});
