/**
 * The service chart: routes that are watched (whenRouteIsLost: withdraw). What must hold is
 * docs/features/routes.md §6; tests in quotes say it in short.
 */
import { describe, expect, test } from 'vitest';
import { serviceChart } from '../../../src/machines/service/service.ts';
import { stateWords } from '../../../src/machines/tell.ts';
import {
  answered,
  finished,
  newService,
  observed,
  ready,
  rounds,
  routes,
  type ServiceDriver,
  told,
  unwanted,
  wanted,
  watched,
} from './service-script.ts';

/** A Service that has reached Pods 1 and 2 and watches them. */
function watching(): ServiceDriver {
  const service = newService(
    observed(ready(1, 2)),
    wanted(1),
    wanted(2),
    answered(1, 1),
    answered(2, 1),
    finished(1),
  );
  service.asked();
  return service;
}

/** Lets the check that is due begin, and ends it with the Pods that it met. @returns its number */
function check(service: ServiceDriver, ...met: number[]): number {
  service.wait(service.patience ?? 0);
  const { round } = service.context;
  service.take(finished(round, { healthy: met.map((n) => `10.0.0.${n}`) }));
  return round;
}

describe('with keep', () => {
  test('nobody is watched: once everybody is reached, no call is made', () => {
    const service = newService(observed(), wanted(1), answered(1, 1), finished(1)).wait(3_600_000);
    expect(routes(service)).toBe('resting.settled');
    expect(rounds(service)).toHaveLength(1);
  });

  test('from withdraw to keep, the checks end; from keep to withdraw, whoever asks for it is watched', () => {
    const service = watching().take(observed()).wait(60_000);
    const asked = rounds(service.wait(3_600_000)).length;
    expect(asked).toBeLessThanOrEqual(1);
    service.take(watched(1), observed(ready(1)));
    expect(rounds(service.wait(12_500))).toMatchObject([{ wanted: ['10.0.0.1'] }]);
  });
});

describe('with withdraw, a Pod that was reached is watched', () => {
  test('the watched Pods are looked for about every 10 s, all of them in one round', () => {
    const service = watching();
    expect(routes(service)).toBe('resting.watching');
    // Nobody waits for anything.
    expect(stateWords(serviceChart, service.state).health).toBe('ok');
    expect(rounds(service.wait(7_499))).toEqual([]);
    expect(rounds(service.wait(5_001))).toMatchObject([{ wanted: ['10.0.0.1', '10.0.0.2'], calls: 6 }]);
    expect(told(service.take(finished(2, { healthy: ['10.0.0.1', '10.0.0.2'] })))).toEqual([]);
    expect(routes(service)).toBe('resting.watching');
  });

  test('a round has calls for all that are watched, also if the owner of the group states fewer replicas', () => {
    const service = newService(observed({ ...ready(1), replicas: 2 }));
    for (let n = 1; n <= 13; n++) service.take(watched(n));
    expect(rounds(service.wait(12_500))).toMatchObject([{ calls: 39 }]);
  });

  test('a Pod whose condition was True already is watched when it asks for it', () => {
    const service = newService(observed(ready(1)), watched(1));
    expect(rounds(service.wait(12_500))).toMatchObject([{ wanted: ['10.0.0.1'] }]);
  });

  test('a want is more urgent than a check', () => {
    const service = watching().take(wanted(3));
    expect(rounds(service)).toMatchObject([{ wanted: ['10.0.0.3'] }]);
  });
});

describe('“samples keep missing it”', () => {
  test('three checks in a row that miss it, and the Pod is told once; the one that is met is not', () => {
    const service = watching();
    check(service, 2);
    check(service, 2);
    expect(told(service)).toEqual([]);
    check(service, 2);
    expect(service.askedOf('message.send')).toEqual([
      {
        type: 'message.send',
        to: ['pod/shop/web-1'],
        event: {
          type: 'route.lost',
          service: 'web',
          serviceUid: 'web-1-lo',
          uids: ['pod-1'],
          since: [expect.any(Number)],
        },
      },
    ]);
    for (let n = 0; n < 5; n++) check(service, 2);
    expect(told(service)).toEqual([]);
  });

  test('one check that meets it, and the count begins anew', () => {
    const service = watching();
    for (let n = 0; n < 5; n++) {
      check(service, 2);
      check(service, 2);
      check(service, 1, 2);
    }
    expect(told(service)).toEqual([]);
  });

  test('a round for a Pod that wants a proof ends when that one is met: it says nothing about those that it did not meet', () => {
    const service = watching();
    for (let n = 3; n < 13; n++) {
      service.take(wanted(n));
      const { round } = service.context;
      service.take(answered(n, round), finished(round, { healthy: [`10.0.0.${n}`] }, 1));
    }
    expect(told(service).filter(([type]) => type === 'route.lost')).toEqual([]);
  });

  test('a lost Pod that asks again is proven again, and watched again', () => {
    const service = watching();
    for (let n = 0; n < 3; n++) check(service, 2);
    service.asked();
    service.take(wanted(1), answered(1, service.context.round + 0));
    service.take(answered(1, service.context.round), finished(service.context.round));
    expect(told(service)).toEqual([['route.proven', 'web-1']]);
    expect(service.context.watched.map(({ pod }) => pod).sort()).toEqual([
      'pod/shop/web-1',
      'pod/shop/web-2',
    ]);
  });
});

describe('“the Pod left the Service’s endpoints”', () => {
  test('it is told at once, before any check', () => {
    expect(told(watching().take(observed(ready(2))))).toEqual([['route.lost', 'web-1']]);
  });

  test('a Pod that was never listed has not left: it was reached all the same', () => {
    const service = newService(observed(ready()), wanted(1), answered(1, 1), finished(1));
    service.asked();
    service.take(observed({ ...ready(7), routesToken: 'b' }));
    expect(told(service)).toEqual([]);
    service.take(observed(ready(1)), observed(ready()));
    expect(told(service)).toEqual([['route.lost', 'web-1']]);
  });

  test('a Pod that left while a round is in work is told, too', () => {
    const service = watching().take(wanted(3), observed(ready(2, 3)));
    expect(told(service)).toContainEqual(['route.lost', 'web-1']);
  });
});

describe('docs/features/routes.md §2.4: the oldest gate is deleted, and another one holds the Pods from now on', () => {
  const group = (gate: string, ...pods: number[]) =>
    observed({
      ...ready(1, 2),
      gate,
      pods: Object.fromEntries(pods.map((n) => [`10.0.0.${n}`, `pod-${n}`])),
    });
  const taken = (...pods: number[]) =>
    newService(
      group('old', 1, 2),
      wanted(1),
      wanted(2),
      answered(1, 1),
      answered(2, 1),
      finished(1),
      group('new', ...pods),
    );

  test('Pods that were reached stay watched: their lost routes are still noticed', () => {
    const service = taken(1, 2);
    service.asked();
    for (let n = 0; n < 3; n++) check(service, 2);
    expect(told(service)).toEqual([['route.lost', 'web-1']]);
  });

  test('a Pod that it does not hold is not watched any more', () => {
    expect(taken(1).context.watched.map(({ uid }) => uid)).toEqual(['pod-1']);
  });

  test('a question that came before the Service heard of it is answered', () => {
    const service = newService(group('old', 1, 2), wanted(1), group('new', 1, 2));
    service.asked();
    service.wait(200);
    const { round } = service.context;
    service.take(answered(1, round), finished(round));
    expect(told(service)).toEqual([['route.proven', 'web-1']]);
  });
});

test('who takes his question back is not watched any more', () => {
  const service = watching().take(unwanted(1), unwanted(2)).wait(60_000);
  expect(rounds(service)).toHaveLength(0);
});

describe('docs/features/routes.md §6.3: a lost route is noticed “whatever other Pods of the group wait for”', () => {
  test('a Pod that is never reached does not hide it: it is told within 26 s, counted from when it was reached last', () => {
    const service = watching().take(wanted(3));
    const reachedAt = service.now;
    const told: Array<{ uids: readonly string[]; since: readonly number[] }> = [];
    while (told.length === 0 && service.now < reachedAt + 60_000) {
      service.take(wanted(3), finished(service.context.round, { healthy: ['10.0.0.2'] })).wait(200);
      for (const { event } of service.askedOf('message.send'))
        if (event.type === 'route.lost') told.push(event as never);
    }
    expect(told).toEqual([expect.objectContaining({ uids: ['pod-1'], since: [reachedAt] })]);
    expect(service.now - reachedAt).toBeLessThanOrEqual(26_000);
  });

  test('a Pod that one round missed by chance is not lost in a long one for another Pod that meets it', () => {
    const service = watching();
    check(service, 2);
    service.asked();
    service.take(wanted(3));
    const { round } = service.context;
    expect(rounds(service)).toMatchObject([{ wanted: ['10.0.0.3'] }]);
    service.take(answered(1, round)).wait(19_000).take(answered(4, round));
    expect(told(service)).toEqual([]);
    service.take(finished(round, { healthy: ['10.0.0.1'], unreachable: 3 }));
    expect(told(service)).toEqual([]);
  });

  test('rounds for others look for it as well, once it is due', () => {
    const service = watching().wait(6_900).take(wanted(3));
    expect(rounds(service)).toMatchObject([{ wanted: ['10.0.0.3'] }]);
    service.take(finished(service.context.round)).wait(250);
    expect(rounds(service)).toMatchObject([{ wanted: ['10.0.0.3', '10.0.0.1', '10.0.0.2'] }]);
  });

  test('one that was missed is looked for again within 2.5 s', () => {
    const service = watching();
    check(service, 2);
    expect(service.patience).toBeLessThanOrEqual(2_500);
  });

  test('a Service that answers nobody for 20 s has lost its Pods at the first look', () => {
    const service = watching().wait(12_500);
    expect(told(service.wait(8_000).take(finished(service.context.round, { unreachable: 6 })))).toEqual([
      ['route.lost', 'web-1'],
      ['route.lost', 'web-2'],
    ]);
  });
});
