/** Rounds that also meet Pods which have not asked yet: docs/features/routes.md §4.6. */
import { afterEach, expect, test } from 'vitest';
import { parseAddress } from '../../../src/base/address.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import { FairLimiter } from '../../../src/features/routes/probe/limiter.ts';
import type { Listing } from '../../../src/features/routes/probe/pace.ts';
import { createSampler, type Round } from '../../../src/features/routes/probe/probe.ts';
import { type Backend, type FakeService, pod, startService } from './backends.ts';

const started: FakeService[] = [];
afterEach(async () => {
  for (const service of started.splice(0)) await service.close();
});

/** A Service with these backends, and rounds for the first Pod while the gate holds back all of `held`. */
async function startRounds(backends: Backend[], held: readonly string[]) {
  const service = await startService(...backends);
  started.push(service);
  const listing: Listing = {
    addressesOf: () => new Set(held),
    comingTo: () => 0,
    moment: () => 0,
    podAt: (_group, ip) => ip,
    heldAt: () => new Map(held.map((ip) => [ip, ip])),
    onChange: () => () => {},
  };
  const sampler = createSampler({ clock, limiter: new FairLimiter(clock), parseAddress, listing });
  const sample = async (more: Partial<Round> = {}) => {
    const healthy: string[] = [];
    const podIPHeaders = { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' };
    const { url } = service;
    const round = { group: 'shop/web', url, podIPHeaders, timeoutMs: 3_000, calls: 9, replicas: 3 };
    const { calls } = await sampler.sample(
      { ...round, wanted: ['10.0.0.1'], ...more },
      { signal: new AbortController().signal, onHealthy: (ip) => healthy.push(ip) },
    );
    return { calls, healthy };
  };
  return { service, sample };
}

test('Pods that wait and have not asked are met by the round for another, each once', async () => {
  const ips = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
  const { service, sample } = await startRounds(
    ips.map((ip) => pod(ip)),
    ips,
  );
  expect((await sample()).healthy).toEqual(ips);
  service.backends = [pod('10.0.0.1')];
  expect((await sample()).calls).toBe(1);
});

test('they cost no more calls than would probably meet one', async () => {
  const { sample } = await startRounds([pod('10.0.0.1')], ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
  expect((await sample({ calls: 60, replicas: 20 })).calls).toBe(11);
});

test('those of another address family are not waited for', async () => {
  const { sample } = await startRounds([pod('10.0.0.1')], ['10.0.0.1', 'fd00::1']);
  expect((await sample()).calls).toBe(1);
});
