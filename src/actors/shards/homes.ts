/**
 * Where actors live, and which mail is theirs.
 *
 * The built-in kinds share the shards; those of led charts have one of their own, whose owner must be a
 * replica that may lead. The kinds of each loaded feature live in parts of their own: a shard holds actors of
 * every kind, so a replica without the feature could own no shard, but it can leave the feature's parts to
 * others. The server divides the mail among shards regardless of the kind; a part reads its kinds' mail from
 * the shards that belong to it.
 */
import type { ActorId, PartName, ShardName } from '../../base/ids.ts';
import { ledShard, shardCount } from '../../base/limits.ts';
import { shardOf } from '../../bus/partition.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { Housed } from '../edition.ts';
import { featureLimits } from '../feature-limits.ts';

export interface Part {
  readonly name: PartName;
  readonly feature: string;
  readonly kinds: readonly string[];
}

export type Homes = ReturnType<typeof homesOf>;

/**
 * @param subjects of the cluster
 * @param shards number of shards into which the mail is divided
 */
export function homesOf(features: readonly Housed[], subjects: Subjects, shards: number = shardCount) {
  const parts = features.flatMap((feature) => (feature.edition ? partsOf(feature) : []));
  const byName = new Map(parts.map((part) => [part.name, part]));
  const featureOf = new Map(parts.flatMap(({ kinds, feature }) => kinds.map((kind) => [kind, feature])));
  const own = durable(features.filter(({ edition }) => edition === undefined));
  const led = new Set(own.flatMap(({ name, led = false }) => (led ? [name] : [])));
  const ofKinds = (numbers: readonly number[], kinds: Iterable<string>) =>
    [...kinds].flatMap((kind) =>
      numbers.flatMap((shard) => [subjects.mailOfKind(shard, kind), subjects.tellOfKind(shard, kind)]),
    );
  const shardsOf = (part: PartName) => dealtTo(part, shards);
  return {
    /** The parts of the loaded features. */
    parts,
    /** The loaded feature of a kind; undefined: a built-in or unknown kind. */
    featureOf: (kind: string): string | undefined => featureOf.get(kind),
    /** Whether it is a built-in kind. */
    isOwn: (kind: string): boolean => own.some(({ name }) => name === kind),
    homeOf(id: ActorId): ShardName {
      const kind = id.slice(0, id.indexOf('/'));
      if (led.has(kind)) return ledShard;
      const feature = featureOf.get(kind);
      const shard = shardOf(id, shards);
      return feature === undefined ? shard : `${feature}-${shard % featureLimits.parts}`;
    },
    mailOf(shard: ShardName): readonly string[] {
      if (typeof shard === 'number') return [subjects.mailOfShard(shard), subjects.tellOfShard(shard)];
      return ofKinds(shardsOf(shard), byName.get(shard)?.kinds ?? []);
    },
    /** The same, without the mail of loaded features and of unknown kinds. */
    ownMailOf: (shard: number): readonly string[] =>
      ofKinds(
        [shard],
        own.map(({ name }) => name),
      ),
  };
}

const durable = (features: readonly Housed[]) =>
  features.flatMap(({ kinds }) => kinds.map(({ chart }) => chart).filter((chart) => chart.durable));

function partsOf(feature: Housed): readonly Part[] {
  const kinds = durable([feature]).map(({ name }) => name);
  return Array.from({ length: featureLimits.parts }, (_, part) => ({
    name: `${feature.name}-${part}` as const,
    feature: feature.name,
    kinds,
  }));
}

/** The shards from which a part takes mail. */
function dealtTo(part: PartName, shards: number): readonly number[] {
  const number = Number(part.slice(part.lastIndexOf('-') + 1));
  return Array.from({ length: shards }, (_, shard) => shard).filter(
    (shard) => shard % featureLimits.parts === number,
  );
}
