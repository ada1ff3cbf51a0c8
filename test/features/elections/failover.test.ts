/** Requests while an election moves (docs/features/elections.md §5.8, §5.9). */
import { describe, expect, test } from 'vitest';
import type { CampaignAnswer, RenewAnswer } from '../../../src/machines/election/election-words.ts';
import { ElectionScene } from './nats-scene.ts';

/** Asks without waiting, and tells when the answer came and what it was. */
function asking<T>(scene: ElectionScene, verb: 'campaign' | 'renew', body: object) {
  const from = scene.cluster.clock.now();
  const outcome: { tookMs: number; answer: T | null; error: unknown } = {
    tookMs: -1,
    answer: null,
    error: null,
  };
  const took = () => {
    outcome.tookMs = scene.cluster.clock.now() - from;
  };
  scene.request<T>('worker', verb, body, undefined, 5_000).then(
    (answer) => {
      took();
      outcome.answer = answer;
    },
    (error) => {
      took();
      outcome.error = error;
    },
  );
  return outcome;
}

describe('when the replica that serves the election has died', () => {
  test.each([0, 400, 1_000, 1_450])(
    'a request %i ms later is answered by the new owner, not by NOT_OWNER, in 3 s',
    async (later) => {
      const scene = await ElectionScene.start(3);
      await scene.campaign('a', 10_000);
      scene.kill(scene.ownerOf('worker'));
      await scene.advance(later);
      const campaign = asking<CampaignAnswer>(scene, 'campaign', { candidate: 'b', ttlMs: 10_000 });
      const renewal = asking<RenewAnswer>(scene, 'renew', { candidate: 'a', term: 1 });
      await scene.advance(4_000);
      expect(campaign).toMatchObject({ error: null, answer: { leading: false, holder: 'a', term: 1 } });
      expect(renewal).toMatchObject({ error: null, answer: { leading: true, term: 1 } });
      expect(Math.max(campaign.tookMs, renewal.tookMs)).toBeLessThanOrEqual(3_000);
    },
  );

  test('a leader with ttlMs 3000 that asks every second keeps its lead, and nobody else is told that it leads', async () => {
    for (const phase of [100, 400, 700, 950]) {
      const scene = await ElectionScene.start(3);
      await scene.campaign('a', 3_000);
      await scene.campaign('b', 600_000);
      await scene.renew('a', 1);
      await scene.advance(phase);
      scene.kill(scene.ownerOf('worker'));
      const answers: Array<ReturnType<typeof asking<RenewAnswer>>> = [];
      for (let n = 0; n < 6; n++) {
        await scene.advance(n === 0 ? 1_000 - phase : 1_000);
        answers.push(asking<RenewAnswer>(scene, 'renew', { candidate: 'a', term: 1 }));
      }
      await scene.advance(100);
      expect(answers.map(({ answer, error }) => [error, answer?.leading])).toEqual(
        answers.map(() => [null, true]),
      );
      expect(await scene.status()).toMatchObject({ holder: 'a', term: 1 });
    }
  });

  test('who asks where no replica is left to own anything is told within 3 s', async () => {
    const scene = await ElectionScene.start(2);
    await scene.campaign('a');
    const [first, second] = [scene.ownerOf('worker'), ...scene.replicas.keys()];
    scene.kill(first ?? '');
    // The other one hears requests, and never becomes the owner.
    const other = [...scene.replicas.values()][0];
    if (!other || second === undefined) throw new Error('there are two replicas');
    other.engine.ownership.ownerOf = () => null;
    other.engine.shards.runOf = () => null;
    const outcome = asking<CampaignAnswer>(scene, 'campaign', { candidate: 'b' });
    await scene.advance(4_000);
    expect(outcome).toMatchObject({ error: { code: 'NOT_OWNER' } });
    expect(outcome.tookMs).toBeLessThanOrEqual(3_050);
  });
});

describe('docs/features/elections.md §4.3: the record of an election is lost', () => {
  test('and its Lease was recreated by a program that counts from 0: the status says which terms are used up', async () => {
    const scene = await ElectionScene.start(1, []);
    await scene.election('worker', {}, 'uid-worker', { said: 'x', term: 7 });
    await scene.campaign('a');
    expect(await scene.campaign('a')).toMatchObject({ leading: true, term: 8 });
  });

  test('a later status counts for nothing: anybody may write it, and it is put right', async () => {
    const scene = await ElectionScene.start(1, ['worker']);
    await scene.campaign('a');
    expect(await scene.campaign('a')).toMatchObject({ leading: true, term: 1 });
    await scene.advance(1_000);
    await scene.election('worker', {}, 'uid-worker', { said: 'x', term: 7 });
    await scene.advance(1_000);
    expect(await scene.status()).toMatchObject({ holder: 'a', term: 1 });
    expect(scene.statuses.at(-1)).toMatchObject({ term: 1 });
  });
});

describe('docs/features/elections.md §1.3: a holder of another program that was seen after a long quiet', () => {
  test('is no longer waited for once its Lease is over, though nobody asks in between', async () => {
    const scene = await ElectionScene.start(1);
    await scene.advance(3_000);
    scene.kube.set('worker', { holder: 'go', durationSeconds: 2, transitions: 3 });
    await scene.advance(500);
    await scene.campaign('a', 600_000);
    await scene.advance(3_000);
    expect(await scene.status()).toMatchObject({ holder: 'a', term: 5 });
  });

  test('and a candidate that falls silent is no candidate any more, as the status says', async () => {
    const scene = await ElectionScene.start(1);
    scene.kube.set('worker', { holder: 'go', durationSeconds: 600 });
    await scene.advance(3_000);
    await scene.campaign('a', 3_000);
    await scene.advance(5_000);
    expect(scene.statuses.at(-1)).toMatchObject({ candidates: [] });
  });
});
