/** Services whose EndpointSlices no retry could write: which step makes one, and how many there are now. */
import type { EngineView } from '../../actors/feature.ts';
import { kindOf } from '../../actors/host/cell.ts';
import type { Transition } from '../../base/views.ts';

export function becameStuck({ id, from, to }: Transition): boolean {
  return id.startsWith('service/') && isStuck(to) && !isStuck(from);
}

const isStuck = (state: string | null) => state?.includes('endpoints.stuck') === true;

/** Of the shards that this replica owns. */
export function stuckIn({ shards }: Pick<EngineView, 'shards'>): number {
  let count = 0;
  for (const run of shards.open()) {
    if (run.phase !== 'active') continue;
    for (const cell of run.cells.values()) {
      if (kindOf(cell) === 'service' && isStuck(cell.state)) count += 1;
    }
  }
  return count;
}
