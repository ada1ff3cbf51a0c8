/**
 * Renewals that are not saved (docs/features/elections.md §8.4): what they spare, and that nobody loses by
 * it when the election moves.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  isSoonAfterSaved,
  withCandidate,
  withTimesAnew,
} from '../../../src/machines/election/election-candidates.ts';
import { type ElectionContext, newborn } from '../../../src/machines/election/election-context.ts';
import { ElectionScene } from './nats-scene.ts';

const id = 'election/shop/worker';

function countSaves(scene: ElectionScene): () => number {
  let saves = 0;
  scene.cluster.hub.observe((stream, { subject }) => {
    if (stream === 'state' && scene.cluster.subjects.parseState(subject)?.id === id) saves++;
  });
  return () => saves;
}

/** Candidates with a time of 3 s, each asking once a second, the first of them leading. */
async function asking(
  scene: ElectionScene,
  seconds: number,
  ask: (candidate: string) => Promise<unknown>,
): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await scene.advance(985);
    for (const candidate of ['a', 'b', 'c']) await ask(candidate);
  }
}

test('three candidates that ask each second cost one and a half saves a second, not four', async () => {
  const scene = await ElectionScene.start(1);
  const ask = (candidate: string) => (candidate === 'a' ? scene.renew('a', 1) : scene.campaign(candidate));
  for (const candidate of ['a', 'b', 'c']) await scene.campaign(candidate);
  await asking(scene, 10, ask);
  const saves = countSaves(scene);
  await asking(scene, 120, ask);
  // 60 renewals of the Lease are two saves each, and hold those of candidates; the status is told each 15 s.
  expect(saves()).toBeLessThanOrEqual(200);
  expect(saves()).toBeGreaterThan(120);
  expect(await scene.status()).toMatchObject({ holder: 'a', term: 1, candidates: ['a', 'b', 'c'] });
});

test('candidates with subjects of their own that ask in turn are no history either', async () => {
  const scene = await ElectionScene.start(1);
  const campaign = (candidate: string) => scene.own(candidate, 'campaign', { candidate, ttlMs: 3_000 });
  for (const candidate of ['a', 'b', 'c']) await campaign(candidate);
  await asking(scene, 5, campaign);
  const told = () => scene.cluster.transitions().filter((step) => step.id === id).length;
  const [before, saves] = [told(), countSaves(scene)];
  await asking(scene, 60, campaign);
  expect(told()).toBe(before);
  expect(saves()).toBeLessThanOrEqual(100);
});

/** What a candidate over NATS believes of itself: it leads until `expiresInMs` after it asked (§5.3). */
class Believer {
  readonly #scene: ElectionScene;
  readonly #name: string;
  askedAt = 0;
  leadsUntil = 0;
  term = 0;

  constructor(scene: ElectionScene, name: string) {
    this.#scene = scene;
    this.#name = name;
  }

  ask(): void {
    const at = this.#scene.cluster.clock.now();
    const body = { candidate: this.#name, ttlMs: 3_000 };
    this.askedAt = at;
    this.#scene
      .request<{ leading: boolean; term: number; expiresInMs: number }>(
        'worker',
        'campaign',
        body,
        undefined,
        5_000,
      )
      .then(
        ({ leading, term, expiresInMs }) => {
          if (leading) [this.leadsUntil, this.term] = [Math.max(this.leadsUntil, at + expiresInMs), term];
        },
        () => {},
      );
  }
}

/** Time passes, candidates ask each second; at no moment two believe that they lead. */
async function live(scene: ElectionScene, ms: number, believers: readonly Believer[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += 25) {
    const now = scene.cluster.clock.now();
    for (const one of believers) if (now - one.askedAt >= 1_000) one.ask();
    await scene.advance(25);
    const leading = believers.filter(({ leadsUntil }) => leadsUntil > scene.cluster.clock.now());
    expect(leading.length).toBeLessThanOrEqual(1);
  }
}

test('the owner dies, at whatever moment between renewals: the leader keeps its lead and its term', async () => {
  const scene = await ElectionScene.start(3);
  const [a, b] = [new Believer(scene, 'a'), new Believer(scene, 'b')];
  a.ask();
  await live(scene, 3_000, [a, b]);
  // Renewals are saved every second time: two seconds hold every moment.
  for (let moment = 0; moment < 2_000; moment += 125) {
    await live(scene, 2_000 + moment, [a, b]);
    scene.kill(scene.ownerOf('worker'));
    await live(scene, 4_000, [a, b]);
    expect([a.term, b.term, await scene.status()]).toEqual([
      1,
      0,
      expect.objectContaining({ holder: 'a', term: 1 }),
    ]);
    await scene.replica(`later-${moment}`);
  }
});

test('the owner and the leader die together: the next one leads when the leader’s time is over, not before', async () => {
  for (const moment of [0, 400, 950, 1_050, 1_500, 1_950]) {
    const scene = await ElectionScene.start(2);
    const [a, b] = [new Believer(scene, 'a'), new Believer(scene, 'b')];
    a.ask();
    await live(scene, 4_000 + moment, [a, b]);
    scene.kill(scene.ownerOf('worker'));
    const { askedAt, leadsUntil } = a;
    expect(leadsUntil).toBe(askedAt + 3_000);
    // It says nothing more, and goes on believing what it was told.
    const dead = Object.assign(new Believer(scene, 'a'), { leadsUntil, ask: () => {} });
    let next = 0;
    for (let passed = 0; passed < 9_000 && next === 0; passed += 25) {
      await live(scene, 25, [dead, b]);
      if (b.term > 0) next = scene.cluster.clock.now();
    }
    expect([b.term, next >= leadsUntil]).toEqual([2, true]);
  }
});

test('whatever a leader was told, a new owner gives it: by a step that was not saved too, and beside a former owner that lives', () => {
  const ttlMs = 3_000;
  const before: ElectionContext = {
    ...newborn({ id: 'election/shop/worker', namespace: 'shop', name: 'worker' }),
    reign: {
      holder: 'a',
      term: 1,
      place: { namespace: 'shop', name: 'worker' },
      renewedAt: 0,
      transitions: 0,
    },
  };
  const renewed = (at: number) => ({ ...before, ...withCandidate(before, { candidate: 'a', ttlMs }, at) });
  fc.assert(
    fc.property(fc.nat(10_000), fc.nat(5_000), fc.nat(20_000), (savedAt, later, loadsAfter) => {
      const [saved, asked] = [renewed(savedAt), savedAt + later];
      const now = { ...renewed(asked), candidates: { a: { ttlMs, until: asked + ttlMs, since: savedAt } } };
      const loaded = savedAt + loadsAfter;
      const until = { ...saved, ...withTimesAnew(saved, loaded) }.candidates.a?.until ?? 0;
      expect(until).toBeGreaterThanOrEqual(loaded + ttlMs);
      if (isSoonAfterSaved(saved, now, 'a')) expect(until).toBeGreaterThanOrEqual(asked + ttlMs);
      else expect(later).toBeGreaterThan(ttlMs / 2);
    }),
  );
});
