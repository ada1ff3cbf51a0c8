/**
 * The join of elections: each Election resource calls for the actor of its name, and says how the election is to be held.
 *
 * Nothing is joined: an Election is told as soon as it stands in the world, and its absence once all Elections were listed.
 */

import type { Join } from '../../actors/world/join.ts';
import type { World } from '../../actors/world/world.ts';
import { asDigest } from '../../base/digests.ts';
import type { ElectionFacts } from '../../machines/election/election-events.ts';
import type { ElectionDigest } from './election-digest.ts';

const resource = 'elections.orrery.dev';
/** Under this name it is stated that all of them were listed. */
const mirror = 'orrery.dev/v1alpha1/Election';

export function createElectionJoin(world: Pick<World, 'get' | 'entries' | 'statement'>): Join {
  return {
    kinds: ['election'],
    fold: ({ resource: changed, namespace, name }) =>
      changed === resource ? [`election/${namespace}/${name}`] : [],
    *members() {
      for (const { namespace, name } of world.entries(resource)) yield `election/${namespace}/${name}`;
    },
    observe(_kind, namespace, name) {
      const digest = asDigest<ElectionDigest>(world.get(resource, namespace, name), 'elections');
      if (digest !== null) {
        const { uid, generation, spec, deleting } = digest;
        const facts: ElectionFacts = { uid, generation, ...spec };
        return { type: 'election.observed', facts: deleting ? null : facts };
      }
      return world.statement(mirror) === null ? null : { type: 'election.observed', facts: null };
    },
  };
}
