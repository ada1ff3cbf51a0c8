/**
 * The pod chart: whether each Service that has reached the Pod watches the route from then on
 * (docs/features/routes.md §6.7). A Service that does not would never say that it is lost.
 */
import { describe, expect, test } from 'vitest';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import {
  allProven,
  confirmed,
  lost,
  newPod,
  observed,
  type PodDriver,
  patched,
  podFacts,
  proven,
  provenOnly,
  readyPod,
  recheck,
  servicesAsked,
  withdrawing,
} from './pod-script.ts';

const names = ['api', 'web', 'www'];
const withdraw = (change: Partial<PodFacts> = {}) => observed({ gate: withdrawing, ...change });
const isTrue = (change: Partial<PodFacts> = {}) => withdraw({ condition: 'True', ...change });
/** The Services that were told since the last look that the Pod wants to be watched. */
const watches = (pod: PodDriver) => servicesAsked(pod, 'route.watched');

test('Services that said so with their proof need not be told', () => {
  const pod = newPod(withdraw(), ...allProven, patched(), isTrue());
  expect(pod.state).toBe('gated.ready.proven');
  expect(watches(pod)).toEqual([]);
  expect(watches(pod.wait(3_600_000))).toEqual([]);
});

test('with keep nobody is told', () => {
  expect(watches(readyPod().wait(3_600_000))).toEqual([]);
});

describe('the Services that did not say so are told once the Pod is ready', () => {
  test('the gate withdraws since the Pod began to prove: those that had reached it by then', () => {
    const pod = newPod(observed(), provenOnly('api'), withdraw());
    pod.take(proven('web'), proven('www'), patched());
    expect(watches(pod)).toEqual(['api']);
  });

  test('a Service that had not heard yet that the gate withdraws', () => {
    const pod = newPod(withdraw(), provenOnly('api'), proven('web'), proven('www'), patched());
    expect(watches(pod)).toEqual(['api']);
  });

  test('the gate says keep, and withdraw again', () => {
    const pod = newPod(withdraw(), ...allProven, patched(), isTrue());
    expect(watches(pod.take(observed({ condition: 'True' })))).toEqual([]);
    expect(watches(pod.take(isTrue()))).toEqual(names);
  });

  test('a route that was lost and is proven again, by a Service that knows nothing of withdraw', () => {
    const pod = newPod(withdraw(), ...allProven, patched(), isTrue(), lost('web'), provenOnly('web'));
    expect(watches(pod)).toEqual(['web']);
  });

  test('a proof that crossed the withdrawal of its question: the Service has forgotten the Pod', () => {
    const pod = newPod(withdraw(), proven('web'), proven('www'));
    pod.take(withdraw({ groupResource: 'missing' }), proven('api'));
    pod.take(withdraw({ groupResource: 'found' })).wait(0);
    pod.take(patched());
    expect(pod.state).toBe('gated.ready.proven');
    expect(watches(pod)).toContain('api');
  });
});

test('a Pod that has replaced it under its name is watched by nobody', () => {
  const pod = newPod(isTrue(), ...names.map(confirmed));
  pod.asked();
  expect(watches(pod.take(isTrue({ uid: 'pod-2' })))).toEqual(names);
});

describe('who was told confirms it', () => {
  const unconfirmed = () => newPod(isTrue());

  test('each asks for that', () => {
    const [message] = unconfirmed().askedOf('message.send');
    expect(message?.event).toMatchObject({ type: 'route.watched', confirm: true });
  });

  test('and is told again until it does: after 5 s, 10 s, … and every ten minutes for ever', () => {
    const pod = unconfirmed().take(confirmed('api'), confirmed('www'));
    expect(watches(pod)).toEqual(names);
    expect(watches(pod.wait(4_999))).toEqual([]);
    expect(watches(pod.wait(1))).toEqual(['web']);
    expect(watches(pod.wait(9_999))).toEqual([]);
    expect(watches(pod.wait(1))).toEqual(['web']);
    pod.wait(3_600_000);
    pod.asked();
    expect(watches(pod.wait(600_000))).toEqual(['web']);
    expect(watches(pod.take(confirmed('web')).wait(3_600_000))).toEqual([]);
  });

  test.each([
    ['another Pod that had the name', { uid: 'pod-0' }],
    ['its former address', { ip: '10.0.0.9' }],
    ['another Service that had the name', { serviceUid: 'web-0' }],
  ])('the word about %s counts for nothing', (_, about) => {
    const pod = unconfirmed().take(confirmed('api'), confirmed('www'), {
      ...confirmed('web'),
      ...about,
    } as never);
    pod.asked();
    expect(watches(pod.wait(5_000))).toEqual(['web']);
  });

  test('a condition that somebody takes away unseen is still looked for after five minutes', () => {
    const pod = newPod(withdraw(), ...names.map(provenOnly), patched());
    expect(watches(pod)).toEqual(names);
    expect(pod.wait(700_000).state).toMatch(/^gated\.(proving|marking)/);
  });
});

describe('a Service that was gone for a moment says so', () => {
  test('a ready Pod asks it again, and is watched again by its proof', () => {
    const pod = newPod(withdraw(), ...allProven, patched(), isTrue());
    pod.asked();
    pod.take(lost('web'));
    expect(servicesAsked(pod)).toEqual(['web']);
    expect(watches(pod.take(proven('web')))).toEqual([]);
  });

  test('a Pod that waits for it asks it again at once, not after a minute', () => {
    const pod = newPod(observed());
    pod.asked();
    expect(servicesAsked(pod.take(lost('web')))).toEqual(['web']);
    expect(pod.state).toBe('gated.proving.asking');
  });

  test('one that the Pod has not asked, or no longer has to, is not asked', () => {
    const pod = newPod(observed(), proven('web'));
    pod.asked();
    expect(servicesAsked(pod.take(lost('web'), lost('stranger'), lost('api', ['pod-0'])))).toEqual([]);
  });
});

test('Services that are no longer of the group hear that they need not look for the Pod', () => {
  const pod = newPod(observed(), proven('api'));
  pod.asked();
  pod.take(observed({ services: { web: 'web-1', other: 'other-1' } }));
  const sent = pod.askedOf('message.send').map(({ event, to }) => [event.type, to]);
  expect(sent).toEqual([
    ['route.unwanted', ['service/shop/www']],
    ['route.wanted', ['service/shop/other']],
  ]);
});

describe('what a Pod says to Services is ordered', () => {
  const spoken = (pod: PodDriver) =>
    pod.askedOf('message.send').map(({ event }) => [event.type, event.spokenAt] as const);

  test('a question after one that was taken back is later than that, also within a millisecond', () => {
    const pod = newPod(observed());
    pod.take(observed({ groupResource: 'missing' }), observed({ groupResource: 'found' }));
    const [first, taken, second] = spoken(pod).filter(([type]) => type !== 'route.watched');
    expect(first).toEqual(['route.wanted', pod.now]);
    expect(taken).toEqual(['route.unwanted', pod.now]);
    expect(second?.[0]).toBe('route.wanted');
    expect(second?.[1]).toBeGreaterThan(taken?.[1] as number);
  });

  test('the clock of the next owner may be behind', () => {
    const pod = newPod(observed());
    pod.asked();
    pod.now -= 3_600_000;
    const [[, again] = []] = spoken(pod.take(recheck));
    expect(again).toBeGreaterThan(pod.now);
  });
});

test('the Services are those of the Pod: proofs of others count for nothing', () => {
  const pod = newPod(isTrue(), isTrue({ services: { web: podFacts.services.web ?? null } }));
  pod.asked();
  expect(watches(pod.wait(5_000))).toEqual(['web']);
});
