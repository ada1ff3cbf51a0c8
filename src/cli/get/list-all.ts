/** Every page of a list of actors. */
import type { ShardName } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { ActorSummary, ControlPort, ListAnswer, ListRequest } from '../../base/views.ts';

/** At most `limits.listPages`. */
export async function listAll(control: Pick<ControlPort, 'list'>, request: ListRequest): Promise<ListAnswer> {
  const actors: ActorSummary[] = [];
  const missing = new Set<ShardName>();
  let next: string | null = null;
  for (let page = 0; page < limits.listPages; page++) {
    const answer: ListAnswer = await control.list(next === null ? request : { ...request, after: next });
    actors.push(...answer.actors);
    for (const shard of answer.missingShards) missing.add(shard);
    next = answer.next;
    if (next === null) break;
  }
  return { actors, next, missingShards: [...missing].sort(inOrder) };
}

/** Shards by number, then parts of features by name. */
export const inOrder = (a: ShardName, b: ShardName): number =>
  typeof a === 'number' && typeof b === 'number'
    ? a - b
    : String(a).localeCompare(String(b), 'en', { numeric: true });
