/** Whether a cluster has come to rest after its last fault: what is still missing, in words. */
import { type ActorRecord, isForgotten } from '../../../src/actors/host/records.ts';
import type { Eye } from './checker.ts';

export function namedTwice({ replicas }: Pick<Eye, 'replicas'>): string[] {
  const living = replicas().map(({ name }) => name);
  const twice = living.filter((name, index) => living.indexOf(name) !== index);
  return twice.map((name) => `two replicas are called ${name}`);
}

/** Shards without exactly one owner that works; asked each second. */
export function ownersMissing({ replicas, world }: Pick<Eye, 'replicas' | 'world'>): string[] {
  const owners = new Map<string, number>();
  for (const { engine } of replicas())
    for (const name of engine?.ownership.active() ?? []) owners.set(name, (owners.get(name) ?? 0) + 1);
  const missing = Array.from({ length: world.shards }, (_, shard) => `shard/${shard}`).filter(
    (name) => owners.get(name) !== 1,
  );
  return missing.map((name) => `${name} has no one owner that works`);
}

/**
 * What else some replica may hold (mirrors of kinds, leaderships) and nobody works on, or several do: asked
 * at the end only.
 */
export function holdingsMissing({ replicas }: Pick<Eye, 'replicas'>): string[] {
  const owners = new Map<string, number>();
  for (const { engine } of replicas())
    for (const { name, state } of engine?.ownership.views() ?? [])
      if (!name.startsWith('shard/'))
        owners.set(name, (owners.get(name) ?? 0) + (state === 'held.active' ? 1 : 0));
  return [...owners].flatMap(([name, count]) =>
    count === 1 ? [] : [`${name} has ${count === 0 ? 'no owner that works' : `${count} owners`}`],
  );
}

/** What the records still hold that is due soon. */
export function recordsDue(
  records: ReadonlyMap<string, ActorRecord>,
  now: number,
  standing: readonly string[] = ['route.sample'],
): string[] {
  return [...records].flatMap(([id, record]) => {
    if (isForgotten(record, now)) return [];
    const { outbox } = record;
    const [first] = outbox.filter(({ effect }) => !standing.includes(effect.type));
    return first === undefined ? [] : [`${id} still has the effect ${first.key}`];
  });
}
