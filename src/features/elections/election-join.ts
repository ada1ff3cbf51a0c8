/**
 * The join of elections: each Election resource has the actor of its name, and defines how the election is
 * held.
 *
 * It joins nothing: an Election is told as soon as it is in the world, and its absence once all Elections
 * were listed. Whether it may use a Lease of another namespace is decided by the operator, not by the author
 * of the Election (§7.1).
 */

import type { Join } from '../../actors/world/join.ts';
import { createStatusJoin } from '../../actors/world/status-join.ts';
import type { World } from '../../actors/world/world.ts';
import type { NamespaceGrants } from '../../base/config-values.ts';
import { asDigest } from '../../base/digests.ts';
import type { ElectionFacts } from '../../machines/election/election-events.ts';
import type { ElectionSpec } from '../../machines/election/lease-record.ts';
import type { ElectionDigest } from './election-digest.ts';

const resource = 'elections.orrery.dev';
/** The name of the statement that all of them were listed. */
const mirror = 'orrery.dev/v1alpha1/Election';

export function createElectionJoin(
  world: Pick<World, 'get' | 'entries' | 'statement'>,
  leaseNamespaces: NamespaceGrants = {},
): Join {
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
        const refused = refusal(namespace, spec, leaseNamespaces);
        const facts: ElectionFacts = { uid, generation, ...spec, ...refused };
        return { type: 'election.observed', facts: deleting ? null : facts };
      }
      return world.statement(mirror) === null ? null : { type: 'election.observed', facts: null };
    },
  };
}

/** What the status of the resource says, for its actor to compare with what it wrote. */
export const createElectionStatusJoin = (world: Pick<World, 'get'>): Join =>
  createStatusJoin(
    'election',
    (namespace, name) => asDigest<ElectionDigest>(world.get(resource, namespace, name), 'elections'),
    ({ term }) => (term === undefined ? {} : { term }),
  );

/**
 * An Election acts with our permissions: without this rule its author could lead in kube-system (a confused
 * deputy).
 */
function refusal(
  namespace: string,
  { place, invalid }: ElectionSpec,
  granted: NamespaceGrants,
): Pick<ElectionFacts, 'invalid' | 'reason'> | Record<string, never> {
  const allowed = Object.hasOwn(granted, namespace) ? granted[namespace] : [];
  if (invalid !== null || place.namespace === namespace || allowed?.includes(place.namespace)) return {};
  const flag = `--election-namespaces ${namespace}=${place.namespace}`;
  return {
    reason: 'LeaseNotAllowed',
    invalid: `an Election in namespace ${namespace} may not use a Lease in namespace ${place.namespace}; an operator can allow it with ${flag}`,
  };
}
