/** What a Pod's condition says while its gate holds it back, and what it says once it is open. */
import { describe, expect, test } from 'vitest';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import {
  allProven,
  missed,
  newPod,
  observed,
  type PodDriver,
  patched,
  podFacts,
  proven,
  recheck,
  refused,
  servicesAsked,
  toldWhy,
  unverifiable,
} from './pod-script.ts';

const holding: PodFacts['gate'] = { ...podFacts.gate, whenUnverifiable: 'hold' };
const patches = (pod: PodDriver) => pod.askedOf('pod-condition.patch');

describe('docs/features/routes.md §7.1: “its condition is False, with a reason and the missing Services in the message”', () => {
  test('who is missing, and what answered instead', () => {
    const pod = newPod(observed(), proven('api'), missed('web', 'answered by 10.0.0.7'));
    expect(patches(pod.wait(4_000))).toMatchObject([
      {
        status: 'False',
        reason: 'WaitingForRoutes',
        message:
          '2 of 3 Services have not reached this Pod: web (answered by 10.0.0.7), www (no answer yet).',
      },
    ]);
  });

  test('what several Services share is said once', () => {
    const pod = newPod(
      observed(),
      missed('web', 'answered by 10.0.0.7'),
      missed('api', 'answered by 10.0.0.7'),
    );
    expect(patches(pod.wait(4_000))).toMatchObject([
      { message: expect.stringContaining(': api and web (answered by 10.0.0.7), www (no answer yet).') },
    ]);
  });

  test('a Service that waits for the Pod: what to change, beside what answers', () => {
    const deadlocks: PodFacts['deadlocks'] = { api: ['notPublished'], web: ['affine', 'local'] };
    const pod = newPod(observed({ deadlocks }), missed('api', 'calls failed: connection refused'));
    const [patch] = patches(pod.wait(4_000));
    expect(patch?.message).toContain(
      'api (publishes Ready Pods only: set publishNotReadyAddresses: true; calls failed: connection refused)',
    );
    expect(patch?.message).toMatch(
      /web \(session affinity .*; internalTrafficPolicy Local .*\), www \(no answer/,
    );
  });

  test('a Service that prefers near Pods: what to change', () => {
    const pod = newPod(observed({ deadlocks: { api: ['near'] } }), missed('api', 'answered by 10.0.0.7'));
    const [patch] = patches(pod.wait(4_000));
    expect(patch?.message).toMatch(/api \(trafficDistribution .*: remove it, .*; answered by 10.0.0.7\)/);
  });

  test('docs/features/routes.md §7.12: a Service that does not select the Pod: what to correct', () => {
    const pod = newPod(observed({ deadlocks: { api: ['unselected'] } }));
    const [patch] = patches(pod.wait(4_000));
    expect(patch?.message).toContain('api (its selector does not select this Pod: correct the selector');
  });

  test('docs/features/routes.md §7.11: held for a minute, its Events say it too, again each half hour', () => {
    const pod = toldWhy(newPod(observed(), proven('api')));
    const began = pod.now - 4_000;
    const written: number[] = [];
    while (pod.now - began < 4_000_000) {
      pod.wait(pod.patience ?? 0);
      for (const { reason, note } of pod.askedOf('kube-event.write')) {
        expect([reason, note]).toEqual(['WaitingForRoutes', expect.stringContaining('web and www')]);
        written.push(pod.now - began);
      }
    }
    expect(written).toEqual([60_000, 1_860_000, 3_660_000]);
  });

  /** Refuses every patch of the condition for two minutes. @returns the Events written meanwhile, and when */
  function refusedForTwoMinutes(pod: PodDriver) {
    const began = pod.now;
    const written: Array<{ reason: string; note: string; atMs: number }> = [];
    while (pod.now - began < 120_000) {
      for (const effect of pod.asked()) {
        if (effect.type === 'kube-event.write') written.push({ ...effect, atMs: pod.now - began });
        if (effect.type === 'pod-condition.patch') pod.take(refused('error'));
      }
      pod.wait(Math.min(pod.patience ?? 0, 500));
    }
    return written;
  }

  test('docs/features/routes.md §7.11: the Event comes in time, even if the condition cannot be written', () => {
    expect(refusedForTwoMinutes(newPod(observed(), proven('api')))).toMatchObject([
      { reason: 'WaitingForRoutes', note: expect.stringContaining('web and www') },
    ]);
  });

  test('docs/features/routes.md §7.14: with every route proven, an Event says after a minute what keeps it back', () => {
    const [event, ...more] = refusedForTwoMinutes(newPod(observed(), ...allProven));
    expect(event).toMatchObject({
      eventType: 'Warning',
      reason: 'ConditionNotWritten',
      note: 'The condition example.com/routes could not be set to True, 8 times in a row: it was error',
    });
    expect(event?.atMs).toBeGreaterThan(40_000);
    expect(event?.atMs).toBeLessThan(80_000);
    expect(more).toEqual([]);
  });

  test('its own answer with another status is told as such', () => {
    const pod = newPod(observed(), missed('web', 'answered not 200 by 10.0.0.1', ['10.0.0.1']));
    expect(patches(pod.wait(4_000))).toMatchObject([
      { message: expect.stringContaining('web (this Pod answered') },
    ]);
  });

  const eight = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`s${n}`, `s${n}-1`]));

  test('five by name, the number of the rest; those five alone are asked to say what answers', () => {
    const pod = newPod(observed({ services: eight }));
    const curious = pod
      .asked()
      .flatMap((effect) => (effect.type === 'message.send' && 'curious' in effect.event ? effect.to : []));
    expect(curious).toEqual([0, 1, 2, 3, 4].map((n) => `service/shop/s${n}`));
    expect(patches(pod.wait(4_000))).toMatchObject([
      { message: expect.stringMatching(/s4 \(no answer yet\) and 3 more/) },
    ]);
  });

  test('docs/features/routes.md §7.1: a Service that is named later is asked then to say what answers, once', () => {
    const pod = newPod(observed({ services: eight }), ...[0, 1, 2, 3, 4, 5].map((n) => proven(`s${n}`)));
    pod.asked();
    const [question] = pod.wait(4_000).askedOf('message.send');
    expect(question).toMatchObject({ to: ['service/shop/s6', 'service/shop/s7'], event: { curious: true } });
    pod.take({ type: 'condition.patched', uid: 'pod-1', status: 'False' }, proven('s6')).wait(10_000);
    expect(pod.askedOf('message.send')).toEqual([]);
  });

  test('a Pod that waits for less than four seconds is not written', () => {
    const pod = newPod(observed())
      .wait(3_999)
      .take(...allProven);
    expect(patches(pod)).toMatchObject([{ status: 'True' }]);
  });

  test('True is not written before the word on the way has landed', () => {
    const pod = newPod(observed())
      .wait(4_000)
      .take(...allProven);
    expect(pod.state).toBe('gated.proving.telling');
    expect(pod.take(patched('False')).state).toBe('gated.marking.patching');
  });
});

describe('what the condition says stays true, however long the Pod waits', () => {
  const owner = (name: string): Partial<PodFacts> => ({
    groupResource: 'missing',
    owner: { kind: 'Fleet', name, label: 'fleet' },
  });
  const tooMany: Partial<PodFacts> = {
    groupResource: 'missing',
    refused: { reason: 'TooManyServices', message: 'There are too many.' },
  };

  test.each<[string, Partial<PodFacts>, Partial<PodFacts>, object]>([
    ['another owner is missing', owner('a'), owner('b'), { message: expect.stringContaining('Fleet b') }],
    ['the owner is there, but the group is too large', owner('a'), tooMany, { reason: 'TooManyServices' }],
    [
      'another address cannot be parsed',
      { address: { invalid: 'x' } },
      { address: { invalid: 'y' } },
      { message: expect.stringContaining('"y"') },
    ],
    [
      'without an address, the owner goes',
      { address: null },
      { ...owner('a'), address: null },
      { reason: 'GroupMissing' },
    ],
  ])('%s: it is rewritten', (_, before, after, said) => {
    for (const waitMs of [0, 60_000]) {
      const pod = toldWhy(newPod(observed(before))).wait(waitMs);
      pod.asked();
      pod.take(observed({ condition: 'False', ...after })).wait(40_000);
      expect(patches(pod)).toMatchObject([{ status: 'False', ...said }]);
    }
  });

  test.each<[string, Partial<PodFacts>]>([
    ['GroupResourceMissing', owner('a')],
    ['TooManyServices', tooMany],
    ['InvalidAddress', { address: { invalid: 'x' } }],
  ])('the Event %s is written again each half hour, since Events expire', (reason, facts) => {
    const pod = toldWhy(newPod(observed(facts)));
    let count = 0;
    for (let minute = 0; minute < 100; minute += 1)
      count += pod
        .wait(60_000)
        .askedOf('kube-event.write')
        .filter((event) => event.reason === reason).length;
    expect(count).toBe(4);
  });

  test.each<[string, Partial<PodFacts>]>([
    ['routes', {}],
    ['an address', { address: null }],
    ['its owner', owner('a')],
  ])(
    'waiting for %s, somebody takes the condition away or makes it Unknown: it is written again',
    (_, facts) => {
      for (const condition of ['Unknown', null] as const) {
        const pod = toldWhy(newPod(observed(facts))).take(observed({ ...facts, condition: 'False' }));
        pod.asked();
        pod.take(observed({ ...facts, condition })).wait(10_000);
        expect(patches(pod)).toMatchObject([{ status: 'False', at: expect.any(Number) }]);
      }
    },
  );
});

describe('a word on its way is waited for: whichever patch lands last was asked for last', () => {
  const reasons: Array<[string, Partial<PodFacts>]> = [
    ['groupMissing', { groupResource: 'missing' }],
    ['waitingForAddress', { address: null }],
    ['invalid', { address: { invalid: 'x' } }],
  ];
  const free = observed({ services: {} });

  test.each(reasons)('%s', (state, change) => {
    const pod = newPod(observed({ ...change, services: {} })).wait(4_000);
    expect(patches(pod)).toMatchObject([{ status: 'False' }]);
    expect(pod.take(free).state).toBe(`gated.${state}.telling`);
    expect(patches(pod.take(recheck))).toEqual([]);
    expect(pod.take(patched('False')).state).toBe('gated.marking.patching');
    expect(patches(pod)).toMatchObject([{ status: 'True', reason: 'NothingToVerify' }]);
  });

  test.each(reasons)('%s: also where it is not known whether it landed', (_, change) => {
    const pod = newPod(observed({ ...change, services: {} })).wait(4_000);
    pod.asked();
    expect(pod.take(free, refused('error')).state).toBe('gated.marking.patching');
    const silent = newPod(observed({ ...change, services: {} }))
      .wait(4_000)
      .take(free);
    expect(silent.wait(30_000).state).toMatch(/^gated\.marking\./);
  });
});

describe('docs/features/routes.md §7.2: “for one Pod at most every three seconds, and less often the longer it waits”', () => {
  test('ten proofs in ten seconds are at most three writes', () => {
    const services = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`s${n}`, `s${n}-1`]));
    const pod = newPod(observed({ services }));
    let written = 0;
    for (let n = 0; n < 100; n++) {
      if (n % 10 === 0) pod.take(proven(`s${n / 10}`));
      const asked = patches(pod.wait(100));
      written += asked.length;
      if (asked.length > 0) pod.take(patched('False'), observed({ services, condition: 'False' }));
    }
    expect(written).toBeGreaterThanOrEqual(2);
    expect(written).toBeLessThanOrEqual(3);
  });

  test('a Pod that has waited for a minute is written each 30 s, however much changes', () => {
    const services = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`s${n}`, `s${n}-1`]));
    const pod = newPod(observed({ services }));
    const at: number[] = [];
    for (let n = 0; n < 240; n++) {
      const asked = patches(pod.take(proven(`s${n}`)).wait(1_000));
      if (asked.length === 0) continue;
      at.push(n);
      pod.take(patched('False'), observed({ services, condition: 'False' }));
    }
    const gaps = at.slice(1).map((second, n) => second - (at[n] ?? 0));
    expect(gaps[0]).toBeLessThanOrEqual(4);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(31);
    expect(Math.min(...gaps.slice(-3))).toBeGreaterThanOrEqual(30);
  });

  test('without news nothing is written again, and the time of the transition stays', () => {
    const pod = toldWhy(newPod(observed())).take(observed({ condition: 'False' }));
    pod.asked();
    expect(patches(pod.wait(3_600_000))).toEqual([]);
    pod.take(proven('api'));
    expect(patches(pod.wait(3_000))).toMatchObject([{ status: 'False', at: null }]);
  });

  test('a write that fails is tried again, no sooner than after the next pause', () => {
    const pod = newPod(observed()).wait(4_000).take(refused('error'));
    pod.asked();
    expect(patches(pod.wait(3_999))).toEqual([]);
    expect(patches(pod.wait(1))).toHaveLength(1);
  });
});

describe('docs/features/routes.md §5: what cannot be verified', () => {
  const portless = {
    services: { ...podFacts.services, api: null },
    unaskable: { api: 'has no port named http' },
  };

  test('it does not hold the Pod back, and is not told as proven', () => {
    const pod = newPod(observed(portless), proven('web'), unverifiable('www'));
    expect(patches(pod)).toMatchObject([
      {
        status: 'True',
        reason: 'RoutesVerified',
        message:
          'Traffic through 1 of 3 Services reached this Pod. Not verified: api (has no port named http), www (its answers carry no header).',
      },
    ]);
  });

  test.each<[string, string, Partial<PodFacts>]>([
    ['NothingToVerify', 'no Service of the group', { services: {} }],
    ['Unverified', 'no Service has the port', { services: { api: null }, unaskable: { api: 'has no port' } }],
    ['Unverified', 'the Pod lacks the variable', { verifiable: false }],
  ])('%s: %s; a Warning says so', (reason, _, change) => {
    const pod = newPod(observed(change));
    expect(patches(pod)).toMatchObject([{ status: 'True', reason }]);
    pod.take(patched());
    expect(pod.askedOf('kube-event.write')).toMatchObject([{ eventType: 'Warning', reason }]);
  });

  test.each<[string, Partial<PodFacts>]>([
    ['no Service of the group', { services: {} }],
    ['a Service without the port', portless],
    ['a Pod without the variable', { verifiable: false }],
  ])('with hold, %s holds the Pod back', (_, change) => {
    const pod = newPod(observed({ ...change, gate: holding }), proven('web'), proven('www'));
    expect(pod.state).toBe('gated.proving.asking');
    expect(patches(pod.wait(4_000))).toMatchObject([{ status: 'False', reason: 'WaitingForRoutes' }]);
  });

  test('with hold, a verdict proves nothing; a later proof does', () => {
    const pod = newPod(observed({ gate: holding }), proven('web'), proven('api'), unverifiable('www'));
    expect(pod.state).toBe('gated.proving.asking');
    pod.asked();
    pod.wait(4_000).take(patched('False')).asked();
    expect(servicesAsked(pod.wait(16_000))).toEqual(['www']);
    expect(pod.take(proven('www')).state).toBe('gated.marking.patching');
  });

  test('the gate that changes from hold to pass lets the Pod go', () => {
    const pod = newPod(observed({ ...portless, gate: holding }), proven('web'), proven('www'));
    expect(pod.take(observed(portless)).state).toBe('gated.marking.patching');
  });
});

describe('§2.7: the owner that was missing, or waited with the Pod, turns out not to match', () => {
  const said = patches;
  const isFalse = { condition: 'False' } as const;

  test.each([
    ['it was missing', { groupResource: 'missing' } as const],
    ['the Pod waited for routes', {}],
  ])('%s: the condition says so once, instead of what it said', (_, before) => {
    const pod = toldWhy(newPod(observed(before))).take(observed({ ...before, ...isFalse }));
    expect(said(pod)).toHaveLength(1);
    pod.take(observed({ ...isFalse, groupResource: 'mismatch' })).wait(30_000);
    expect(said(pod)).toMatchObject([
      { status: 'False', reason: 'NotApplicable', at: null, message: expect.stringContaining('require') },
    ]);
    pod.take(patched('False')).wait(3_600_000);
    expect(pod.state).toBe('gated.stranded');
    expect(said(pod)).toEqual([]);
  });

  test('it is tried again until it is written', () => {
    const pod = toldWhy(newPod(observed({ groupResource: 'missing' })));
    pod.take(observed({ ...isFalse, groupResource: 'missing' }));
    pod.take(observed({ ...isFalse, groupResource: 'mismatch' })).wait(30_000);
    pod.take(refused('error')).wait(60_000);
    expect(said(pod).filter(({ reason }) => reason === 'NotApplicable').length).toBeGreaterThan(1);
  });

  test('one of which nothing was said is left alone, as is a condition of somebody else', () => {
    const pod = newPod(observed({ groupResource: 'mismatch', ...isFalse })).wait(3_600_000);
    expect(pod.state).toBe('gated.stranded');
    expect(said(pod)).toEqual([]);
  });

  test('an owner that comes to match after all: the Pod is held, and says what for', () => {
    const pod = toldWhy(newPod(observed({ groupResource: 'missing' })));
    pod
      .take(observed({ ...isFalse, groupResource: 'mismatch' }))
      .wait(30_000)
      .take(patched('False'));
    pod.asked();
    pod.take(observed({ ...isFalse, groupResource: 'found' })).wait(30_000);
    expect(said(pod)).toMatchObject([{ reason: 'WaitingForRoutes' }]);
  });
});
