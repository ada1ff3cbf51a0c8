/**
 * When the status of a RouteGate is written, and what is told beside it: docs/features/routes.md, “What
 * people are told”.
 */
import { describe, expect, test } from 'vitest';
import {
  counted,
  findings,
  forgotten,
  lookRefused,
  newGate,
  observed,
  type RouteGateDriver,
  refused,
  reported,
  reportedGate,
  says,
  waitingSince,
} from './routegate-script.ts';

const patches = (gate: RouteGateDriver) => gate.askedOf('routegate-status.patch');
const looks = (gate: RouteGateDriver) => gate.askedOf('routegate.look');
const stirred = observed({ stirred: 'a.1' });

test('a RouteGate that is new is looked at, and its status written', () => {
  const gate = newGate(observed());
  expect(gate.asked()).toEqual([{ type: 'routegate.look', namespace: 'shop', name: 'gate', look: 1 }]);
  gate.take(counted(1));
  expect(patches(gate)).toMatchObject([
    {
      uid: 'gate-1',
      status: {
        counts: { pods: 3, ready: 3, waiting: 0, observedGeneration: 4 },
        valid: { status: 'True', reason: 'InUse' },
        verifying: { status: 'True', message: '2 Services are probed' },
      },
    },
  ]);
  expect(gate.take(reported).state).toBe('reported.current');
  expect(gate.patience).toBe(3_600_000);
});

describe('a status that somebody else may have overwritten', () => {
  test('is written again after an hour in which nothing changed, and without an Event', () => {
    const gate = reportedGate({ isPortMissing: true, unaskable: { names: ['web'], count: 1 } });
    expect(looks(gate.wait(3_600_000 - 1))).toEqual([]);
    expect(looks(gate.wait(1))).toMatchObject([{ look: 2 }]);
    gate.take(counted(2, { isPortMissing: true, unaskable: { names: ['web'], count: 1 } }));
    expect(gate.asked().map(({ type }) => type)).toEqual(['routegate-status.patch']);
    expect(gate.take(reported).state).toBe('reported.troubled.resting');
    expect(gate.asked()).toEqual([]);
  });

  test('is written again however often the RouteGate is looked at meanwhile', () => {
    const gate = reportedGate();
    for (let look = 2; look <= 8; look += 1) {
      gate.wait(600_000).take(observed({ stirred: `a.${look}` }));
      gate.wait(1_000).take(counted(look, {}, `a.${look}`));
      if (gate.state.startsWith('reporting')) gate.take(reported);
    }
    expect(patches(gate)).toHaveLength(1);
  });

  test('is written again if the spec is not valid', () => {
    const gate = newGate(observed({ invalid: 'it cannot be used' }), reported);
    gate.asked();
    expect(patches(gate.wait(3_600_000))).toHaveLength(1);
    expect(gate.take(reported).state).toBe('reported.unusable');
  });
});

describe('a status that is seen to say what the actor did not write (docs/features/routes.md §7.13)', () => {
  const wrong = says({ ready: 9 });

  test('is written again a second later, without an Event', () => {
    const gate = reportedGate().take(wrong);
    expect(gate.state).toBe('reported.gathering');
    expect(looks(gate.wait(1_000))).toMatchObject([{ look: 2 }]);
    expect(patches(gate.take(counted(2)))).toMatchObject([{ status: { counts: { ready: 3 } } }]);
    expect(gate.take(reported).state).toBe('reported.current');
    expect(gate.asked()).toEqual([]);
  });

  test('is written again if the spec is not valid', () => {
    const gate = newGate(observed({ invalid: 'it cannot be used' }), reported);
    gate.asked();
    expect(patches(gate.take(wrong).wait(1_000))).toHaveLength(1);
    expect(gate.take(reported).state).toBe('reported.unusable');
  });

  test('is written again if it was overwritten while our own was on its way', () => {
    const gate = newGate(observed(), counted(1), wrong);
    gate.asked();
    expect(gate.take(reported).state).toBe('reported.gathering');
    expect(patches(gate.wait(1_000).take(counted(2)))).toHaveLength(1);
    expect(gate.take(reported).state).toBe('reported.current');
  });

  test('no matter what the actor is about to write', () => {
    const gate = reportedGate().take(stirred).wait(1_000).take(wrong);
    expect(patches(gate.take(counted(2, {}, 'a.1')))).toHaveLength(1);
  });

  test('but what it wrote itself, now or just before, is none, nor is another object', () => {
    const changed = { pods: { ...findings.pods, verified: 2, unverified: 1 } };
    const gate = reportedGate();
    for (const event of [says(), says({ longestWaitSeconds: 7 }), says({ pods: 9 }, 'gate-2')])
      expect(gate.take(event).state).toBe('reported.current');
    gate
      .take(stirred)
      .wait(1_000)
      .take(counted(2, changed, 'a.1'));
    gate.take(says(), says({}, 'gate-1', { ...findings, ...changed }), reported);
    expect(gate.state).toBe('reported.troubled.resting');
  });
});

test('what could not be listed is looked at again until it is', () => {
  const gate = newGate(observed(), counted(1, { isComplete: false }))
    .wait(10_000)
    .take(reported);
  gate.asked();
  expect(looks(gate.wait(10_000))).toMatchObject([{ look: 2 }]);
  expect(patches(gate.take(counted(2)))).toMatchObject([{ status: { verifying: { status: 'True' } } }]);
});

test('a kind that Orrery may not list is told in a Warning, and looked for until it is listed', () => {
  const gate = newGate(observed(), counted(1, { isComplete: false, unlistedOwner: 'v1/ConfigMap' }))
    .wait(10_000)
    .take(reported);
  expect(gate.state).toBe('reported.troubled.resting');
  expect(gate.askedOf('kube-event.write')).toMatchObject([{ reason: 'NotListed', eventType: 'Warning' }]);
  gate.wait(10_000).take(counted(2), reported);
  expect(gate.state).toBe('reported.current');
});

describe('a wave of changes', () => {
  test('is looked at once a second, and written only if it says something else', () => {
    const gate = reportedGate().take(stirred);
    expect(gate.state).toBe('reported.gathering');
    expect(looks(gate.wait(999))).toEqual([]);
    expect(looks(gate.wait(1))).toHaveLength(1);
    gate.take(counted(2, {}, 'a.1'));
    expect(gate.state).toBe('reported.current');
    expect(gate.asked()).toEqual([]);
  });

  test('that goes on while the status is written has another look a second later', () => {
    const gate = newGate(observed(), counted(1), stirred);
    gate.asked();
    expect(gate.take(reported).state).toBe('reported.gathering');
    expect(looks(gate.wait(1_000))).toMatchObject([{ look: 2 }]);
  });

  test('that an earlier look found nothing is not taken for the answer to the write', () => {
    const invalid = { generation: 5, invalid: 'it cannot be used' };
    const gate = newGate(observed(), observed(invalid));
    expect(gate.state).toBe('reporting.writing');
    expect(gate.take(lookRefused(1, 'gone')).state).toBe('reporting.writing');
    gate.take(observed({ ...invalid, generation: 6 }));
    expect(gate.take(lookRefused(1, 'gone')).state).toBe('reporting.outdated');
    expect(gate.take(reported, reported).state).toBe('reported.unusable');
  });

  test('what an earlier look found is not believed', () => {
    const gate = newGate(observed(), observed({ generation: 5 }));
    expect(gate.take(counted(1)).state).toBe('looking');
    expect(gate.take(counted(2)).state).toBe('reporting.writing');
  });
});

test('while Pods wait, the longest wait is told anew every ten seconds', () => {
  const gate = newGate(observed());
  gate.take(counted(1, waitingSince(gate.now - 40_000)), reported);
  expect(gate.state).toBe('reported.waiting');
  expect(patches(gate)).toMatchObject([
    { status: { counts: { longestWaitSeconds: 40, longestWaiting: 'web-1' } } },
  ]);
  const since = gate.now - 40_000;
  expect(looks(gate.wait(9_999))).toEqual([]);
  expect(looks(gate.wait(1))).toHaveLength(1);
  gate.take(counted(2, waitingSince(since)));
  expect(patches(gate)).toMatchObject([{ status: { counts: { longestWaitSeconds: 50 } } }]);
});

describe('docs/features/routes.md §7.5: a specification that cannot be used', () => {
  const invalid = observed({ generation: 5, invalid: 'probe.path must begin with "/"' });

  test('is told without a look, in both conditions and one Warning', () => {
    const gate = newGate(invalid);
    const judgement = { status: 'False', reason: 'InvalidSpec', message: 'probe.path must begin with "/"' };
    expect(gate.asked()).toMatchObject([
      {
        type: 'routegate-status.patch',
        status: { counts: { pods: 0, observedGeneration: 5 }, valid: judgement, verifying: judgement },
      },
    ]);
    gate.take(reported);
    expect(gate.asked()).toMatchObject([
      { type: 'kube-event.write', reason: 'InvalidSpec', regarding: { kind: 'RouteGate', uid: 'gate-1' } },
    ]);
    expect(gate.state).toBe('reported.unusable');
    expect(
      gate
        .take(observed({ generation: 5, invalid: 'probe.path must begin with "/"', stirred: 'a.7' }))
        .asked(),
    ).toEqual([]);
  });

  test('that is mended is looked at', () => {
    const gate = newGate(invalid, reported).take(observed({ generation: 6 }));
    expect(gate.state).toBe('looking');
  });

  test('that comes while the status of before is on its way is written after that has landed', () => {
    const gate = newGate(observed(), counted(1));
    gate.asked();
    expect(gate.take(invalid).asked()).toEqual([]);
    expect(gate.state).toBe('reporting.outdated');
    expect(patches(gate.take(reported))).toMatchObject([{ status: { valid: { reason: 'InvalidSpec' } } }]);
  });
});

describe('docs/features/routes.md §3.2: “What is merely not listed yet doesn’t count as absent”', () => {
  const unlisted = { isComplete: false, services: 0 };

  test('a status that was right stays while lists are made anew', () => {
    const gate = reportedGate()
      .take(stirred)
      .wait(1_000)
      .take(counted(2, unlisted, 'a.1'));
    expect(gate.state).toBe('awaitingLists.quiet');
    expect(patches(gate)).toEqual([]);
    gate
      .take(observed({ stirred: 'a.2' }))
      .wait(1_000)
      .take(counted(3, {}, 'a.2'));
    expect(gate.state).toBe('reported.current');
    expect(patches(gate)).toEqual([]);
  });

  test('what is not listed after ten seconds is told as unknown, however much changes meanwhile', () => {
    const gate = reportedGate()
      .take(stirred)
      .wait(1_000)
      .take(counted(2, unlisted, 'a.1'));
    for (let n = 2; gate.state !== 'reporting.writing' && n < 30; n++) {
      gate.take(observed({ stirred: `a.${n}` })).wait(1_000);
      if (gate.state === 'looking') gate.take(counted(gate.context.look, unlisted, `a.${n}`));
    }
    expect(patches(gate)).toMatchObject([
      { status: { verifying: { status: 'Unknown', reason: 'NotListed' } } },
    ]);
    expect(gate.now).toBeLessThanOrEqual(1_700_000_013_000);
    expect(gate.take(reported).state).toContain('reported');
  });
});

describe('Warnings', () => {
  const ungated = { pods: { held: 1, waiting: 0, ungated: 2, others: 0, verified: 1, unverified: 0 } };

  test('each reason is told once for each generation', () => {
    const gate = newGate(observed(), counted(1, ungated), reported);
    expect(gate.askedOf('kube-event.write')).toMatchObject([
      { reason: 'PodsUngated', note: expect.stringContaining('2 of the selected Pods') },
    ]);
    gate.take(stirred).wait(1_000);
    const more = { ...ungated, pods: { ...ungated.pods, ungated: 3 } };
    gate.take(counted(2, more, 'a.1'), reported);
    expect(gate.askedOf('kube-event.write')).toEqual([]);
    gate.take(observed({ generation: 5, stirred: 'a.1' }), counted(3, ungated, 'a.1'), reported);
    expect(gate.askedOf('kube-event.write')).toHaveLength(1);
  });

  test('of several deadlocks each has an Event, and the condition names all', () => {
    const one = { names: ['svc-0'], count: 1 };
    const gate = newGate(observed(), counted(1, { affine: one, local: one }));
    const message = expect.stringMatching(/remove the affinity.*\. svc-0: .*remove the policy/);
    expect(patches(gate)).toMatchObject([{ status: { verifying: { reason: 'Deadlock', message } } }]);
    gate.take(reported);
    expect(gate.askedOf('kube-event.write')).toMatchObject([
      { reason: 'Deadlock', note: expect.stringContaining('remove the affinity') },
      { reason: 'Deadlock', note: expect.stringContaining('remove the policy') },
    ]);
    gate.take(stirred).wait(1_000);
    gate.take(counted(2, { affine: one, local: { names: ['svc-0', 'svc-1'], count: 2 } }, 'a.1'), reported);
    expect(gate.askedOf('kube-event.write')).toEqual([]);
  });
});

describe('a write that fails', () => {
  test('is tried again for ever, with pauses of at most a minute or so', () => {
    const gate = newGate(observed(), counted(1));
    gate.asked();
    for (let n = 0; n < 10; n++) {
      expect(gate.take(refused()).state).toBe('backingOff');
      expect(gate.patience).toBeLessThanOrEqual(75_000);
      gate.wait(gate.patience ?? 0).take(counted(gate.context.look));
      expect(patches(gate)).toHaveLength(1);
    }
    expect(gate.take(reported).context.failures).toBe(0);
  });

  test('whose answer never comes is made again', () => {
    const gate = newGate(observed(), counted(1));
    gate.asked();
    expect(gate.wait(35_000).state).toBe('backingOff');
    expect(looks(gate.wait(5_000))).toHaveLength(1);
  });

  test('because the object is gone waits for what is observed of it', () => {
    const gate = newGate(observed(), counted(1), refused('gone'));
    expect(gate.state).toBe('waitingForNews');
    expect(gate.take(forgotten).isOver).toBe(true);
  });

  test('because the object was not known yet is made again when it is observed', () => {
    const gate = newGate(observed(), counted(1), refused('gone'));
    gate.asked();
    expect(looks(gate.take(stirred))).toHaveLength(1);
  });
});

test('a recheck writes the status anew, whoever changed it', () => {
  const gate = reportedGate().take({ type: 'routegate.recheck' }, counted(2));
  expect(patches(gate)).toHaveLength(1);
});

test('another object under the name begins anew', () => {
  const gate = reportedGate().take(observed({ uid: 'gate-2', generation: 1 }), counted(2));
  expect(patches(gate)).toMatchObject([{ uid: 'gate-2', status: { counts: { observedGeneration: 1 } } }]);
});

describe('trouble', () => {
  const blind = { services: 0, ...waitingSince(1_699_999_990_000) };

  test('is a state of its own, which changes do not end before they are looked at', () => {
    const gate = newGate(observed(), counted(1, blind), reported);
    expect(gate.state).toBe('reported.troubled.resting');
    gate.take(stirred);
    expect(gate.state).toBe('reported.troubled.gathering');
    gate.wait(1_000).take(counted(2, {}, 'a.1'), reported);
    expect(gate.state).toBe('reported.current');
  });

  test('keeps telling how long Pods wait; without any that waits it rests', () => {
    const gate = newGate(observed(), counted(1, blind), reported);
    gate.asked();
    expect(looks(gate.wait(10_000))).toHaveLength(1);
    gate.take(counted(2, { services: 0 }), reported);
    gate.asked();
    expect(looks(gate.wait(3_599_999))).toEqual([]);
  });
});
