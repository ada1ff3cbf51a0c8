/**
 * Candidates over NATS while replicas and candidates die: one holder for each term, terms that grow, and a
 * leader that is kept.
 */
import { describe, expect, test } from 'vitest';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import type { CampaignAnswer, RenewAnswer } from '../../../src/machines/election/election-words.ts';
import { ElectionScene } from './nats-scene.ts';

const ttlMs = 3_000;

interface Belief {
  readonly term: number;
  readonly from: number;
  until: number;
}

/**
 * As a candidate in any language is to be written: asks each second, and leads until its own count says that
 * its time is over.
 */
class Candidate {
  readonly beliefs: Belief[] = [];
  isDead = false;
  #current: Belief | null = null;
  readonly #scene: ElectionScene;
  readonly id: string;

  constructor(scene: ElectionScene, id: string) {
    this.#scene = scene;
    this.id = id;
  }

  /** Begins to ask, each second from now on, until it dies. */
  start(offsetMs: number): void {
    const { clock } = this.#scene.cluster;
    const again = () => {
      if (this.isDead) return;
      void this.#ask().catch(() => {});
      clock.after(1_000, again);
    };
    clock.after(offsetMs, again);
  }

  /** From now on it says nothing; what it believes holds until its time is over. */
  die(): void {
    this.isDead = true;
  }

  isLeading(at: number): boolean {
    return this.#current !== null && at < this.#current.until;
  }

  async #ask(): Promise<void> {
    const { clock } = this.#scene.cluster;
    const sentAt = clock.now();
    const current = this.isLeading(sentAt) ? this.#current : null;
    this.#current = current;
    if (current === null) {
      const body = { candidate: this.id, ttlMs };
      const answer = await this.#scene.request<CampaignAnswer>('worker', 'campaign', body);
      if (answer.leading && !this.isDead) this.#begin(answer, sentAt);
      return;
    }
    const body = { candidate: this.id, term: current.term };
    const answer = await this.#scene.request<RenewAnswer>('worker', 'renew', body);
    if (this.isDead || this.#current !== current) return;
    if (answer.leading) current.until = Math.max(current.until, sentAt + answer.expiresInMs);
    else {
      current.until = clock.now();
      this.#current = null;
    }
  }

  #begin({ term, expiresInMs }: CampaignAnswer, sentAt: number): void {
    this.#current = { term, from: this.#scene.cluster.clock.now(), until: sentAt + expiresInMs };
    this.beliefs.push(this.#current);
  }
}

describe('50 candidates, 3 replicas, random kills of both', () => {
  test.each([1, 2])(
    'each term has one holder, terms grow, nobody leads beside another (seed %i)',
    async (seed) => {
      const scene = await ElectionScene.start(3);
      const random = seededRandom(seed);
      const candidates: Candidate[] = [];
      const join = (id: string) => {
        const candidate = new Candidate(scene, id);
        candidates.push(candidate);
        candidate.start(Math.floor(random.next() * 1_000));
      };
      for (let n = 0; n < 50; n++) join(`c${n}`);
      let names = 3;
      for (let round = 0; round < 12; round++) {
        await scene.advance(4_000 + random.next() * 4_000);
        if (round % 2 === 0) killCandidate(candidates, scene, join);
        else {
          scene.kill(scene.ownerOf('worker'));
          await scene.replica(`r${names++}`);
        }
      }
      await scene.advance(8_000);

      const beliefs = candidates.flatMap(({ id, beliefs }) => beliefs.map((belief) => ({ id, ...belief })));
      beliefs.sort((a, b) => a.from - b.from);
      expect(beliefs.length).toBeGreaterThanOrEqual(5);
      const holders = new Map(beliefs.map(({ term, id }) => [term, id]));
      expect(beliefs.filter(({ term, id }) => holders.get(term) !== id)).toEqual([]);
      for (const [n, one] of beliefs.entries()) {
        const next = beliefs[n + 1];
        if (next === undefined) break;
        expect(next.term).toBeGreaterThanOrEqual(one.term);
        expect(next.from, `seed ${seed}: ${JSON.stringify([one, next])}`).toBeGreaterThanOrEqual(one.until);
      }
      expect(candidates.some((candidate) => candidate.isLeading(scene.cluster.clock.now()))).toBe(true);
    },
    60_000,
  );
});

/** Mostly the one who leads. */
function killCandidate(candidates: Candidate[], scene: ElectionScene, join: (id: string) => void): void {
  const now = scene.cluster.clock.now();
  const alive = candidates.filter(({ isDead }) => !isDead);
  const victim = alive.find((one) => one.isLeading(now)) ?? alive[0];
  victim?.die();
  join(`late-${candidates.length}`);
}

describe('“a leader that renews in time stays leader”', () => {
  test.each([1, 2, 3, 4])(
    'when the replica that serves the election is killed (seed %i)',
    async (seed) => {
      const scene = await ElectionScene.start(3);
      const leader = new Candidate(scene, 'a');
      const other = new Candidate(scene, 'b');
      leader.start(0);
      await scene.advance(1_500);
      other.start(300);
      await scene.advance(2_000 + momentOf(seededRandom(seed)));
      expect(leader.isLeading(scene.cluster.clock.now())).toBe(true);
      scene.kill(scene.ownerOf('worker'));
      await scene.advance(30_000);
      expect(other.beliefs).toEqual([]);
      expect(new Set(leader.beliefs.map(({ term }) => term))).toEqual(new Set([1]));
      expect(scene.kube.record('worker')).toMatchObject({ holder: 'a', transitions: 0 });
      expect(await scene.renew('a', 1)).toMatchObject({ leading: true });
    },
    60_000,
  );
});

test('whoever takes an election over gives its leader its own time to reach it, three seconds at most, and no more (docs/features/elections.md §5.9)', async () => {
  const scene = await ElectionScene.start(3);
  await scene.campaign('a');
  await scene.campaign('b', 600_000);
  await scene.advance(2_500);
  scene.kill(scene.ownerOf('worker'));
  const isOwned = () => {
    try {
      return scene.ownerOf('worker') !== '';
    } catch {
      return false;
    }
  };
  while (!isOwned()) await scene.advance(20);
  await scene.advance(700);
  expect(await scene.renew('a', 1)).toMatchObject({ leading: true, term: 1 });
  await scene.advance(2_950);
  expect((await scene.status()).holder).toBe('a');
  await scene.advance(150);
  expect(await scene.status()).toMatchObject({ holder: 'b', term: 2 });
});

const momentOf = (random: Random) => Math.floor(random.next() * 1_000);
