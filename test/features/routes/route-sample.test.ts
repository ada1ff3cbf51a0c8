/** A sampling round as its actor is told of it. */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { sampleRoutes } from '../../../src/features/routes/effects/route-sample.ts';
import { FairLimiter } from '../../../src/features/routes/probe/limiter.ts';
import type { Listing } from '../../../src/features/routes/probe/pace.ts';
import type { RouteSample } from '../../../src/machines/service/route-effects.ts';
import type { SampleFinished } from '../../../src/machines/service/route-events.ts';
import { context } from '../../kube/effects/fake-port.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { pod, startService } from './backends.ts';

test('each address is reported while the round runs, and the round ends with its sum', async () => {
  const service = await startService(pod('10.0.0.1'), pod('10.0.0.2', 503));
  const events: PlainEvent[] = [];
  const effect: RouteSample = {
    type: 'route.sample',
    group: 'shop/web',
    round: 7,
    probe: {
      url: service.url,
      podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
      timeoutMs: 3_000,
      attemptsPerReplica: 3,
    },
    calls: 6,
    wanted: ['10.0.0.1', '10.0.0.2'],
  };
  const { sample } = sampleRoutes({ limiter: new FairLimiter(systemClock), clock: systemClock });
  const outcome = await sample(effect, { ...context, emit: (event) => events.push(event) });
  await service.close();
  const { last, ...end } = outcome as SampleFinished;
  expect([...events, ...(last ? [last] : [])]).toMatchObject([
    { ip: '10.0.0.1', heardAt: expect.any(Number) },
  ]);
  expect(end).toEqual({
    type: 'sample.finished',
    round: 7,
    calls: 6,
    summary: {
      healthy: ['10.0.0.1'],
      unhealthy: ['10.0.0.2'],
      anonymous: 0,
      unreachable: 0,
      lastError: null,
    },
  });
});

describe('a Pod that asks while its answer is on its way to the actor', () => {
  const probe = { url: 'http://web', podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' }, timeoutMs: 3_000 };
  const effect: RouteSample = {
    ...{ type: 'route.sample', group: 'shop/web', round: 1, calls: 9, wanted: ['10.0.0.1'] },
    probe: { ...probe, attemptsPerReplica: 3 },
  };
  const listing: Listing = {
    addressesOf: () => null,
    comingTo: () => 0,
    moment: () => 0,
    podAt: (_group, ip) => `uid of ${ip}`,
    heldAt: () => new Map(),
    onChange: () => () => {},
  };

  /** The calls of a round that meets 10.0.0.2 first, and then everybody in turn. */
  async function callsOf(unmet: Record<string, string>) {
    const clock = new VirtualClock();
    let calls = 0;
    const answers = ['10.0.0.2', '10.0.0.1', '10.0.0.2'];
    const { sample, widen } = sampleRoutes({
      ...{ clock, listing, limiter: new FairLimiter(clock) },
      async call(_target, _parts, _signal, onAnswer) {
        const ip = answers[calls++] ?? '10.0.0.3';
        onAnswer({ kind: 'named', status: 200, addresses: [{ ip, family: 'IPv4' }], unreadable: [] });
        if (calls > 1) return;
        const more = { group: 'shop/web', round: 1, calls: 9, wanted: ['10.0.0.2'], unmet };
        await widen({ type: 'route.widen', ...more }, context);
      },
    });
    await sample(effect, { ...context, emit: () => {} });
    return calls;
  }

  test('need not be met again', async () => {
    expect(await callsOf({ '10.0.0.2': 'uid of 10.0.0.2' })).toBe(2);
  });

  test('has to, if another Pod had the address or it asks for a second time', async () => {
    expect(await callsOf({ '10.0.0.2': 'uid of another' })).toBe(3);
    expect(await callsOf({})).toBe(3);
  });
});

describe('docs/features/routes.md §4.6: a round whose Pods are all gone', () => {
  const probe = { url: 'http://web', podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' }, timeoutMs: 3_000 };
  const effect: RouteSample = {
    ...{ type: 'route.sample', group: 'shop/web', round: 1, calls: 90 },
    ...{ wanted: ['10.0.0.1', '10.0.0.2'], probe: { ...probe, attemptsPerReplica: 3 } },
  };
  const narrowed = (unwanted: readonly string[] | 'all') =>
    ({ type: 'route.widen', group: 'shop/web', round: 1, calls: 0, wanted: [], unwanted }) as const;

  /** A round in which no call ends, narrowed after each of these; how long it took, and its end. */
  async function roundOf(inFlight: number, ...changes: ReadonlyArray<readonly string[] | 'all'>) {
    const clock = new VirtualClock();
    const limiter = new FairLimiter(clock, { inFlight, waiting: 10, turnMs: 1_000 });
    const { sample, widen } = sampleRoutes({
      ...{ clock, limiter },
      call: (_target, _parts, signal) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
    });
    const ended = sample(effect, { ...context, emit: () => {} }).then((event) => ({
      event: event as SampleFinished,
      at: clock.monotonic(),
    }));
    await clock.advance(1_000);
    for (const change of changes) await widen(narrowed(change), context);
    await clock.advance(60_000);
    return ended;
  }

  test.each([[['10.0.0.1'], ['10.0.0.2']], ['all']] as const)(
    'ends at once, in the middle of its calls: %j',
    async (...changes) => {
      const { event, at } = await roundOf(64, ...changes);
      expect([event.type, event.calls, at]).toEqual(['sample.finished', 3, 1_000]);
    },
  );

  test('ends at once while it waits for its turn, and is no failure', async () => {
    const { event, at } = await roundOf(0, 'all');
    expect([event.type, event.calls, at]).toEqual(['sample.finished', 0, 1_000]);
  });

  test('goes on for the one who is left', async () => {
    const { at } = await roundOf(64, ['10.0.0.1']);
    expect(at).toBe(20_000);
  });
});
