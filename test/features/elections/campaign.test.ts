/**
 * One process campaigns on a Lease: the table of behaviours, with virtual time. Sentences in quotes are the
 * rules of docs/features/elections.md.
 */
import { describe, expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubePort } from '../../../src/base/kube-port.ts';
import { leases } from '../../../src/features/elections/resources.ts';
import { defaultTiming, type ElectionTiming } from '../../../src/machines/election/lease-record.ts';
import { name, Scene } from './campaign-scene.ts';

const timing = defaultTiming;

describe('the first look', () => {
  test('where there is no Lease, it is made: holder, whole seconds, six digits, no transition yet', async () => {
    const scene = new Scene();
    const campaign = await scene.candidate('a');
    expect(campaign.leading()?.term).toBe(1);
    expect(scene.record).toMatchObject({ holder: 'a', durationSeconds: 15, transitions: 0 });
    expect(scene.record?.renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(scene.kube.ours.map(({ by }) => by)).toEqual(['create']);
  });

  test('“An empty holder is free at once”, transitions grow by one', async () => {
    const scene = new Scene();
    scene.kube.set(name, { holder: '', durationSeconds: 1, transitions: 7 });
    const campaign = await scene.candidate('a');
    expect(campaign.leading()?.term).toBe(9);
    expect(scene.record).toMatchObject({ holder: 'a', transitions: 8 });
  });

  test.each([
    ['long ago by its own times', '2001-01-01T00:00:00.000000Z'],
    ['in a far future by its own times', '2099-01-01T00:00:00.000000Z'],
  ])(
    'a holder that renewed %s is respected for the record’s duration from when it was seen',
    async (_, renewTime) => {
      const scene = new Scene();
      scene.kube.set(name, { holder: 'go', durationSeconds: 7, renewTime, transitions: 3 });
      await scene.candidate('a');
      await scene.advance(6.9);
      expect(scene.steps).toEqual([]);
      expect(scene.kube.ours).toEqual([]);
      await scene.advance(0.2);
      expect(scene.steps).toMatchObject([{ who: 'a', what: 'leads', term: 5 }]);
      expect(scene.last()?.at).toBeLessThanOrEqual(7_100);
    },
  );

  test('another process of the same name is respected like any other', async () => {
    const scene = new Scene();
    scene.kube.set(name, { holder: 'a', durationSeconds: 5 });
    await scene.candidate('a');
    await scene.advance(4.9);
    expect(scene.steps).toEqual([]);
    await scene.advance(0.2);
    expect(scene.last()).toMatchObject({ what: 'leads', term: 2 });
  });

  test('while the API server is away nothing is written, and it leads soon after it is back', async () => {
    const scene = new Scene();
    scene.kube.fate = () => 'fails';
    await scene.candidate('a');
    await scene.advance(30);
    expect(scene.kube.ours).toEqual([]);
    scene.kube.fate = () => 'done';
    await scene.advance(2.5);
    expect(scene.last()).toMatchObject({ what: 'leads', term: 1 });
  });
});

describe('a holder that is respected', () => {
  test('each renewal that is seen counts anew', async () => {
    const scene = new Scene();
    scene.kube.set(name, { holder: 'go', durationSeconds: 5 });
    await scene.candidate('a');
    for (let n = 0; n < 10; n++) {
      await scene.advance(4);
      scene.kube.set(name, { renewTime: `2020-01-01T00:00:${10 + n}.000000Z` });
    }
    expect(scene.steps).toEqual([]);
    await scene.advance(5.1);
    expect(scene.last()).toMatchObject({ who: 'a', what: 'leads' });
    expect(scene.last()?.at).toBeGreaterThanOrEqual(45_000);
  });

  test('a change of the object that is none of the record does not count as a renewal', async () => {
    const scene = new Scene();
    scene.kube.set(name, { holder: 'go', durationSeconds: 5 });
    await scene.candidate('a');
    await scene.advance(4);
    scene.touch();
    await scene.advance(1.1);
    expect(scene.last()).toMatchObject({ who: 'a', what: 'leads' });
  });

  test('“the watch makes that milliseconds”: a Lease that is given back is taken at once', async () => {
    const scene = new Scene();
    scene.kube.set(name, { holder: 'go' });
    await scene.candidate('a');
    await scene.advance(3);
    scene.kube.set(name, { holder: '', durationSeconds: 1 });
    await scene.clock.advance(10);
    expect(scene.last()).toMatchObject({ who: 'a', what: 'leads' });
  });

  test('one that is deleted is made again at once', async () => {
    const scene = new Scene();
    scene.kube.set(name, { holder: 'go', transitions: 4 });
    await scene.candidate('a');
    scene.kube.remove(leases, 'shop', name);
    await scene.clock.advance(10);
    expect(scene.last()).toMatchObject({ who: 'a', what: 'leads', term: 6 });
  });

  test('where watching is forbidden, the Lease is read every two seconds', async () => {
    const scene = new Scene();
    scene.kube.failing = () => new OrreryError('KUBE_REFUSED', 'forbidden', { facts: { status: 403 } });
    scene.kube.set(name, { holder: 'go' });
    await scene.candidate('a');
    await scene.advance(10);
    scene.kube.set(name, { holder: '', durationSeconds: 1 });
    await scene.advance(2.1);
    expect(scene.last()).toMatchObject({ who: 'a', what: 'leads' });
  });
});

describe('renewing', () => {
  test('“Renew every retryPeriod”; each renewal is of another whole second, all else stays', async () => {
    const scene = new Scene();
    await scene.candidate('a');
    await scene.advance(60);
    const renewals = scene.kube.ours;
    expect(renewals.length).toBeGreaterThanOrEqual(30);
    const seconds = renewals.map(({ record }) => record?.renewTime.slice(0, 19));
    expect(new Set(seconds).size).toBe(seconds.length);
    expect(new Set(renewals.map(({ record }) => record?.acquireTime)).size).toBe(1);
    expect(scene.record?.transitions).toBe(0);
    expect(scene.steps).toHaveLength(1);
  });

  test('“on 409 re-read and, if still ours, renew in the same attempt”', async () => {
    const scene = new Scene();
    await scene.candidate('a');
    await scene.advance(1);
    // The watch is gone for a moment: the change is not seen before the renewal.
    scene.kube.breakWatches();
    scene.touch();
    const before = scene.kube.ours.length;
    await scene.clock.advance(1_050);
    expect(scene.kube.ours.length).toBe(before + 1);
    expect(scene.record?.holder).toBe('a');
    expect(scene.steps).toHaveLength(1);
  });

  test('the deadline counts from before the request that succeeded last was sent; then leading ends, and nothing more is written', async () => {
    const scene = new Scene();
    const campaign = await scene.candidate('a');
    await scene.advance(6.5);
    const renewedAt = (scene.kube.ours.at(-1)?.at ?? 0) - (scene.clock.now() - scene.now);
    scene.kube.fate = () => 'hangs';
    await scene.advance(20);
    expect(scene.last()).toMatchObject({ what: 'lost', term: 1 });
    expect(scene.last()?.at).toBeGreaterThanOrEqual(renewedAt + 9_990);
    expect(scene.last()?.at).toBeLessThanOrEqual(renewedAt + 10_000);
    expect(campaign.leading()).toBeNull();
  });

  test('an API server that is away for less than the deadline costs nothing', async () => {
    const scene = new Scene();
    await scene.candidate('a');
    await scene.advance(4.5);
    scene.kube.fate = () => 'fails';
    await scene.advance(7);
    scene.kube.fate = () => 'done';
    await scene.advance(20);
    expect(scene.steps).toHaveLength(1);
  });

  test('an answer that is lost is found again: the renewal and the claim count as done', async () => {
    const scene = new Scene();
    let lost = 0;
    scene.kube.fate = (call) => (call !== 'get' && lost++ % 2 === 0 ? 'unanswered' : 'done');
    await scene.candidate('a');
    await scene.advance(60);
    expect(scene.steps).toMatchObject([{ what: 'leads', term: 1 }]);
    expect(scene.record?.transitions).toBe(0);
  });
});

describe('several at once', () => {
  test('twenty that start together: one leads, and each term has one leader', async () => {
    const scene = new Scene();
    await Promise.all(Array.from({ length: 20 }, (_, n) => scene.candidate(`c${n}`)));
    await scene.advance(60);
    expect(scene.steps.filter(({ what }) => what === 'leads')).toHaveLength(1);
  });

  test('after a crash the next one leads when the lease is over, not before, and at most 0.1 s later', async () => {
    const scene = new Scene();
    const { kube } = scene;
    let isDead = false;
    const aborted = new Promise<never>(() => {});
    const mortal: KubePort = {
      ...kube,
      create: (...call) => (isDead ? aborted : kube.create(...call)),
      replace: (...call) => (isDead ? aborted : kube.replace(...call)),
      get: (...call) => (isDead ? aborted : kube.get(...call)),
    };
    await scene.candidate('a', { kube: mortal });
    await scene.candidate('b');
    await scene.advance(5);
    isDead = true;
    const renewedAt = (kube.ours.at(-1)?.at ?? 0) - (scene.clock.now() - scene.now);
    await scene.advance(20);
    const next = scene.steps.find(({ who }) => who === 'b');
    expect(next).toMatchObject({ what: 'leads', term: 2 });
    expect(next?.at).toBeGreaterThanOrEqual(renewedAt + 15_000);
    expect(next?.at).toBeLessThanOrEqual(renewedAt + 15_100);
  });
});

describe('coordinated election', () => {
  const strategy = 'OldestEmulationVersion';

  test('“another candidate preferred → do not renew, let it pass”', async () => {
    const scene = new Scene();
    await scene.candidate('a');
    await scene.advance(1);
    scene.kube.set(name, { strategy, preferredHolder: 'b' });
    await scene.advance(3);
    const written = scene.kube.ours.length;
    await scene.advance(30);
    expect(scene.kube.ours.length).toBe(written);
    expect(scene.last()).toMatchObject({ who: 'a', what: 'lost' });
  });

  test('a free Lease that prefers another is not claimed; the preferred one takes it and is preferred no more', async () => {
    const scene = new Scene();
    scene.kube.set(name, { holder: '', strategy, preferredHolder: 'b' });
    await scene.candidate('a');
    await scene.advance(60);
    expect(scene.steps).toEqual([]);
    await scene.candidate('b');
    expect(scene.last()).toMatchObject({ who: 'b', what: 'leads' });
    expect(scene.record).toMatchObject({ holder: 'b', strategy, preferredHolder: '' });
  });
});

describe('what cannot be', () => {
  const bad = (change: Partial<ElectionTiming>) => ({ ...timing, ...change });

  test.each([
    ['a lease no longer than the deadline', bad({ leaseMs: 10_000 }), /leaseDuration must be greater/],
    ['a deadline within 1.2 retry periods', bad({ retryMs: 8_400 }), /renewDeadline must be greater/],
    ['a retry period under a second', bad({ retryMs: 500 }), /retryPeriod must be at least 1 s/],
    ['a deadline under a second', bad({ renewDeadlineMs: 900, retryMs: 100 }), /at least 1 s/],
  ])('%s is refused', async (_, wrong, message) => {
    await expect(new Scene().candidate('a', { timing: wrong })).rejects.toThrow(message);
  });

  test('an empty identity is refused', async () => {
    await expect(new Scene().candidate('')).rejects.toThrow(/must not be empty/);
  });
});
