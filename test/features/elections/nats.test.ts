/** Candidates that campaign over NATS, on the memory bus with virtual time. */
import { describe, expect, test } from 'vitest';
import { leases } from '../../../src/features/elections/resources.ts';
import { ElectionScene } from './nats-scene.ts';

describe('campaigning', () => {
  test('the answer never waits, and soon the candidate leads: holder, term 1, and how long', async () => {
    const scene = await ElectionScene.start(1);
    expect(await scene.campaign('a')).toEqual({ leading: false, holder: null, term: 0, expiresInMs: 0 });
    const answer = await scene.campaign('a');
    expect(answer).toMatchObject({ leading: true, holder: 'a', term: 1 });
    expect(answer.expiresInMs).toBeLessThanOrEqual(3_000);
    expect(answer.expiresInMs).toBeGreaterThan(2_900);
    expect(scene.kube.record('worker')).toMatchObject({ holder: 'a', transitions: 0 });
  });

  test('a second candidate is told who leads and for how long', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a');
    await scene.advance(1_000);
    expect(await scene.campaign('b')).toMatchObject({ leading: false, holder: 'a', term: 1 });
    expect(await scene.status()).toMatchObject({ holder: 'a', term: 1, candidates: ['a', 'b'] });
  });

  test('for an Election that does not exist the answer is a refusal that says what to do', async () => {
    const scene = await ElectionScene.start(1);
    await expect(scene.ask('nothing', 'campaign', { candidate: 'a' })).rejects.toMatchObject({
      code: 'ACTOR_MISSING',
      message: 'there is no Election shop/nothing: create the resource, then campaign',
    });
  });

  test.each([
    [{}, /candidate/],
    [{ candidate: '' }, /a candidate has a name/],
    [{ candidate: 'a', ttlMs: 5 }, /ttlMs/],
    [{ candidate: 7 }, /candidate/],
    [{ candidate: '__proto__' }, /candidate/],
    [{ candidate: 'a\nb' }, /no control characters/],
    [{ candidate: 'a\u202Eb' }, /no control characters/],
    [{ candidate: 'a\uD800' }, /whole characters/],
  ])('what is wrong with %j is said', async (body, message) => {
    const scene = await ElectionScene.start(1);
    await expect(scene.ask('worker', 'campaign', body)).rejects.toThrow(message);
  });

  test('without ttlMs a candidate has the lease’s duration', async () => {
    const scene = await ElectionScene.start(1);
    await scene.ask('worker', 'campaign', { candidate: 'a' });
    await scene.advance(14_900);
    expect((await scene.status()).holder).toBe('a');
    await scene.advance(200);
    expect(await scene.status()).toMatchObject({ holder: null, candidates: [] });
  });

  test('names that every object inherits are candidates like others', async () => {
    const scene = await ElectionScene.start(1);
    expect(await scene.renew('constructor', 1)).toMatchObject({ leading: false });
    await scene.campaign('constructor');
    expect(await scene.campaign('constructor')).toMatchObject({ leading: true, holder: 'constructor' });
  });
});

describe('leading', () => {
  test('who renews within its ttl leads on under the same term; the Lease is renewed in its name', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a');
    for (let n = 0; n < 60; n++) {
      await scene.advance(1_000);
      expect(await scene.renew('a', 1)).toMatchObject({ leading: true, term: 1 });
    }
    expect(scene.kube.ours.length).toBeGreaterThanOrEqual(30);
    expect(scene.kube.record('worker')).toMatchObject({ holder: 'a', transitions: 0 });
  });

  test('“lost → next leader within 3.1 s”, and not before its time is over', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a');
    await scene.campaign('b', 10_000);
    const heardAt = scene.cluster.clock.now();
    await scene.renew('a', 1);
    await scene.advance(2_985);
    expect(scene.kube.record('worker')?.holder).toBe('a');
    await scene.advance(100);
    expect(scene.kube.record('worker')).toMatchObject({ holder: 'b', transitions: 1 });
    expect(scene.cluster.clock.now() - heardAt).toBeLessThanOrEqual(3_100);
    expect(await scene.campaign('b')).toMatchObject({ leading: true, term: 2 });
    expect(await scene.renew('a', 1)).toEqual({ leading: false, reason: 'b leads under term 2' });
  });

  test('who resigns is followed at once by who waited longest', async () => {
    const scene = await ElectionScene.start(1);
    for (const candidate of ['a', 'b', 'c']) await scene.campaign(candidate, 60_000);
    expect(await scene.ask('worker', 'resign', { candidate: 'a', term: 1 })).toMatchObject({
      leading: false,
    });
    expect(await scene.campaign('b')).toMatchObject({ leading: true, term: 2 });
    expect((await scene.status()).candidates).toEqual(['b', 'c']);
  });

  test('a resignation from an earlier term changes nothing', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a');
    const answer = await scene.ask('worker', 'resign', { candidate: 'a', term: 7 });
    expect(answer).toMatchObject({ leading: true, term: 1 });
    expect((await scene.status()).holder).toBe('a');
  });

  test('the last one who goes gives the Lease back', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a');
    await scene.ask('worker', 'resign', { candidate: 'a', term: 1 });
    expect(scene.kube.record('worker')).toMatchObject({ holder: '', durationSeconds: 1, transitions: 0 });
    expect(await scene.status()).toMatchObject({ holder: null, term: 1, candidates: [] });
  });

  test('releaseOnCancel: false leaves the Lease to its end', async () => {
    const scene = await ElectionScene.start(1);
    await scene.election('kept', { releaseOnCancel: false });
    await scene.campaign('a', 3_000, 'kept');
    await scene.ask('kept', 'resign', { candidate: 'a', term: 1 });
    expect(scene.kube.record('kept')?.holder).toBe('a');
  });

  test('while the API server is away a leader leads until the renew deadline and no longer, whatever its ttl', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 60_000);
    scene.kube.fate = () => 'hangs';
    const answer = await scene.campaign('a', 60_000);
    expect(answer.expiresInMs).toBeLessThanOrEqual(10_000);
    await scene.advance(9_800);
    expect(await scene.renew('a', 1)).toMatchObject({ leading: true });
    await scene.advance(300);
    expect(await scene.renew('a', 1)).toEqual({
      leading: false,
      reason: expect.stringMatching(/^term 1 is over: the Lease could not be renewed in time: \w/),
    });
  });
});

describe('beside client-go', () => {
  test('a holder of the Lease that is no candidate of ours is respected, and followed when it gives it back', async () => {
    const scene = await ElectionScene.start(1, []);
    scene.kube.set('worker', { holder: 'go-1', transitions: 8 });
    await scene.election('worker');
    await scene.campaign('a', 60_000);
    expect(await scene.campaign('a', 60_000)).toMatchObject({ leading: false, holder: 'go-1', term: 9 });
    scene.kube.set('worker', { holder: '', durationSeconds: 1 });
    await scene.advance(20);
    expect(await scene.campaign('a', 60_000)).toMatchObject({ leading: true, term: 10 });
  });

  test('when it takes the Lease, our leader is told so at its next word', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 60_000);
    scene.kube.set('worker', { holder: 'go-1', transitions: 1 });
    await scene.advance(20);
    expect(await scene.renew('a', 1)).toEqual({ leading: false, reason: 'go-1 leads under term 2' });
    expect(scene.notes).toContain('go-1 leads under term 2');
  });
});

describe('a Lease that has counted as many changes of leader as the API takes', () => {
  const most = 2 ** 31 - 1;

  test('goes to nobody: nothing is tried in vain, and status, reason and answer tell the way on (docs/features/elections.md §4.5)', async () => {
    const scene = await ElectionScene.start(1, []);
    scene.kube.set('worker', { holder: '', transitions: most });
    await scene.election('worker');
    const answer = await scene.campaign('a', 600_000);
    await scene.advance(60_000);
    // As the API server would refuse it.
    expect(scene.kube.ours).toEqual([]);
    expect(scene.statuses.at(-1)).toMatchObject({
      holder: null,
      reason: 'TermsUsedUp',
      invalid: expect.stringContaining('delete the Lease shop/worker and the Election, and create it again'),
    });
    expect(answer).toMatchObject({ leading: false, reason: expect.stringContaining('2147483647') });
    expect(scene.cluster.transitions().map(({ to }) => to)).toContain('contending.backingOff');
  });

  test('leads its last leader to the end, and begins again with Lease and Election', async () => {
    const scene = await ElectionScene.start(1, []);
    scene.kube.set('worker', { holder: '', transitions: most - 1 });
    await scene.election('worker');
    await scene.campaign('a', 600_000);
    expect(await scene.campaign('a', 600_000)).toMatchObject({ leading: true, term: 2 ** 31 });
    await scene.advance(10_000);
    expect(scene.kube.record('worker')).toMatchObject({ holder: 'a', transitions: most });
    expect(scene.statuses.at(-1)).toMatchObject({ holder: 'a', reason: 'TermsUsedUp' });
    await scene.noElection('worker');
    await scene.advance(20_000);
    scene.kube.remove(leases, 'shop', 'worker');
    await scene.election('worker', {}, 'uid-again');
    await scene.campaign('a', 600_000);
    expect(await scene.campaign('a', 600_000)).toMatchObject({ leading: true, term: 1 });
    expect(scene.statuses.at(-1)?.reason).toBeUndefined();
  });
});

describe('what others see', () => {
  test('status and Events tell who leads; renewals alone do not make it be written', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 60_000);
    await scene.advance(14_000);
    expect(scene.statuses.at(-1)).toMatchObject({ holder: 'a', term: 1, transitions: 0, candidates: ['a'] });
    expect(scene.statuses.at(-1)?.acquireTime).toMatch(/\.\d{6}Z$/);
    expect(scene.statuses.length).toBeLessThanOrEqual(4);
    expect(scene.notes).toEqual(['a leads under term 1']);
  });

  test('changes are on the event feed, with holder and term', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 60_000);
    const won = scene.cluster.transitions().find(({ event }) => event.type === 'lease.written');
    expect(won).toMatchObject({
      id: 'election/shop/worker',
      to: 'leading.holding',
      event: { holder: 'a', term: 1 },
    });
  });

  test('an Election that cannot be held says why, and nobody leads', async () => {
    const scene = await ElectionScene.start(1, []);
    await scene.election('worker', { invalid: 'leaseDuration must be greater than renewDeadline' });
    expect(await scene.campaign('a')).toMatchObject({
      leading: false,
      reason: expect.stringMatching(/greater/),
    });
    await scene.advance(60_000);
    expect(scene.kube.all(leases).size).toBe(0);
    expect(scene.statuses.at(-1)?.invalid).toMatch(/greater/);
  });

  test('nobody else leads before the time is over that a leader was told, though its Election is deleted', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 3_000);
    const { expiresInMs } = await scene.campaign('a', 3_000);
    expect(expiresInMs).toBeGreaterThan(2_000);
    await scene.noElection('worker');
    await scene.advance(expiresInMs - 100);
    expect(scene.kube.record('worker')?.holder).toBe('a');
    await scene.advance(300);
    expect(scene.kube.record('worker')?.holder).toBe('');
  });

  test('a leader that resigns when its Election was deleted gives the Lease back at once', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 3_000);
    await scene.campaign('a', 3_000);
    await scene.noElection('worker');
    expect(scene.kube.record('worker')?.holder).toBe('a');
    await scene.own('a', 'resign', { candidate: 'a', term: 1 });
    await scene.advance(50);
    expect(scene.kube.record('worker')?.holder).toBe('');
  });

  test('when the Election is deleted the Lease is given back and the actor ends', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 60_000);
    await scene.campaign('a', 60_000);
    await scene.noElection('worker');
    await scene.advance(11_000);
    expect(scene.kube.record('worker')?.holder).toBe('');
    await expect(scene.renew('a', 1)).rejects.toMatchObject({ code: 'ACTOR_MISSING' });
  });
});
