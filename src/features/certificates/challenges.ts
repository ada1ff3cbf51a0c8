/**
 * The board of challenge answers: in the world stream, so every replica has them, including one that starts
 * later.
 *
 * Promises: NATS deletes an answer after `limits.challengeSeconds`, whatever happens to its order; a token
 * that is unknown here is looked up at the stream's leader, so an authority that is faster than the stream
 * gets its answer.
 */

import type { World } from '../../actors/world/world.ts';
import type { Clock } from '../../base/clock.ts';
import { type AnyDigest, asDigest } from '../../base/digests.ts';
import { limits } from '../../base/limits.ts';
import type { Bus } from '../../bus/bus.ts';
import { decode, encode } from '../../bus/codec.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { ChallengeBoard } from './acme/challenge.ts';
import type { ChallengeDigest } from './digests.ts';

/** No Kubernetes resource has this name. */
const resource = '_acme';

export function createChallengeBoard(parts: {
  readonly bus: Pick<Bus, 'append' | 'last'>;
  readonly subjects: Subjects;
  readonly world: Pick<World, 'get'>;
  readonly clock: Clock;
}): ChallengeBoard {
  const { bus, subjects, world, clock } = parts;
  const answerIn = (digest: AnyDigest | null) => {
    const challenge = asDigest<ChallengeDigest>(digest, 'challenge');
    return challenge !== null && challenge.expiresAt > clock.now() ? challenge.keyAuthorization : null;
  };
  const subjectOf = (token: string) => subjects.world(resource, '', token);
  const known = (token: string) => answerIn(world.get(resource, '', token));
  return {
    async put(token, keyAuthorization) {
      const expiresAt = clock.now() + limits.challengeSeconds * 1000;
      const digest: ChallengeDigest = { kind: 'challenge', keyAuthorization, expiresAt };
      await bus.append(subjectOf(token), encode(digest), { ttlSeconds: limits.challengeSeconds });
    },
    async remove(token) {
      const ttlSeconds = limits.challengeSeconds;
      await bus.append(subjectOf(token), encode({ deleted: true }), { ttlSeconds });
    },
    async find(token) {
      const here = known(token);
      if (here !== null) return here;
      const stored = await bus.last('world', subjectOf(token));
      return stored === undefined || stored.data.byteLength === 0
        ? null
        : answerIn(decode(stored.data) as AnyDigest | null);
    },
    has: (token) => known(token) !== null,
  };
}
