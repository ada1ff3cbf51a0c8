/**
 * The join of proxiers: what a Node says to the proxier of its name.
 *
 * Owns nothing: a proxier is brought into being by its messages, so the world calls for none. Until the Nodes have been listed, only the
 * setting is told, and nothing of the Node: one that is merely not listed yet must not look deleted.
 */

import type { Join } from '../../actors/world/join.ts';
import type { World } from '../../actors/world/world.ts';
import type { WorldEntry } from '../../base/digests.ts';
import type { ProxierFacts } from '../../machines/proxier/proxier-events.ts';
import { nodeEligibility } from './node-digest.ts';

export function createProxierJoin(options: {
  readonly world: Pick<World, 'get' | 'entries'>;
  readonly timeoutMs: number;
}): Join {
  const { world, timeoutMs } = options;
  return {
    kinds: ['proxier'],
    fold: (entry) => proxiersOf(world, entry),
    members: () => [],
    observe(_kind, _namespace, name) {
      const facts: ProxierFacts = { timeoutMs, node: nodeFact(world, name) };
      return { type: 'proxier.observed', facts };
    },
  };
}

function proxiersOf(world: Pick<World, 'entries'>, { resource, name }: WorldEntry): string[] {
  if (resource === 'nodes') return [`proxier/_/${name}`];
  if (resource !== '_synced' || name !== 'nodes') return [];
  return Array.from(world.entries('nodes'), (node) => `proxier/_/${node.name}`);
}

function nodeFact(world: Pick<World, 'get'>, name: string): ProxierFacts['node'] {
  if (world.get('_synced', '', 'nodes') === null) return 'unknown';
  return nodeEligibility(world.get('nodes', '', name));
}
