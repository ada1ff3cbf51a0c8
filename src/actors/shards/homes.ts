/**
 * Where actors live, and which mail is theirs.
 *
 * The kinds of the program share its shards; those of led charts have one of their own, whose owner must be a
 * replica that may lead. The kinds of each loaded feature live in parts of their own: a shard holds actors of
 * every kind, so whoever lacks a feature could own none of them, but it can leave the feature's parts to
 * others. The mail is dealt to shards by the server, whatever the kind; a part takes that of its kinds out of
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

export interface Homes {
  homeOf(id: ActorId): ShardName;
  /** The loaded feature of a kind; undefined: it is one of the program's own, or unknown. */
  featureOf(kind: string): string | undefined;
  /** Whether it is a kind of the program itself. */
  isOwn(kind: string): boolean;
  /** Subjects on which the mail of a shard stands. */
  mailOf(shard: ShardName): readonly string[];
  /** The same of a shard without the mail of loaded features, and of kinds that nobody knows. */
  ownMailOf(shard: number): readonly string[];
  /** Of the loaded features. */
  readonly parts: readonly Part[];
}

/** @param subjects of the cluster; @param shards into how many the mail is dealt */
export function homesOf(features: readonly Housed[], subjects: Subjects, shards: number = shardCount): Homes {
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
    parts,
    featureOf: (kind) => featureOf.get(kind),
    isOwn: (kind) => own.some(({ name }) => name === kind),
    homeOf(id) {
      const kind = id.slice(0, id.indexOf('/'));
      if (led.has(kind)) return ledShard;
      const feature = featureOf.get(kind);
      const shard = shardOf(id, shards);
      return feature === undefined ? shard : `${feature}-${shard % featureLimits.parts}`;
    },
    mailOf(shard) {
      if (typeof shard === 'number') return [subjects.mailOfShard(shard), subjects.tellOfShard(shard)];
      return ofKinds(shardsOf(shard), byName.get(shard)?.kinds ?? []);
    },
    ownMailOf: (shard) =>
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

/** The shards of which a part takes mail. */
function dealtTo(part: PartName, shards: number): readonly number[] {
  const number = Number(part.slice(part.lastIndexOf('-') + 1));
  return Array.from({ length: shards }, (_, shard) => shard).filter(
    (shard) => shard % featureLimits.parts === number,
  );
}
