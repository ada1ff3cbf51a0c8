/**
 * The join of proxiers: what a Node tells the proxier of its name.
 *
 * Owns nothing: messages create a proxier, so the world calls for none. Until the Nodes have been listed,
 * only the setting is told, because a Node that is not listed yet must not look deleted.
 */

import type { Join } from '../../actors/world/join.ts';
import type { World } from '../../actors/world/world.ts';
import type { ProxierFacts } from '../../machines/proxier/proxier-events.ts';
import { nodeEligibility } from './node-digest.ts';

export function createProxierJoin(parts: {
  readonly world: Pick<World, 'get' | 'statement'>;
  readonly timeoutMs: number;
}): Join {
  const { world, timeoutMs } = parts;
  return {
    kinds: ['proxier'],
    fold: ({ resource, name }) => (resource === 'nodes' ? [`proxier/_/${name}`] : []),
    isInWorld: (kind, _namespace, name) => kind === 'proxier' && world.get('nodes', '', name) !== null,
    members: () => [],
    observe(_kind, _namespace, name) {
      const node = nodeFact(world, name);
      const facts: ProxierFacts = { timeoutMs, node };
      return { type: 'proxier.observed', facts, ...(node === 'unknown' ? { isPartial: true } : {}) };
    },
  };
}

function nodeFact(world: Pick<World, 'get' | 'statement'>, name: string): ProxierFacts['node'] {
  const digest = world.get('nodes', '', name);
  return digest === null && world.statement('nodes') === null ? 'unknown' : nodeEligibility(digest);
}
