/** Checks whether a loaded feature fits the others: no name may stand for two things. */
import type { Feature } from '../actors/feature.ts';

/** @returns each conflict in words; empty: it fits */
export function misfitsOf(feature: Feature, others: readonly Feature[]): readonly string[] {
  const kinds = new Map(
    others.flatMap(({ name, kinds }) => kinds.map(({ chart }) => [chart.name, name] as const)),
  );
  const effects = new Map(
    others.flatMap(({ name, kinds }) =>
      kinds.flatMap(({ chart }) => chart.effects.map(({ type }) => [type, name] as const)),
    ),
  );
  const metrics = new Set(others.flatMap((other) => Object.keys(other.metrics)));
  const own = new Set(feature.kinds.flatMap(({ chart }) => chart.effects.map(({ type }) => type)));
  own.delete('message.send');
  return [
    ...others
      .filter(({ name }) => name === feature.name)
      .map(({ name }) => `a feature ${name} exists already`),
    ...feature.kinds.flatMap(({ chart }) => taken('kind', chart.name, kinds)),
    ...[...own].flatMap((type) => taken('effect', type, effects)),
    ...Object.keys(feature.metrics).flatMap((name) =>
      metrics.has(name) || name.startsWith('orrery_')
        ? [`the metric ${name} exists already, or begins with orrery_`]
        : [],
    ),
    ...feature.kinds.flatMap(({ chart: { name } }) =>
      reserved.includes(name) ? [`the kind ${name} is a part of a replica`] : [],
    ),
  ];
}

/** Charts of a replica's own life. */
const reserved = ['shard', 'watch'];

function taken(what: string, name: string, known: ReadonlyMap<string, string>): readonly string[] {
  const owner = known.get(name);
  return owner === undefined ? [] : [`the ${what} ${name} belongs to the feature ${owner} already`];
}
