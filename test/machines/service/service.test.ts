/**
 * The service chart, region `routes`: wants, rounds and answers. What must hold is docs/features/routes.md
 * §4; tests in quotes say it in short.
 */
import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/base/limits.ts';
import type { ServiceEvent } from '../../../src/machines/service/route-events.ts';
import type { ServiceFacts } from '../../../src/machines/service/route-facts.ts';
import {
  answered,
  failed,
  finished,
  forgotten,
  newService,
  observed,
  probe,
  probe6,
  ready,
  rounds,
  routes,
  told,
  unwanted,
  wanted,
  watched,
} from './service-script.ts';

/** A Service in the pause after a round that reached nobody. */
function pausing() {
  const service = newService(observed(), wanted(1), finished(1));
  service.asked();
  return service;
}

describe('“woken by route.wanted”', () => {
  test('nobody wants anything: idle, no call, no deadline', () => {
    const service = newService(observed()).wait(3_600_000);
    expect(routes(service)).toBe('resting.idle');
    expect(service.asked()).toEqual([]);
    expect(service.patience).toBeNull();
  });

  test('a want begins a round at once: who is wanted, where, and how many calls at most', () => {
    const service = newService(observed(), wanted(1));
    expect(rounds(service)).toEqual([
      { type: 'route.sample', group: 'shop/web', round: 1, probe, calls: 6, wanted: ['10.0.0.1'] },
    ]);
  });

  test('a want in the pause begins the next round 200 ms after the last, for everybody who wants', () => {
    const service = pausing().take(wanted(2));
    expect(rounds(service.wait(199))).toEqual([]);
    service.wait(1);
    expect(rounds(service)).toMatchObject([{ round: 2, wanted: ['10.0.0.1', '10.0.0.2'] }]);
  });

  test('a want during a round is asked for by the next one, which follows at once where the round took 200 ms', () => {
    const service = newService(observed(), wanted(1), wanted(2)).wait(200);
    expect(rounds(service)).toHaveLength(1);
    expect(rounds(service.take(answered(1, 1), finished(1)))).toMatchObject([
      { round: 2, wanted: ['10.0.0.2'] },
    ]);
  });

  test('the same question again changes nothing, and costs no round', () => {
    const service = pausing();
    const { patience } = service;
    service.take(wanted(1), wanted(1));
    expect(service.asked()).toEqual([]);
    expect(service.patience).toBe(patience);
  });

  test('a Pod that has another address, or is another Pod, is wanted in place of the former', () => {
    const moved = pausing().take(wanted(1, { ip: '10.0.0.9' }));
    expect(rounds(moved.wait(200))).toMatchObject([{ wanted: ['10.0.0.9'] }]);
    const replaced = pausing()
      .take(wanted(1, { uid: 'pod-1b' }))
      .wait(200);
    expect(told(replaced.take(answered(1, 2)))).toEqual([['route.proven', 'web-1']]);
    expect(replaced.context.wants).toEqual([]);
  });

  test('what cannot be asked for waits, and is asked for as soon as it can be', () => {
    const service = newService(observed({ probes: { IPv4: null, IPv6: null } }), wanted(1)).wait(600_000);
    expect(routes(service)).toBe('resting.idle');
    expect(service.asked()).toEqual([]);
    expect(rounds(service.take(observed()))).toMatchObject([{ wanted: ['10.0.0.1'] }]);
  });
});

describe('“and at once by a change of the Service, of its EndpointSlices, or of the group’s Pods”', () => {
  test.each<[string, Partial<ServiceFacts>]>([
    ['the slices or the Pods', { routesToken: 'b' }],
    ['the port', { probes: { IPv4: { ...probe, url: 'http://10.1.0.1:81/healthz' }, IPv6: null } }],
    ['the Service itself', { uid: 'web-2-long-uid' }],
  ])('in the pause, a change of %s begins the next round', (_, change) => {
    expect(rounds(pausing().take(observed(change)).wait(200))).toMatchObject([{ wanted: ['10.0.0.1'] }]);
  });

  test('during a round, the next one follows without a pause', () => {
    const service = newService(observed(), wanted(1), observed({ routesToken: 'b' })).wait(200);
    expect(rounds(service)).toHaveLength(1);
    expect(rounds(service.take(finished(1)))).toHaveLength(1);
  });

  test('while nobody wants anything, a change costs no call', () => {
    const service = newService(observed(), observed({ routesToken: 'b' }));
    expect(service.asked()).toEqual([]);
  });

  test('what cannot alter a route is no reason to call', () => {
    const service = pausing().take(observed({ peers: ['api'] }), observed({ peers: ['api'], replicas: 3 }));
    expect(service.asked()).toEqual([]);
  });
});

describe('“A round: up to attemptsPerReplica × replicas calls”', () => {
  test.each([
    [3, 2, 6],
    [3, 1, 3],
    [1, 1, 1],
    [5, 40, 200],
  ])('%i attempts × %i replicas are %i calls', (attemptsPerReplica, replicas, calls) => {
    const probes = { IPv4: { ...probe, attemptsPerReplica }, IPv6: null };
    expect(rounds(newService(observed({ probes, replicas }), wanted(1)))).toMatchObject([{ calls }]);
  });

  test.each([
    ['IPv4', probe.url, { IPv4: probe, IPv6: probe6 }],
    ['IPv6', probe6.url, { IPv4: probe, IPv6: probe6 }],
  ] as const)('“the Service’s cluster IP of the wanted family”: %s is asked at %s', (family, url, probes) => {
    const service = newService(observed({ probes }), wanted(1, { family }));
    expect(rounds(service)).toMatchObject([{ probe: { url } }]);
  });

  test('Pods of one family that are never reached do not keep those of the other waiting', () => {
    const service = newService(
      observed({ probes: { IPv4: probe, IPv6: probe6 } }),
      wanted(1),
      wanted(2, { ip: 'fd00::2', family: 'IPv6' }),
    );
    const asked = new Set<string>();
    for (let round = 1; round <= 4; round++) {
      for (const { probe: one, wanted: ips } of rounds(service)) asked.add(`${one.url} ${ips.join()}`);
      service.take(finished(round)).wait(10_000);
    }
    expect([...asked].sort()).toEqual([`${probe.url} 10.0.0.1`, `${probe6.url} fd00::2`]);
  });
});

describe('“header with the IP of any wanted Pod and status 200 → that Pod is proven, whoever was hoped for”', () => {
  test('the Pod that answered is told so, with its own uid and address and the Service’s uid; the others are not', () => {
    const service = newService(observed(), wanted(1), wanted(2));
    service.asked();
    service.take(answered(2, 1));
    expect(service.askedOf('message.send')).toEqual([
      {
        type: 'message.send',
        to: ['pod/shop/web-2'],
        event: { type: 'route.proven', service: 'web', serviceUid: 'web-1-lo', uid: 'pod-2', ip: '10.0.0.2' },
      },
    ]);
  });

  test('one answer is told once', () => {
    const service = newService(observed(), wanted(1), wanted(2));
    expect(told(service.take(answered(2, 1), answered(2, 1)))).toEqual([['route.proven', 'web-2']]);
  });

  test('a Pod that began to want during the round is told, too', () => {
    const service = newService(observed(), wanted(1), wanted(2), answered(2, 1));
    expect(told(service)).toEqual([['route.proven', 'web-2']]);
  });

  test('an answer that is taken after the round’s end still counts', () => {
    const service = newService(observed(), wanted(1), wanted(2), finished(1)).wait(200);
    service.take(answered(1, 2), finished(2), answered(2, 2));
    expect(told(service)).toEqual([
      ['route.proven', 'web-1'],
      ['route.proven', 'web-2'],
    ]);
    expect(routes(service)).toBe('resting.settled');
  });

  test.each([
    ['“header of an unknown IP → other backend”', finished(1, { healthy: ['10.0.0.77'] })],
    [
      '“header of a Pod with another status → unhealthy (that Pod is not proven)”',
      finished(1, { unhealthy: ['10.0.0.1'] }),
    ],
    ['“transport error or timeout → unreachable”', finished(1, { unreachable: 6, lastError: 'refused' })],
    ['a round that failed as a whole', failed(1)],
  ])('%s: nobody is told anything, and the rounds go on', (_, event) => {
    const service = newService(observed(), wanted(1));
    service.asked();
    service.take(event);
    expect(routes(service)).toBe('waiting.pausing');
    expect(told(service)).toEqual([]);
    expect(rounds(service.wait(1_000))).toMatchObject([{ round: 2 }]);
  });

  test('an answer of an unknown IP tells nobody', () => {
    expect(told(newService(observed(), wanted(1), answered(77, 1)))).toEqual([]);
  });
});

describe('answers count for the very Service and the very round that was asked', () => {
  test('an answer of an older round is ignored', () => {
    const service = newService(observed(), wanted(1), finished(1)).wait(1_000);
    service.asked();
    expect(told(service.take(answered(1, 1)))).toEqual([]);
    expect(told(service.take(answered(1, 2)))).toEqual([['route.proven', 'web-1']]);
  });

  test('the end of an older round ends nothing', () => {
    const service = newService(observed(), wanted(1), finished(1)).wait(1_000).take(finished(1), failed(1));
    expect(routes(service)).toBe('sampling');
  });

  test.each<[string, Partial<ServiceFacts>]>([
    ['another Service takes its name', { uid: 'web-2-long-uid' }],
    [
      'it is asked at another address',
      { probes: { IPv4: { ...probe, url: 'http://10.1.0.2:80/healthz' }, IPv6: null } },
    ],
    ['it cannot be asked any more', { probes: { IPv4: null, IPv6: null } }],
  ])('if %s during a round, what that round still hears proves nothing', (_, change) => {
    const service = newService(observed(), wanted(1), observed(change));
    service.asked();
    expect(told(service.take(answered(1, 1), finished(1, { healthy: ['10.0.0.1'] })))).toEqual([]);
    expect(service.context.wants).toHaveLength(1);
  });

  test('another Service under the name is asked at once, by a round of its own', () => {
    const service = newService(observed(), wanted(1));
    service.asked();
    expect(rounds(service.take(observed({ uid: 'web-2-long-uid' })).wait(200))).toMatchObject([{ round: 3 }]);
    service.take(answered(1, 3));
    expect(service.askedOf('message.send')).toMatchObject([{ event: { serviceUid: 'web-2-lo' } }]);
  });
});

describe('docs/features/routes.md §4.6: a round in progress goes on for nobody who is gone', () => {
  const changes = (service: ReturnType<typeof newService>) => service.askedOf('route.widen');
  const inRound = { type: 'route.widen', group: 'shop/web', round: 1, calls: 0, wanted: [] } as const;
  const begun = (...pods: number[]) => {
    const service = newService(observed(), ...pods.map((n) => wanted(n)));
    service.asked();
    return service;
  };

  test('a Pod that takes its question back is taken from the round', () => {
    const service = begun(1, 2).take(unwanted(2));
    expect(changes(service)).toEqual([{ ...inRound, unwanted: ['10.0.0.2'] }]);
    expect(changes(service.take(unwanted(2), unwanted(3)))).toEqual([]);
    expect(changes(service.take(unwanted(1)))).toEqual([{ ...inRound, unwanted: ['10.0.0.1'] }]);
    expect(routes(service.take(finished(1)))).toBe('resting.settled');
  });

  test('one whose address another Pod asks with is looked for on', () => {
    const service = begun(1).take(wanted(2, { ip: '10.0.0.1' }));
    service.asked();
    expect(changes(service.take(unwanted(1)))).toEqual([]);
  });

  test('one that asks from another place takes the former out', () => {
    const service = begun(1).take(wanted(1, { uid: 'pod-1b', ip: '10.0.0.9' }));
    expect(changes(service)).toMatchObject([{ wanted: ['10.0.0.9'], unwanted: ['10.0.0.1'] }]);
  });

  test.each<[string, ServiceEvent]>([
    ['the Service is gone', forgotten],
    ['another Service has its name', observed({ uid: 'web-2-long-uid' })],
  ])('it ends where %s', (_, event) => {
    expect(changes(begun(1).take(event))).toEqual([{ ...inRound, unwanted: 'all' }]);
  });

  test('it looks no longer for a watched Pod that has left the endpoints', () => {
    const service = newService(observed(ready(1, 2)), watched(1), watched(2)).wait(12_500);
    expect(rounds(service)).toMatchObject([{ wanted: ['10.0.0.1', '10.0.0.2'] }]);
    expect(changes(service.take(observed(ready(1))))).toMatchObject([{ unwanted: ['10.0.0.2'] }]);
  });

  test('outside of a round nothing is changed', () => {
    const service = begun(1, 2).take(finished(1));
    expect(changes(service.take(unwanted(1), forgotten))).toEqual([]);
  });
});

describe('“so rounds go on: pause 0.2 s, growing to 5 s with jitter while nothing changes. Retrying is for ever.”', () => {
  const pauses = (random: number, count: number) => {
    const service = newService(observed(), wanted(1));
    service.random = random;
    return Array.from({ length: count }, (_, n) => {
      service.take(finished(n + 1), wanted(1));
      const pause = service.patience ?? Number.NaN;
      service.wait(pause);
      return pause;
    });
  };

  test('it begins with about 0.2 s, grows with each round, and stays at 5 s', () => {
    const all = pauses(0.5, 200);
    expect(all[0]).toBeGreaterThanOrEqual(200);
    expect(all[0]).toBeLessThan(250);
    expect(all).toEqual([...all].sort((a, b) => a - b));
    expect(all.at(-1)).toBe(5_000);
  });

  test('jitter moves each pause by a quarter at most', () => {
    const [low, middle, high] = [0, 0.5, 0.999_999].map((random) => pauses(random, 60));
    for (const [n, pause] of (middle ?? []).entries()) {
      expect((low?.[n] ?? 0) / pause).toBeCloseTo(0.75);
      expect((high?.[n] ?? 0) / pause).toBeCloseTo(1.25);
    }
  });

  test('a route that is programmed at any moment of the first ten seconds is asked for within a second', () => {
    let waited = 0;
    for (const pause of pauses(0.999_999, 60)) {
      if (waited < 10_000) expect([waited, pause < 1_000]).toEqual([waited, true]);
      waited += pause;
    }
  });

  test.each([
    ['a change', observed({ routesToken: 'b' })],
    ['a new want', wanted(2)],
  ])('“back to at once on any change”: %s begins a round, and the pauses are short again', (_, event) => {
    const service = newService(observed(), wanted(1));
    for (let round = 1; round <= 80; round++) service.take(finished(round), wanted(1)).wait(7_000);
    service.take(finished(81)).asked();
    expect(service.patience).toBe(5_000);
    expect(rounds(service.take(event).wait(200))).toHaveLength(1);
    expect(service.take(finished(82)).patience).toBeLessThan(250);
  });

  test('a proof makes the pauses short again for the others', () => {
    const service = newService(observed(), wanted(1), wanted(2));
    for (let round = 1; round <= 80; round++) service.take(finished(round), wanted(1), wanted(2)).wait(7_000);
    expect(service.take(answered(1, 81), finished(81)).patience).toBeLessThan(250);
  });

  test('rounds end when nobody wants anything: everybody is reached, or has taken the question back', () => {
    const reached = newService(observed(), wanted(1), answered(1, 1), finished(1)).wait(600_000);
    expect([routes(reached), rounds(reached).length]).toEqual(['resting.settled', 1]);
    const given = pausing().take(unwanted(1)).wait(600_000);
    expect([routes(given), rounds(given)]).toEqual(['resting.settled', []]);
  });

  test('a round whose outcome is lost is over after a while (I4)', () => {
    const service = newService(observed(), wanted(1));
    service.asked();
    expect(rounds(service.wait(limits.probeLineMs + limits.probeRoundMs + 6_000))).toHaveLength(1);
  });
});

describe('wants end', () => {
  test('a question is taken back by the very Pod that asked it', () => {
    const service = newService(observed(), wanted(1, { uid: 'pod-1b' }), wanted(2), unwanted(1), unwanted(2));
    expect(service.context.wants.map(({ uid }) => uid)).toEqual(['pod-1b']);
  });

  test('a Pod that has not asked for three minutes is not sampled for any more', () => {
    const service = newService(observed(), wanted(1));
    for (let round = 1; round <= 60 && routes(service) !== 'resting.settled'; round++)
      service.take(finished(round)).wait(6_000);
    expect(routes(service)).toBe('resting.settled');
    expect(service.now).toBeGreaterThan(1_700_000_180_000);
    expect(service.now).toBeLessThan(1_700_000_200_000);
  });

  test('a Pod that asks once a minute is sampled for, for ever', () => {
    const service = newService(observed(), wanted(1));
    let asked = service.now;
    for (let round = 1; round <= 200; round++) {
      service.take(finished(round)).wait(6_000);
      if (service.now - asked < 60_000) continue;
      asked = service.now;
      service.take(wanted(1));
    }
    expect(routes(service)).toBe('sampling');
  });

  test('a Service that does not exist any more, or that no group needs, is gone', () => {
    for (const service of [newService(observed()), pausing(), newService(observed(), wanted(1))]) {
      service.take(forgotten);
      expect([service.isOver, service.patience]).toEqual([true, null]);
    }
  });
});
