/** The life of a watch, walked in virtual time: what is asked of the API server, and when. */
import { expect, test } from 'vitest';
import { startLocal } from '../../../src/actors/host/local.ts';
import { seededRandom } from '../../../src/base/random.ts';
import {
  type WatchContext,
  type WatchEffect,
  type WatchEvent,
  watchChart,
  watchSilentSince,
} from '../../../src/machines/watch/watch.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

type Outcome = Omit<WatchEvent, 'attempt'> & { readonly type: string };

/** A chart whose effects are answered by the test, one by one. */
function begin() {
  const clock = new VirtualClock();
  const open: Array<{
    effect: WatchEffect;
    answer: (event: WatchEvent) => void;
    emit: (event: WatchEvent) => void;
  }> = [];
  const asked: Array<{ at: number; effect: WatchEffect }> = [];
  const actor = startLocal({
    chart: watchChart,
    input: { resource: 'pods', namespace: null },
    runEffect: (effect, { emit }) =>
      new Promise((resolve) => {
        const known = effect as unknown as WatchEffect;
        asked.push({ at: clock.monotonic(), effect: known });
        open.push({ effect: known, answer: resolve, emit });
      }),
    clock,
    random: seededRandom(7),
  });
  const latest = () => {
    const last = open.at(-1);
    if (last === undefined) throw new Error('nothing was asked');
    return last;
  };
  return {
    clock,
    asked,
    actor,
    latest,
    context: () => actor.snapshot().context as WatchContext,
    /** Answers the latest request. */
    async answer(outcome: Outcome) {
      const { effect, answer } = latest();
      answer({ ...outcome, attempt: effect.attempt } as WatchEvent);
      await settle();
    },
    async report(resourceVersion: string) {
      const { effect, emit } = latest();
      emit({ type: 'watch.advanced', attempt: effect.attempt, resourceVersion });
      await settle();
    },
    /** The server accepts the stream. */
    async open() {
      const { effect, emit } = latest();
      emit({ type: 'watch.opened', attempt: effect.attempt });
      await settle();
    },
    async reach(state: 'watching') {
      await this.answer(page('', '100'));
      await this.open();
      expect(actor.state()).toBe(state);
    },
  };
}

const page = (token: string, resourceVersion = '100', objects = 500) => ({
  type: 'watch.page.listed' as const,
  page: token,
  resourceVersion,
  objects,
});
const failed = (code: string, more: { retryAfterMs?: number; resourceVersion?: string } = {}) => ({
  type: 'watch.failed' as const,
  code,
  message: `it was ${code}`,
  retryAfterMs: more.retryAfterMs ?? null,
  resourceVersion: more.resourceVersion ?? null,
});
const ended = (resourceVersion: string) => ({ type: 'watch.ended' as const, resourceVersion });

test('a list is read page by page, then watched from its version', async () => {
  const watch = begin();
  expect(watch.latest().effect).toEqual({ type: 'watch.list', attempt: 1, page: '' });
  await watch.answer(page('next-1'));
  expect(watch.latest().effect).toMatchObject({ type: 'watch.list', page: 'next-1' });
  expect(watch.context().synced).toBe(false);
  await watch.answer(page('', '100', 20));
  expect(watch.latest().effect).toMatchObject({ type: 'watch.open', resourceVersion: '100' });
  expect(watch.context()).toMatchObject({ synced: true, listed: 520, lists: 1 });
});

test('a stream is asked to last between half a minute and three quarters of one', async () => {
  const watch = begin();
  await watch.reach('watching');
  const { effect } = watch.latest();
  expect(effect.type === 'watch.open' && effect.timeoutSeconds).toBeGreaterThanOrEqual(30);
  expect(effect.type === 'watch.open' && effect.timeoutSeconds).toBeLessThan(45);
});

test('a stream that ended in good order is opened again at once, from the last version', async () => {
  const watch = begin();
  await watch.reach('watching');
  await watch.report('105');
  await watch.clock.advance(60_000);
  await watch.answer(ended('109'));
  expect(watch.asked.at(-1)).toMatchObject({
    at: 60_000,
    effect: { type: 'watch.open', resourceVersion: '109' },
  });
  expect(watch.context().failures).toBe(0);
});

test('a server that ends every stream at once is asked ever more seldom', async () => {
  const watch = begin();
  await watch.reach('watching');
  for (let round = 0; round < 12; round += 1) {
    await watch.answer(ended('100'));
    await watch.clock.advance(31_000);
  }
  expect(watch.asked.length).toBe(14);
  const pauses = watch.asked.slice(1).map(({ at }, index) => at - (watch.asked[index]?.at ?? 0));
  expect(pauses.at(1)).toBe(0);
  expect(Math.max(...pauses)).toBeGreaterThan(5_000);
});

test('410 lists afresh at once, and keeps what was seen visible', async () => {
  const watch = begin();
  await watch.reach('watching');
  await watch.clock.advance(20_000);
  await watch.answer(failed('KUBE_EXPIRED', { resourceVersion: '130' }));
  expect(watch.asked.at(-1)).toMatchObject({ at: 20_000, effect: { type: 'watch.list', page: '' } });
  expect(watch.context().synced).toBe(true);
});

test('410 again and again does not make a storm of lists', async () => {
  const watch = begin();
  await watch.reach('watching');
  for (let round = 0; round < 20; round += 1) {
    const { type } = watch.latest().effect;
    await watch.answer(type === 'watch.open' ? failed('KUBE_EXPIRED') : page('', '100'));
    await watch.clock.advance(300);
  }
  expect(watch.asked.filter(({ effect }) => effect.type === 'watch.list').length).toBeLessThan(7);
});

test('an expired continue token begins the list anew', async () => {
  const watch = begin();
  await watch.answer(page('next-1'));
  await watch.answer(failed('KUBE_EXPIRED'));
  expect(watch.latest().effect).toMatchObject({ type: 'watch.list', page: '' });
  expect(watch.context().lists).toBe(2);
});

test('Retry-After is honoured', async () => {
  const watch = begin();
  await watch.answer(failed('KUBE_THROTTLED', { retryAfterMs: 17_000 }));
  await watch.clock.advance(16_999);
  expect(watch.asked).toHaveLength(1);
  await watch.clock.advance(1_000);
  expect(watch.asked).toHaveLength(2);
});

test('pauses grow from a quarter of a second to half a minute, and never beyond', async () => {
  const watch = begin();
  const pauses: number[] = [];
  for (let round = 0; round < 60; round += 1) {
    const at = watch.clock.monotonic();
    await watch.answer(failed('KUBE_SERVER'));
    await watch.clock.advance(30_000);
    pauses.push((watch.asked.at(-1)?.at ?? 0) - at);
  }
  expect(watch.asked).toHaveLength(61);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(250);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(30_000);
  expect(pauses[0]).toBeLessThanOrEqual(500);
  expect(Math.max(...pauses.slice(10))).toBeGreaterThan(15_000);
});

test('a stream that lasted makes the pauses small again', async () => {
  const watch = begin();
  for (let round = 0; round < 10; round += 1) {
    await watch.answer(failed('KUBE_UNREACHABLE'));
    await watch.clock.advance(30_000);
  }
  await watch.reach('watching');
  await watch.clock.advance(15_000);
  await watch.answer(failed('KUBE_UNREACHABLE', { resourceVersion: '140' }));
  expect(watch.context().retryInMs).toBeLessThanOrEqual(500);
  await watch.clock.advance(500);
  expect(watch.latest().effect).toMatchObject({ type: 'watch.open', resourceVersion: '140' });
});

test('a stream that broke off goes on from the last event that was seen', async () => {
  const watch = begin();
  await watch.reach('watching');
  await watch.report('101');
  await watch.answer(failed('KUBE_UNREACHABLE', { resourceVersion: '107' }));
  await watch.clock.advance(1_000);
  expect(watch.latest().effect).toMatchObject({ type: 'watch.open', resourceVersion: '107' });
});

test('a page that failed is asked for again; the pages before it are not', async () => {
  const watch = begin();
  await watch.answer(page('next-1'));
  await watch.answer(failed('KUBE_SERVER'));
  await watch.clock.advance(1_000);
  expect(watch.latest().effect).toMatchObject({ type: 'watch.list', page: 'next-1' });
});

test('a stream with a line that cannot be read is not tried from the same version for ever', async () => {
  const watch = begin();
  await watch.reach('watching');
  await watch.answer(failed('MESSAGE_TOO_LARGE', { resourceVersion: '107' }));
  await watch.clock.advance(1_000);
  expect(watch.latest().effect).toMatchObject({ type: 'watch.list', page: '' });
});

test('a version that the server refuses again and again is given up; one that the network refuses is not', async () => {
  const watch = begin();
  await watch.reach('watching');
  const fail = async (code: string) => {
    await watch.answer(failed(code, { resourceVersion: '100' }));
    await watch.clock.advance(watch.context().retryInMs);
  };
  for (let round = 0; round < 8; round += 1) {
    await fail('KUBE_UNREACHABLE');
    expect(watch.latest().effect.type).toBe('watch.open');
  }
  await fail('KUBE_SERVER');
  expect(watch.latest().effect.type).toBe('watch.list');
});

test('an outcome that never comes is not waited for', async () => {
  const watch = begin();
  await watch.clock.advance(91_000);
  expect(watch.asked).toHaveLength(2);
  await watch.reach('watching');
  await watch.clock.advance(200_000);
  expect(watch.asked.length).toBeGreaterThan(3);
  expect(watch.context().restarts).toBeGreaterThanOrEqual(2);
});

test('an outcome of a request that was given up changes nothing', async () => {
  const watch = begin();
  const first = watch.latest();
  await watch.clock.advance(91_000);
  first.answer({ ...page('', '1'), attempt: first.effect.attempt });
  await settle();
  expect(watch.actor.state()).toBe('listing');
  expect(watch.context().synced).toBe(false);
});

test('a wish for another list is granted at once while watching, and after the list that is in work', async () => {
  const watch = begin();
  watch.actor.send({ type: 'watch.relist' });
  await watch.answer(page('next-1'));
  await watch.answer(page(''));
  expect(watch.latest().effect).toMatchObject({ type: 'watch.list', page: '' });
  await watch.answer(page(''));
  expect(watch.actor.state()).toBe('watching');
  watch.actor.send({ type: 'watch.relist' });
  await settle();
  expect(watch.latest().effect).toMatchObject({ type: 'watch.list', page: '' });
  expect(watch.context().lists).toBe(3);
});

test('whatever happens, it goes on: ten thousand random outcomes', async () => {
  const watch = begin();
  const random = seededRandom(11);
  const codes = [
    'KUBE_EXPIRED',
    'KUBE_THROTTLED',
    'KUBE_SERVER',
    'KUBE_UNREACHABLE',
    'KUBE_NOT_FOUND',
    'MESSAGE_UNREADABLE',
  ];
  let last = 0;
  for (let round = 0; round < 10_000; round += 1) {
    const { type } = watch.latest().effect;
    if (watch.asked.length > last) {
      last = watch.asked.length;
      const code = codes[Math.floor(random.next() * codes.length)] ?? '';
      const good =
        type === 'watch.list' ? page(random.next() < 0.5 ? 'more' : '', `${round}`) : ended(`${round}`);
      if (random.next() < 0.9) await watch.answer(random.next() < 0.5 ? good : failed(code));
    }
    if (random.next() < 0.02) watch.actor.send({ type: 'watch.relist' });
    await watch.clock.advance(random.next() * 40_000);
  }
  expect(watch.actor.snapshot().status).toBe('active');
  expect(watch.asked.length).toBeGreaterThan(4_000);
});

const silence = ({ clock, context }: ReturnType<typeof begin>) => {
  const since = watchSilentSince(context(), clock.now());
  return since === null ? null : Math.round((clock.now() - since) / 1000);
};

test('a quiet resource is not silent: the server ends each stream when it was asked to', async () => {
  const watch = begin();
  await watch.reach('watching');
  for (let stream = 0; stream < 10; stream += 1) {
    const { effect } = watch.latest();
    const lasts = effect.type === 'watch.open' ? effect.timeoutSeconds * 1000 : 0;
    await watch.clock.advance(lasts);
    expect(silence(watch)).toBe(null);
    await watch.answer(ended('100'));
    await watch.open();
  }
});

test('a stream that does not end when it should is silent, and stays so over attempts that nobody answers', async () => {
  const watch = begin();
  await watch.reach('watching');
  await watch.clock.advance(46_000);
  const before = silence(watch) ?? Number.NaN;
  expect(before).toBeGreaterThanOrEqual(1);
  await watch.answer(failed('KUBE_UNREACHABLE'));
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    // The pause before an attempt is jittered; 60 s later it has been under way for 25 s at least.
    await watch.clock.advance(60_000);
    expect(watch.latest().effect.type).toBe('watch.open');
    await watch.answer(failed('KUBE_UNREACHABLE'));
    expect(silence(watch)).toBe(before + attempt * 60);
  }
  await watch.clock.advance(60_000);
  await watch.open();
  expect(silence(watch)).toBe(null);
});

test('a server that never answers the request for a stream is silent from the request on', async () => {
  const watch = begin();
  await watch.answer(page('', '100'));
  await watch.clock.advance(25_000);
  expect(silence(watch)).toBe(25);
  await watch.answer(failed('KUBE_UNREACHABLE'));
  expect(silence(watch)).toBe(25);
});

test('whatever the server says ends the silence', async () => {
  const watch = begin();
  await watch.reach('watching');
  await watch.clock.advance(60_000);
  expect(silence(watch)).toBeGreaterThan(10);
  await watch.report('101');
  await watch.answer(failed('KUBE_SERVER'));
  expect(silence(watch)).toBe(null);
});

test('a connection that is refused is an answer, as long as it goes on', async () => {
  const watch = begin();
  await watch.reach('watching');
  let refused = 0;
  for (let step = 0; step < 2_400; step += 1) {
    const { attempt } = watch.latest().effect;
    if (attempt > refused) await watch.answer(failed('KUBE_UNREACHABLE'));
    refused = attempt;
    await watch.clock.advance(250);
    expect(silence(watch)).toBe(null);
  }
  expect(refused).toBeGreaterThan(20);
});
