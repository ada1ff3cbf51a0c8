/** Rounds that go on for others, and rounds that wait for a turn. */
import { afterEach, describe, expect, test } from 'vitest';
import { parseAddress } from '../../../src/base/address.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { limits } from '../../../src/base/limits.ts';
import { FairLimiter } from '../../../src/features/routes/probe/limiter.ts';
import { createSampler, type Round, type Widen } from '../../../src/features/routes/probe/probe.ts';
import { until } from '../../until.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { type FakeService, pod, silent, startService } from './backends.ts';

const started: FakeService[] = [];
afterEach(async () => {
  for (const service of started.splice(0)) await service.close();
});

const serve: typeof startService = async (...backends) => {
  const service = await startService(...backends);
  started.push(service);
  return service;
};

function createProber(clock: Clock = systemClock, inFlight = 64) {
  const limiter = new FairLimiter(clock, { inFlight, waiting: 1_000, turnMs: 1_000 });
  return { limiter, sampler: createSampler({ clock, limiter, parseAddress }) };
}

const { signal } = new AbortController();
const common = {
  ...{ group: 'shop/web', podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' }, timeoutMs: 3_000 },
  replicas: 3,
};

describe('a round that goes on for others', () => {
  const widened = async (calls: number, more: { calls: number; wanted: string[] }, at = 2) => {
    const service = await serve(pod('10.0.0.1'), pod('10.0.0.2'), pod('10.0.0.3'));
    const healthy: string[] = [];
    let widen: Widen = () => {};
    const begun: Round = {
      ...common,
      ...{ url: service.url, calls, wanted: ['10.0.0.9'] },
    };
    const result = await createProber().sampler.sample(begun, {
      signal,
      onHealthy: (ip) => healthy.push(ip) === at && widen(more),
      onBegun: (given) => {
        widen = given;
      },
    });
    return { ...result, healthy };
  };

  test('makes as many calls as it has by then, and tells once more of whom it met before', async () => {
    const { calls, healthy } = await widened(6, { calls: 12, wanted: ['10.0.0.1'] });
    expect(calls).toBe(12);
    expect(healthy.filter((ip) => ip === '10.0.0.1')).toHaveLength(2);
  });

  test('looks for nobody of another family than the one that it asks in', async () => {
    const { healthy } = await widened(9, { calls: 9, wanted: ['fd00::1'] });
    expect(healthy.sort()).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
  });
});

test('a round that has had no turn for a minute gives up, and misses nobody', async () => {
  const clock = new VirtualClock();
  const service = await serve(silent);
  const prober = createProber(clock, 1);
  const hog = new AbortController();
  const work = () => new Promise<void>((resolve) => hog.signal.addEventListener('abort', () => resolve()));
  const turn = { group: 'hog', isDoubtful: false, hasAnswer: () => false, cost: 1 };
  const held = prober.limiter.run(turn, work, signal);
  const round = { ...common, url: service.url, calls: 9, wanted: ['10.0.0.1'] };
  const waiting = prober.sampler.sample(round, { signal, onHealthy: () => {} });
  const failed = expect(waiting).rejects.toThrow('no turn came in time');
  await clock.advance(limits.probeLineMs);
  await failed;
  hog.abort();
  await held;
});

test('slow calls are made one at a time while many others of the process are in flight', async () => {
  const clock = new VirtualClock();
  const { limiter, sampler } = createProber(clock);
  const hole = await serve(silent);
  const rounds = Array.from({ length: 17 }, (_, group) => {
    const round: Round = { ...common, group: `hole/${group}`, url: hole.url, calls: 9, wanted: ['10.0.0.9'] };
    return sampler.sample(round, { signal, onHealthy: () => {} });
  });
  await until(() => hole.open === 17, { what: 'a call of each round' });
  await clock.advance(1_000);
  expect(limiter.inFlight).toBe(17);
  await clock.advance(30_000);
  await Promise.all(rounds);
});
