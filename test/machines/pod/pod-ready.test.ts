/**
 * The pod chart once the condition is True. What must hold is docs/features/routes.md §6; tests in quotes say
 * it in short.
 */
import { describe, expect, test } from 'vitest';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import {
  allProven,
  lost,
  newPod,
  observed,
  patched,
  podFacts,
  proven,
  readyPod,
  recheck,
  refused,
  servicesAsked,
  withdrawing,
} from './pod-script.ts';

const withLate = { ...podFacts.services, late: 'late-1' };
/** A ready Pod whose RouteGate withdraws. */
const watchedPod = () => readyPod({ gate: withdrawing });
const watched = (change: Partial<PodFacts> = {}) =>
  observed({ gate: withdrawing, condition: 'True', ...change });

describe('“ready with whenRouteIsLost: keep is quiet”', () => {
  test.each<[string, Partial<PodFacts>]>([
    ['a Service that comes', { services: withLate }],
    ['a Service that goes', { services: { web: 'web-1' } }],
    ['another Service under the name', { services: { ...podFacts.services, web: 'web-2' } }],
    ['another address', { address: { ip: '10.0.0.2', family: 'IPv4' } }],
    ['a group resource that is deleted', { groupResource: 'missing' }],
  ])('%s changes nothing and asks nobody', (_, change) => {
    const pod = readyPod()
      .take(observed({ condition: 'True', ...change }))
      .wait(3_600_000);
    expect(pod.state).toBe('gated.ready.proven');
    expect(pod.asked()).toEqual([]);
  });

  test('a lost route changes nothing', () => {
    const pod = readyPod().take(lost('web')).wait(3_600_000);
    expect(pod.state).toBe('gated.ready.proven');
    expect(pod.asked()).toEqual([]);
  });
});

describe('§2.7: a Pod whose owner no longer matches is not held', () => {
  const foreign = (change: Partial<PodFacts> = {}) => watched({ groupResource: 'mismatch', ...change });

  test.each<[string, ReturnType<typeof watched>[]]>([
    ['a route that is lost', [foreign(), lost('web')]],
    ['a route that was lost before', [lost('web'), foreign()]],
    ['a Service that comes', [foreign({ services: withLate })]],
  ])('%s: nothing is asked or written any more', (_, news) => {
    const pod = watchedPod().take(...news);
    pod.asked();
    expect(pod.wait(3_600_000).state).toBe('gated.ready.proven');
    expect(pod.asked()).toEqual([]);
  });

  test('once it matches again its routes are watched again', () => {
    const pod = watchedPod().take(foreign());
    pod.asked();
    pod.take(watched());
    expect(servicesAsked(pod, 'route.watched')).toEqual(['api', 'web', 'www']);
  });
});

describe('“With withdraw: a Service added later is verified too”', () => {
  test('it is asked, it alone, and proves it: the Pod stays ready', () => {
    const pod = watchedPod().take(watched({ services: withLate }));
    expect(pod.state).toBe('gated.ready.doubted');
    expect(servicesAsked(pod)).toEqual(['late']);
    pod.take(proven('late')).wait(3_600_000);
    expect(pod.state).toBe('gated.ready.proven');
    expect(pod.asked()).toEqual([]);
  });

  test('“a new Service never reaches it”: after 30 s the condition is set False, and the message names that Service', () => {
    const pod = watchedPod().take(watched({ services: withLate }));
    pod.asked();
    expect(pod.wait(29_999).askedOf('pod-condition.patch')).toEqual([]);
    expect(pod.wait(1).askedOf('pod-condition.patch')).toEqual([
      {
        type: 'pod-condition.patch',
        namespace: 'shop',
        name: 'web-0',
        uid: 'pod-1',
        conditionType: 'example.com/routes',
        status: 'False',
        reason: 'RouteLost',
        message: expect.stringContaining('late'),
        at: 1_700_000_030_000,
      },
    ]);
    expect(pod.state).toBe('gated.lost.withdrawing');
  });

  test('Services that are added one after the other have 30 s each', () => {
    const pod = watchedPod();
    let services = podFacts.services;
    for (let n = 0; n < 20; n++) {
      services = { ...services, [`late-${n}`]: `late-${n}-1` };
      pod.take(watched({ services })).wait(9_000);
      if (n > 0) pod.take(proven(`late-${n - 1}`));
      expect([n, pod.state]).toEqual([n, 'gated.ready.doubted']);
    }
    expect(pod.take(proven('late-19')).state).toBe('gated.ready.proven');
    expect(pod.askedOf('pod-condition.patch')).toEqual([]);
  });

  test('one that never reaches it is noticed after 30 s, however many others come and prove meanwhile', () => {
    const pod = watchedPod()
      .take(watched({ services: withLate }))
      .wait(10_000);
    pod
      .take(watched({ services: { ...withLate, later: 'later-1' } }))
      .wait(10_000)
      .take(proven('later'));
    pod.asked();
    expect(pod.wait(9_999).askedOf('pod-condition.patch')).toEqual([]);
    expect(pod.wait(1).askedOf('pod-condition.patch')).toMatchObject([
      { status: 'False', message: expect.stringContaining('late ') },
    ]);
  });

  test('a Service that goes while it is doubted owes nothing any more', () => {
    const pod = watchedPod()
      .take(watched({ services: withLate }))
      .wait(29_000)
      .take(watched());
    expect(pod.state).toBe('gated.ready.proven');
    expect(pod.wait(60_000).state).toBe('gated.ready.proven');
  });
});

describe('“when a route is not proven again within 30 s … the condition is set False (reason RouteLost, which Service) and the Pod proves again”', () => {
  test('a lost route is asked for at once; proven again in time, the Pod stays ready', () => {
    const pod = watchedPod().take(lost('web'));
    expect(pod.state).toBe('gated.ready.doubted');
    expect(servicesAsked(pod)).toEqual(['web']);
    pod.wait(29_999).take(proven('web')).wait(60_000);
    expect(pod.state).toBe('gated.ready.proven');
    expect(pod.askedOf('pod-condition.patch')).toEqual([]);
  });

  test('a doubt that is over is forgotten: the next one has its 30 s again', () => {
    const pod = watchedPod()
      .take(lost('web'))
      .wait(20_000)
      .take(proven('web'))
      .wait(60_000)
      .take(lost('web'));
    expect(pod.patience).toBe(30_000);
    expect(pod.wait(29_999).state).toBe('gated.ready.doubted');
    expect(pod.wait(1).state).toBe('gated.lost.withdrawing');
  });

  test('the message names the Service that is lost, not one that was doubted and came back', () => {
    const pod = watchedPod()
      .take(lost('web'))
      .wait(1_000)
      .take(watched({ services: withLate }), proven('web'));
    pod.asked();
    pod.wait(30_000);
    expect(pod.askedOf('pod-condition.patch')).toMatchObject([{ message: expect.stringContaining('late') }]);
  });

  test('withdrawn, it proves again: the lost Service alone is asked, and the condition follows its proof', () => {
    const pod = watchedPod().take(lost('web')).wait(30_000);
    pod.asked();
    pod.take(patched('False'));
    expect(pod.asked()).toEqual([
      expect.objectContaining({ type: 'kube-event.write', eventType: 'Warning', reason: 'RouteLost' }),
      expect.objectContaining({ type: 'message.send', to: ['service/shop/web'] }),
    ]);
    pod.take(watched({ condition: 'False' })).wait(1_000);
    expect(pod.state).toBe('gated.proving.asking');
    pod.take(proven('web'));
    expect(pod.askedOf('pod-condition.patch')).toMatchObject([{ status: 'True' }]);
    expect(pod.take(patched()).state).toBe('gated.ready.proven');
  });

  test('a picture that still shows the old True does not make it ready', () => {
    const pod = watchedPod()
      .take(lost('web'))
      .wait(30_000)
      .take(patched('False'), watched({ groupResource: 'found' }));
    expect(pod.state).toBe('gated.proving.asking');
    pod.take(watched({ groupResource: 'missing' }), watched({ groupResource: 'found' }));
    expect(pod.state).toBe('gated.proving.asking');
  });

  test('a withdrawal that fails is tried again for ever', () => {
    const pod = watchedPod().take(lost('web')).wait(30_000);
    pod.asked();
    for (let n = 0; n < 12; n++) {
      pod.take(refused('error'));
      expect(pod.patience).toBeLessThanOrEqual(30_000);
      pod.wait(pod.patience ?? 0);
      expect(pod.askedOf('pod-condition.patch')).toMatchObject([{ status: 'False' }]);
    }
    expect(pod.take(patched('False')).state).toBe('gated.proving.asking');
  });

  test.each([
    ['another Pod that had the name', lost('web', ['pod-0'])],
    ['another Service that had the name', lost('web', ['pod-1'], 'web-0')],
    ['a Service of another group', lost('stranger')],
  ])('the loss of %s changes nothing', (_, event) => {
    expect(watchedPod().take(event).state).toBe('gated.ready.proven');
  });

  test('a route that is lost while the Pod still proves the others is proven again before it is marked', () => {
    const pod = newPod(observed({ gate: withdrawing }), proven('api'), proven('web'));
    pod.asked();
    pod.take(lost('web'));
    expect(servicesAsked(pod)).toEqual(['web']);
    expect(pod.take(proven('www')).state).toBe('gated.proving.asking');
    expect(pod.take(proven('web')).state).toBe('gated.marking.patching');
  });

  test('a route that is lost while the condition is being written is doubted as soon as that has landed', () => {
    const pod = newPod(observed({ gate: withdrawing }), ...allProven, lost('web'));
    expect(pod.state).toBe('gated.marking.patching');
    expect(pod.wait(500).take(patched()).state).toBe('gated.ready.doubted');
    expect(pod.patience).toBe(29_500);
    expect(pod.take(proven('web')).state).toBe('gated.ready.proven');
  });

  test('a Pod that terminates while a route is doubted is left alone', () => {
    const pod = watchedPod().take(lost('web'));
    pod.asked();
    pod.take(watched({ deleting: true })).wait(60_000);
    expect(servicesAsked(pod, 'route.unwanted')).toEqual(['web']);
    expect(pod.askedOf('pod-condition.patch')).toEqual([]);
  });

  test('a Pod that ends while a route is doubted and its gate names another condition takes back what it asked for', () => {
    const pod = watchedPod().take(lost('web'));
    pod.asked();
    const gate = { ...withdrawing, conditionType: 'example.com/other' };
    pod.take(watched({ deleting: true, gated: false, condition: null, gate }));
    expect(pod.state).toBe('terminating');
    expect(servicesAsked(pod, 'route.unwanted')).toEqual(['web']);
  });
});

describe('the RouteGate changes its mind', () => {
  test('from withdraw to keep: a doubt is dropped', () => {
    const pod = watchedPod()
      .take(lost('web'))
      .wait(10_000)
      .take(observed({ condition: 'True' }))
      .wait(60_000);
    expect(pod.state).toBe('gated.ready.proven');
    expect(pod.askedOf('pod-condition.patch')).toEqual([]);
  });

  test('from keep to withdraw: the Services that proved the Pod are told to watch it, others have to prove it', () => {
    const pod = readyPod().take(observed({ condition: 'True', services: withLate }));
    pod.asked();
    pod.take(watched({ services: withLate }));
    const sent = pod.askedOf('message.send').map(({ event, to }) => [event.type, to]);
    expect(sent).toEqual([
      ['route.watched', ['service/shop/api', 'service/shop/web', 'service/shop/www']],
      ['route.wanted', ['service/shop/late']],
    ]);
  });

  test('a Pod that is True at first sight is watched, too, and its lost routes count', () => {
    const pod = newPod(watched());
    expect(servicesAsked(pod, 'route.watched')).toEqual(['api', 'web', 'www']);
    pod.take(lost('web')).wait(30_000);
    expect(pod.askedOf('pod-condition.patch')).toMatchObject([{ status: 'False' }]);
  });
});

describe('docs/features/routes.md §6.5: “No order of events leaves a True condition beside an unproven Pod”', () => {
  /** The patches of the half minute after the last event; what was asked before does not count. */
  const withdrawnWithin31s = (pod: ReturnType<typeof newPod>) => {
    pod.asked();
    return pod.wait(31_000).askedOf('pod-condition.patch');
  };

  test('lost while it is marked: the patch lands, and is taken back', () => {
    const pod = newPod(observed({ gate: withdrawing }), ...allProven, lost('web'), patched(), watched());
    expect(withdrawnWithin31s(pod)).toMatchObject([{ status: 'False', reason: 'RouteLost' }]);
  });

  test('a Service comes while it is marked, and never reaches it', () => {
    const pod = newPod(observed({ gate: withdrawing }), ...allProven);
    pod.take(observed({ gate: withdrawing, services: withLate }), patched(), watched({ services: withLate }));
    expect(withdrawnWithin31s(pod)).toMatchObject([{ status: 'False' }]);
  });

  test('the patch lands and its answer is lost: the world shows it', () => {
    const pod = newPod(observed({ gate: withdrawing }), ...allProven, lost('web'), watched());
    expect(withdrawnWithin31s(pod)).toMatchObject([{ status: 'False' }]);
  });

  test('the patch lands long after it was given up', () => {
    const pod = newPod(observed({ gate: withdrawing }), ...allProven)
      .wait(30_000)
      .take(lost('web'));
    expect(pod.state).toBe('gated.proving.asking');
    expect(withdrawnWithin31s(pod.take(watched()))).toMatchObject([{ status: 'False' }]);
  });

  test.each([
    ['while a route is doubted', (pod: ReturnType<typeof newPod>) => pod.take(lost('web'))],
    ['while it is ready', (pod: ReturnType<typeof newPod>) => pod],
  ])('a recheck %s: what is not proven again is withdrawn', (_, before) => {
    const pod = before(watchedPod()).take(recheck, proven('api'), proven('www'));
    expect(withdrawnWithin31s(pod)).toMatchObject([
      { status: 'False', message: expect.stringContaining('web') },
    ]);
  });

  test('a withdrawal that was lost on the way is made again in time', () => {
    const pod = watchedPod().take(lost('web', ['pod-1'], 'web-1', 1_700_000_000_000 - 29_000));
    for (let failures = 0; failures < 9; failures++) {
      pod.wait(pod.patience ?? 0).take(refused('error'));
    }
    pod.wait(pod.patience ?? 0);
    pod.asked();
    // The answer never comes; 12 s later that is noticed, and after a pause it is asked for again.
    expect(pod.state).toBe('gated.lost.withdrawing');
    expect(pod.wait(12_000 + 12_500).askedOf('pod-condition.patch')).toMatchObject([{ status: 'False' }]);
  });

  test('a True that lands while the Pod proves has no other 30 s', () => {
    const pod = newPod(observed({ gate: withdrawing }), proven('api'), proven('www')).wait(40_000);
    pod.take(patched('False'), watched({ condition: 'False' })).wait(1);
    pod.asked();
    pod.take(watched());
    expect(pod.wait(0).askedOf('pod-condition.patch')).toMatchObject([{ status: 'False' }]);
  });

  test('a recheck while it is marked counts for nothing but what is seen after it', () => {
    const pod = newPod(observed({ gate: withdrawing }), ...allProven, recheck, patched(), watched());
    expect(withdrawnWithin31s(pod)).toMatchObject([{ status: 'False' }]);
  });

  test('a recheck while it is withdrawn does not lose the withdrawal', () => {
    const pod = watchedPod().take(lost('web')).wait(30_000).take(recheck, refused('error'));
    expect(withdrawnWithin31s(pod)[0]).toMatchObject({ status: 'False' });
  });

  test('the 30 s count from when the route was seen last, not from when its loss was noticed', () => {
    const pod = watchedPod();
    pod.wait(60_000).take(lost('web', ['pod-1'], 'web-1', pod.now - 20_000));
    expect(pod.patience).toBe(10_000);
  });

  test('news of a loss that come late, perhaps of one that is over, leave time to ask', () => {
    const pod = watchedPod();
    pod.wait(60_000).take(lost('web', ['pod-1'], 'web-1', pod.now - 50_000));
    expect(servicesAsked(pod)).toEqual(['web']);
    expect(pod.patience).toBe(4_000);
  });

  test('a route that is proven again while the withdrawal fails leaves the condition True', () => {
    const pod = watchedPod().take(lost('web')).wait(30_000).take(refused('error'), proven('web'));
    expect(pod.state).toBe('gated.ready.proven');
    expect(withdrawnWithin31s(pod)).toEqual([]);
  });

  test('so does a gate that says keep by then', () => {
    const pod = watchedPod()
      .take(lost('web'))
      .wait(30_000)
      .take(refused('error'), observed({ condition: 'True' }));
    expect(pod.state).toBe('gated.ready.proven');
    expect(withdrawnWithin31s(pod)).toEqual([]);
  });

  test('the reason stays RouteLost until the routes are proven again', () => {
    const pod = watchedPod()
      .take(lost('web'))
      .wait(30_000)
      .take(patched('False'), watched({ condition: 'False' }));
    pod.asked();
    expect(pod.wait(5_000).askedOf('pod-condition.patch')).toMatchObject([
      {
        reason: 'RouteLost',
        at: null,
        message: expect.stringMatching(/web does not reach .* 1 of 3 Services/),
      },
    ]);
  });
});
