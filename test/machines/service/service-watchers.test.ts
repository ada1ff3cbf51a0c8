/**
 * The service chart: whom it watches, and who hears that it no longer does. A Pod that believes itself
 * watched never asks again, so no watch may end in silence (docs/features/routes.md §6.7).
 */
import { describe, expect, test } from 'vitest';
import type { RouteWanted } from '../../../src/machines/service/route-events.ts';
import type { ServiceFacts } from '../../../src/machines/service/route-facts.ts';
import {
  answered,
  confirmable,
  finished,
  forgotten,
  newService,
  observed,
  ready,
  rounds,
  routes,
  type ServiceDriver,
  sent,
  told,
  unwanted,
  wanted,
  watched,
} from './service-script.ts';

const all = ready(1, 2);
const watchedPods = ({ context }: ServiceDriver) => context.watched.map(({ uid }) => uid).sort();

/** A Service that has reached Pods 1 and 2, whose gate says so. */
function reached(facts: Partial<ServiceFacts>): ServiceDriver {
  const service = newService(observed(facts), wanted(1), wanted(2));
  service.take(answered(1, 1), answered(2, 1), finished(1));
  return service;
}

/** A Service that watches so many Pods, from 0 on. */
function watching(count: number): ServiceDriver {
  const pods = Array.from({ length: count }, (_, n) => n);
  const [first, ...rest] = pods.map((n) => wanted(n) as RouteWanted);
  const [one = '', ...others] = pods.map((n) => `10.0.0.${n}`);
  const service = newService(observed(ready(...pods)));
  if (first) service.take({ ...first, also: rest });
  service.take({ type: 'sample.answered', round: 1, ip: one, also: others }, finished(1));
  service.asked();
  return service;
}

/** As much time as three looks that miss take. */
function missThrice(service: ServiceDriver, met: readonly number[]): void {
  for (let n = 0; n < 3; n++) {
    service.wait(service.patience ?? 0);
    service.take(finished(service.context.round, { healthy: met.map((pod) => `10.0.0.${pod}`) }));
  }
}

describe('a watched Pod that is gone', () => {
  const [first, second] = [wanted(1) as RouteWanted, wanted(2) as RouteWanted];
  const both = { [first.ip]: first.uid, [second.ip]: second.uid };

  test('is not watched any more, though another answers at its address', () => {
    const service = reached({ ...all, pods: both });
    service.asked();
    service.take(observed({ ...all, pods: { [first.ip]: 'successor', [second.ip]: second.uid } }));
    expect(watchedPods(service)).toEqual([second.uid]);
    expect(sent(service)).toMatchObject([
      { to: [first.pod], event: { type: 'route.lost', uids: [first.uid] } },
    ]);
  });

  test('nor if it was the last, or the gate says keep', () => {
    expect(watchedPods(reached({ ...all, pods: both }).take(observed({ ...all, pods: {} })))).toEqual([]);
    const kept = reached({ ...all, pods: both }).take(observed({ pods: both }), observed({ pods: {} }));
    expect(watchedPods(kept)).toEqual([]);
  });

  test('nor if several had the address for a while; meanwhile it is', () => {
    const service = reached({ ...all, pods: both });
    service.take(observed({ ...all, pods: { [second.ip]: second.uid }, shared: [first.ip] }));
    expect(watchedPods(service)).toEqual([first.uid, second.uid]);
    service.take(observed({ ...all, pods: { [first.ip]: 'successor', [second.ip]: second.uid } }));
    expect(watchedPods(service)).toEqual([second.uid]);
  });

  test('one that the Service has not heard of yet, or in a group too large to hear of, stays watched', () => {
    const unheard = reached({ ...all, pods: {} }).take(observed({ ...all, pods: { '10.9.9.9': 'other' } }));
    expect(watchedPods(unheard)).toEqual([first.uid, second.uid]);
    const crowd = reached({ ...all, pods: both }).take(observed(all));
    expect(watchedPods(crowd)).toEqual([first.uid, second.uid]);
  });
});

describe('the gate says keep for a moment', () => {
  const back = () => {
    const service = reached(all).take(observed(), observed(all));
    service.asked();
    return service;
  };

  test('a Pod that has not heard of it is still watched: its lost route is noticed', () => {
    const service = back();
    missThrice(service, [2]);
    expect(told(service)).toEqual([['route.lost', 'web-1']]);
  });

  test('meanwhile nobody is looked for', () => {
    const service = reached(all).take(observed());
    rounds(service);
    expect(rounds(service.wait(3_600_000))).toEqual([]);
    expect(routes(service)).toBe('resting.idle');
  });

  test('what was missed before counts for nothing after it, and the 30 s count from there', () => {
    const service = reached(all);
    service.wait(service.patience ?? 0).take(finished(2, { healthy: ['10.0.0.2'] }), observed());
    service.wait(3_600_000).take(observed(all));
    expect(told(service).filter(([type]) => type === 'route.lost')).toEqual([]);
    expect(service.context.watched).toMatchObject([
      { missed: 0, at: service.now },
      { missed: 0, at: service.now },
    ]);
  });

  test('a Pod that left the endpoints meanwhile is told afterwards', () => {
    const service = reached(all).take(observed());
    service.asked();
    expect(told(service.take(observed(ready(2))))).toEqual([['route.lost', 'web-1']]);
  });

  test('a Pod that hears of the withdraw before the Service stays watched, whoever is reached meanwhile', () => {
    const service = newService(observed(), watched(1), wanted(2), answered(2, 1), finished(1));
    expect(watchedPods(service.take(observed(all)))).toEqual(['pod-1']);
  });
});

describe('no watch ends in silence', () => {
  test.each([
    ['the Service goes', forgotten],
    [
      'another gate speaks to it, and does not hold them',
      observed({ ...all, gate: 'new', pods: { '10.9.9.9': 'x' } }),
    ],
  ])('%s: who was watched is told', (_, news) => {
    const service = reached({ ...all, gate: 'old' });
    service.asked();
    service.take(news);
    expect(told(service).sort()).toEqual([
      ['route.lost', 'web-1'],
      ['route.lost', 'web-2'],
    ]);
    expect(watchedPods(service)).toEqual([]);
  });

  test('the Service goes: who waits for its proof is told as well, and can ask again when it is back', () => {
    const service = newService(observed(), wanted(1));
    service.asked();
    expect(told(service.take(forgotten))).toEqual([['route.lost', 'web-1']]);
  });

  test('a Pod that was watched and asks again is told once', () => {
    const service = reached(all).take(watched(1), wanted(1, { spokenAt: 9 }));
    service.asked();
    expect(told(service.take(forgotten)).filter(([, pod]) => pod === 'web-1')).toHaveLength(1);
  });

  test('a thousand who are told at once are told in messages that an actor takes', () => {
    const service = watching(1_100).take(forgotten);
    const messages = sent(service);
    expect(messages.length).toBeLessThanOrEqual(32);
    expect(Math.max(...messages.map(({ event }) => (event.uids as string[]).length))).toBeLessThanOrEqual(
      100,
    );
    expect(messages.flatMap(({ to }) => to)).toHaveLength(1_100);
    for (const { to, event } of messages) expect(event.uids).toHaveLength(to.length);
  });

  test('so are a thousand who leave the endpoints at once', () => {
    const service = watching(1_100).take(observed(ready()));
    const messages = sent(service);
    expect(messages.length).toBeLessThanOrEqual(32);
    expect(messages.flatMap(({ to }) => to)).toHaveLength(1_100);
  });
});

describe('whoever is watched can know it', () => {
  test('a proof says so', () => {
    expect(sent(reached(all)).map(({ event }) => event.watched)).toEqual([true, true]);
    expect(sent(reached({})).map(({ event }) => event.watched)).toEqual([undefined, undefined]);
  });

  test('a Pod that asks to hear of it does, each time, also before the Service has heard of the withdraw', () => {
    const service = newService(observed()).take(confirmable(1), confirmable(1));
    expect(sent(service).map(({ to, event }) => [to, event])).toEqual(
      Array(2).fill([
        ['pod/shop/web-1'],
        { type: 'route.watching', service: 'web', serviceUid: 'web-1-lo', uid: 'pod-1', ip: '10.0.0.1' },
      ]),
    );
  });

  test('one for whom there is no room hears nothing', () => {
    const service = watching(1_600).take(confirmable(1_600));
    expect(watchedPods(service)).not.toContain('pod-1600');
    expect(sent(service)).toEqual([]);
  });

  test('a Pod that was listed when it asked has left as soon as it is not', () => {
    const service = newService(observed(ready(1)), watched(1));
    service.asked();
    expect(told(service.take(observed(ready())))).toEqual([['route.lost', 'web-1']]);
  });
});

describe('what was sent earlier, and comes later', () => {
  test('a question that was taken back before a newer one stays asked', () => {
    const service = newService(observed(), wanted(1, { spokenAt: 5 }), wanted(1, { spokenAt: 7 }));
    service.take(unwanted(1, 'pod-1', 5));
    expect(service.context.wants).toHaveLength(1);
    service.take(unwanted(1, 'pod-1', 7));
    expect(service.context.wants).toEqual([]);
  });

  test('and who was reached by it stays watched', () => {
    const service = newService(observed(all), wanted(1, { spokenAt: 7 }), answered(1, 1), finished(1));
    expect(watchedPods(service.take(unwanted(1, 'pod-1', 5)))).toEqual(['pod-1']);
    expect(watchedPods(service.take(unwanted(1, 'pod-1', 7)))).toEqual([]);
  });

  test('a newer question changes nothing of what answers prove', () => {
    const service = newService(observed(), wanted(1, { spokenAt: 5 }));
    const [before] = service.context.wants;
    const [after] = service.wait(10).take(wanted(1, { spokenAt: 6 })).context.wants;
    expect(after).toEqual({ ...before, spokenAt: 6 });
  });

  test.each([
    ['the question', wanted(1), unwanted(1, 'pod-1', 3)],
    ['its withdrawal', wanted(1, { spokenAt: 7 }), unwanted(1)],
  ])('%s of an earlier release has no number: the withdrawal holds', (_, question, withdrawal) => {
    expect(newService(observed(), question, withdrawal).context.wants).toEqual([]);
  });
});
