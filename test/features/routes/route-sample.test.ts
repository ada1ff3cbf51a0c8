/** A sampling round as its actor is told of it. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { sampleRoutes } from '../../../src/features/routes/effects/route-sample.ts';
import { FairLimiter } from '../../../src/features/routes/probe/limiter.ts';
import type { RouteSample } from '../../../src/machines/service/route-effects.ts';
import type { SampleFinished } from '../../../src/machines/service/route-events.ts';
import { context } from '../../kube/effects/fake-port.ts';
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
