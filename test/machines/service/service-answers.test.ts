/** The service chart: when it is woken, answers that are kept, and what Pods that wait are told. */
import { describe, expect, test } from 'vitest';
import type { ServiceEvent } from '../../../src/machines/service/route-events.ts';
import type { ServiceFacts } from '../../../src/machines/service/route-facts.ts';
import {
  answered,
  finished,
  newService,
  observed,
  probe,
  rounds,
  routes,
  told,
  wanted,
} from './service-script.ts';

describe('docs/features/routes.md §4.8: “A change … wakes a round at once, at most each 200 ms”', () => {
  test('a hundred changes in five seconds are at most 26 rounds', () => {
    const service = newService(observed(), wanted(1));
    for (let n = 0; n < 100; n++) {
      service.take(finished(service.context.round), observed({ routesToken: `t${n}` })).wait(50);
    }
    expect(rounds(service).length).toBeLessThanOrEqual(26);
  });
});

describe('docs/features/routes.md §4.4: an answer is kept for a Pod that has not asked yet', () => {
  const pods = { '10.0.0.1': 'pod-1', '10.0.0.2': 'pod-2' };

  test('it asks later and is told at once, without a call; asked again, it has to be met again', () => {
    const service = newService(observed({ pods }), wanted(1), answered(2, 1), answered(1, 1), finished(1));
    service.asked();
    service.take(wanted(2));
    expect(told(service)).toEqual([['route.proven', 'web-2']]);
    expect(routes(service)).toBe('resting.settled');
    expect(rounds(service.take(wanted(2)))).toMatchObject([{ wanted: ['10.0.0.2'] }]);
  });

  test.each([
    ['another Pod has the address', wanted(2, { uid: 'pod-2b' })],
    ['the Pod has another address', wanted(2, { ip: '10.0.0.9' })],
  ])('it is kept for that Pod alone: %s', (_, event) => {
    const service = newService(observed({ pods }), wanted(1), answered(2, 1), answered(1, 1), finished(1));
    service.asked();
    expect(told(service.take(event))).toEqual([]);
  });

  test.each([
    ['is replaced', { pods, uid: 'web-2-long-uid' }],
    [
      'is asked at another place',
      { pods, probes: { IPv4: { ...probe, url: 'http://10.1.0.1:81/' }, IPv6: null } },
    ],
    ['lost the Pod and got it back', { pods: { '10.0.0.1': 'pod-1' } }],
  ])('it is void once the Service %s', (_, change: Partial<ServiceFacts>) => {
    const service = newService(observed({ pods }), wanted(1), answered(2, 1), answered(1, 1), finished(1));
    service.take(observed(change), observed({ ...change, pods })).asked();
    expect(told(service.take(wanted(2)))).toEqual([]);
  });

  test('an answer to a round that saw the group change may be of whoever had the address before', () => {
    const service = newService(observed({ pods: { '10.0.0.1': 'pod-1' } }), wanted(1), observed({ pods }));
    service.take(answered(2, 1), answered(1, 1), finished(1)).asked();
    expect(told(service.take(wanted(2)))).toEqual([]);
  });
});

describe('docs/features/routes.md §4.6: the end of a round brings the answers that came last', () => {
  const ending = (round: number, ...ns: readonly number[]): ServiceEvent => {
    const [ip = '', ...also] = ns.map((n) => `10.0.0.${n}`);
    return { ...finished(round, { healthy: [ip, ...also] }), last: { ip, also } } as ServiceEvent;
  };

  test('each Pod is told, in the step that ends the round', () => {
    const service = newService(observed(), wanted(1), wanted(2));
    service.asked();
    service.take(ending(service.context.round, 1, 2));
    expect(told(service)).toEqual([
      ['route.proven', 'web-1'],
      ['route.proven', 'web-2'],
    ]);
    expect(routes(service)).toBe('resting.settled');
  });

  test('those of an older round prove nothing', () => {
    const service = newService(observed(), wanted(1), finished(1)).wait(1_000);
    service.asked();
    expect(told(service.take(ending(1, 1)))).toEqual([]);
    expect(routes(service)).toBe('sampling');
  });

  test('a round has attempts for each Pod that asks, even if the Service has not heard of them', () => {
    const asking = [1, 2, 3, 4, 5].map((n) => wanted(n));
    const service = newService(observed({ replicas: 1 }), ...asking, finished(1)).wait(1_000);
    expect(rounds(service).at(-1)?.calls).toBe(5 * probe.attemptsPerReplica);
  });
});

describe('docs/features/routes.md §3.6: an answer is of whoever had the address when it was heard', () => {
  test('a Pod that asked since then is not proven by it, and is met by the next', () => {
    const service = newService(observed(), wanted(1)).wait(1_000);
    const heardAt = service.now;
    service
      .wait(300)
      .take(wanted(1, { uid: 'pod-1b' }))
      .asked();
    service.take({ type: 'sample.answered', round: 1, ip: '10.0.0.1', heardAt });
    expect(told(service)).toEqual([]);
    service.take({ type: 'sample.answered', round: 1, ip: '10.0.0.1', heardAt: service.now });
    expect(told(service)).toEqual([['route.proven', 'web-1']]);
  });

  test('a Pod that was known to have the address is proven, however late it asked', () => {
    const service = newService(observed(), wanted(1)).wait(1_000);
    const heardAt = service.now;
    service.wait(300).take(wanted(2)).asked();
    const answer = { type: 'sample.answered', round: 1, ip: '10.0.0.2', heardAt } as const;
    service.take({ ...answer, pods: { '10.0.0.2': 'pod-2-before' } });
    expect(told(service)).toEqual([]);
    service.take({ ...answer, pods: { '10.0.0.2': 'pod-2' } });
    expect(told(service)).toEqual([['route.proven', 'web-2']]);
  });

  test('one that asks only then is told at once, whatever else of the group changed since the round began', () => {
    const service = newService(
      observed({ pods: {} }),
      wanted(1),
      observed({ pods: { '10.0.0.9': 'pod-9' } }),
    );
    const answer = { type: 'sample.answered', round: 1, ip: '10.0.0.2' } as const;
    service.take({ ...answer, pods: { '10.0.0.2': 'pod-2' } }).asked();
    expect(told(service.take(wanted(2)))).toEqual([['route.proven', 'web-2']]);
  });
});

describe('docs/features/routes.md §4.6: a round goes on for those who ask while it is in work', () => {
  test('it is told of whoever is not known yet, and of how many calls it has by now', () => {
    const service = newService(observed(), wanted(1));
    service.take(observed({ replicas: 4 }));
    service.asked();
    service.take({ ...wanted(2), also: [wanted(1), wanted(3)] } as ServiceEvent);
    expect(service.askedOf('route.widen')).toEqual([
      {
        ...{ type: 'route.widen', group: 'shop/web', round: 1, calls: 12, wanted: ['10.0.0.2', '10.0.0.3'] },
        unmet: { '10.0.0.2': 'pod-2', '10.0.0.3': 'pod-3' },
      },
    ]);
  });

  test('it has calls for those who just asked, however few Pods were known when it began', () => {
    const service = newService(observed({ replicas: 1 }), wanted(1));
    service.asked();
    service.take({ ...wanted(2), also: [wanted(3)] } as ServiceEvent);
    expect(service.askedOf('route.widen').map(({ calls }) => calls)).toEqual([9]);
  });

  test('one that was met before and asks anew has to be met anew', () => {
    const pods = { '10.0.0.1': 'pod-1', '10.0.0.2': 'pod-2' };
    const service = newService(observed({ pods }), wanted(1), wanted(2), answered(2, 1));
    service.asked();
    service.take(wanted(2));
    expect(service.askedOf('route.widen')).toMatchObject([{ wanted: ['10.0.0.2'], unmet: {} }]);
  });

  test('nothing is said to it for a Pod that it looks for, nor for one whose answer is kept', () => {
    const pods = { '10.0.0.1': 'pod-1', '10.0.0.2': 'pod-2' };
    const service = newService(observed({ pods }), wanted(1), answered(2, 1));
    service.take(wanted(1), wanted(2));
    expect(service.askedOf('route.widen')).toEqual([]);
  });
});

describe('docs/features/routes.md §7.1: a Pod that waits hears what answers in its place', () => {
  const curious = (n: number): ServiceEvent => ({ ...wanted(n), curious: true }) as ServiceEvent;

  test('once, after a round that is over when it has waited 3 s; who does not want to know is told nothing', () => {
    const service = newService(observed(), curious(1), wanted(2));
    service.take(finished(1, { healthy: ['10.0.0.7'] }));
    expect(told(service)).toEqual([]);
    service.wait(3_000);
    service.take(finished(service.context.round, { healthy: ['10.0.0.7'], unhealthy: ['10.0.0.1'] }));
    expect(service.askedOf('message.send')).toMatchObject([
      {
        to: ['pod/shop/web-1'],
        event: { type: 'route.missed', service: 'web', unhealthy: ['10.0.0.1'] },
      },
    ]);
    service.wait(1_000).take(finished(service.context.round, { anonymous: 6 }));
    expect(told(service)).toEqual([]);
    service
      .take(curious(1))
      .wait(3_000)
      .take(finished(service.context.round, { anonymous: 6 }));
    expect(told(service)).toContainEqual(['route.missed', 'web-1']);
  });
});

test('a question noted by a clock that was an hour ahead is answered all the same', () => {
  const service = newService(observed(), wanted(1));
  service.now -= 3_600_000;
  service.take(finished(service.context.round)).wait(5_000).asked();
  service.take({ ...answered(1, service.context.round), heardAt: service.now } as ServiceEvent);
  expect(told(service)).toEqual([['route.proven', 'web-1']]);
});
