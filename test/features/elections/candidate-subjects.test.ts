/** Who may speak for a candidate (docs/features/elections.md §5.5–5.7). */
import { beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../src/base/limits.ts';
import { ElectionScene } from './nats-scene.ts';

let scene: ElectionScene;
beforeEach(async () => {
  scene = await ElectionScene.start(1);
});

describe('a candidate with a subject of its own', () => {
  test('campaigns, renews and resigns there; the body need not name it', async () => {
    await scene.own('a', 'campaign', { ttlMs: 3_000 });
    expect(await scene.own('a', 'campaign', { candidate: 'a', ttlMs: 3_000 })).toMatchObject({
      leading: true,
    });
    expect(await scene.own('a', 'renew', { term: 1 })).toMatchObject({ leading: true, term: 1 });
    expect(await scene.own('a', 'resign', { term: 1 })).toMatchObject({ leading: false, holder: null });
  });

  test('is refused if its body speaks for another one', async () => {
    await expect(scene.own('a', 'campaign', { candidate: 'b' })).rejects.toMatchObject({
      code: 'CANDIDATE_REFUSED',
      message: 'the subject names candidate a, the body b',
    });
    expect(await scene.status()).toMatchObject({ candidates: [] });
  });

  test('is heard there alone: nobody renews, resigns or campaigns for it by the old form, nor by mail', async () => {
    await scene.own('a', 'campaign', { ttlMs: 3_000 });
    await scene.advance(1_000);
    for (const verb of ['campaign', 'renew', 'resign'] as const)
      await expect(scene.ask('worker', verb, { candidate: 'a', term: 1 })).rejects.toMatchObject({
        code: 'CANDIDATE_REFUSED',
      });
    await scene.mail({ type: 'election.resign', candidate: 'a', term: 1 });
    await scene.mail({ type: 'election.resign', candidate: 'a', term: 1, isBound: true });
    expect(await scene.status()).toMatchObject({ holder: 'a', term: 1 });
    await scene.mail({ type: 'election.renew', candidate: 'a', term: 1 });
    await scene.advance(2_100);
    expect(await scene.status()).toMatchObject({ holder: null, candidates: [] });
    // Its name stays its own.
    await expect(scene.campaign('a')).rejects.toMatchObject({ code: 'CANDIDATE_REFUSED' });
  });

  test('its name may hold what a subject may not', async () => {
    await scene.own('pod.1 *>', 'campaign', { ttlMs: 3_000 });
    expect(await scene.own('pod.1 *>', 'campaign', { ttlMs: 3_000 })).toMatchObject({ holder: 'pod.1 *>' });
  });
});

test('the old form goes on for a candidate that never used the new one, beside one that did', async () => {
  await scene.campaign('a', 3_000);
  await scene.own('b', 'campaign', { ttlMs: 3_000 });
  expect(await scene.renew('a', 1)).toMatchObject({ leading: true });
  await scene.ask('worker', 'resign', { candidate: 'a', term: 1 });
  await scene.advance(100);
  expect(await scene.own('b', 'renew', { term: 2 })).toMatchObject({ leading: true, term: 2 });
});

test('512 candidates campaign, by whatever way; one more is refused by request and changes nothing by mail', async () => {
  for (let n = 0; n < limits.electionCandidates; n++)
    await scene.mail({ type: 'election.campaign', candidate: `c${n}`, ttlMs: 3_600_000 }, 0);
  await scene.advance(1_000);
  expect((await scene.status()).candidates).toHaveLength(512);
  await expect(scene.campaign('late')).rejects.toMatchObject({ code: 'BUSY' });
  await scene.mail({ type: 'election.campaign', candidate: 'late', ttlMs: 3_600_000 });
  expect((await scene.status()).candidates).toHaveLength(512);
  expect((await scene.status()).candidates).not.toContain('late');
  // Who is one already is heard.
  expect(await scene.campaign('c7', 3_600_000)).toMatchObject({ leading: false });
});

describe('names that are as long as they may be', () => {
  const name = (n: number) => `${n}-`.padEnd(253, 'x');

  test('do not break the election: when they fill it, one more is refused, and the leader goes on', async () => {
    const scene = await ElectionScene.start(1);
    await scene.own('a', 'campaign', { candidate: 'a', ttlMs: 600_000 });
    let refused = 0;
    for (let n = 0; n < 300; n++) {
      const body = { candidate: name(n), ttlMs: 600_000 };
      await scene.own(name(n), 'campaign', body).catch(({ code }) => {
        expect(code).toBe('BUSY');
        refused++;
      });
    }
    expect(refused).toBe(300 - 259);
    await scene.advance(5_000);
    expect(await scene.own('a', 'renew', { candidate: 'a', term: 1 })).toMatchObject({ leading: true });
    expect((await scene.status()).candidates).toHaveLength(260);
  });

  test('push no living candidate out of those that are heard on their own subject alone', async () => {
    const scene = await ElectionScene.start(1);
    await scene.own('a', 'campaign', { candidate: 'a', ttlMs: 600_000 });
    for (let n = 0; n < 500; n++) {
      await scene.own(name(n), 'campaign', { candidate: name(n), ttlMs: 1_000 });
      await scene.own(name(n), 'resign', { candidate: name(n), term: 0 });
    }
    await expect(scene.ask('worker', 'resign', { candidate: 'a', term: 1 })).rejects.toMatchObject({
      code: 'CANDIDATE_REFUSED',
    });
  });
});
