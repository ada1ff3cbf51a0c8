/**
 * Several features in one cluster: their worlds are side by side on one API server, and every replica runs
 * them all. Each lives with what the others do to the engine.
 */
import type { FeatureSimulation, FeatureWorld, WorldParts } from './feature-world.ts';

export function mixed(name: string, simulations: readonly FeatureSimulation[]): FeatureSimulation {
  const of = <T>(field: (one: FeatureSimulation) => readonly T[] | undefined) =>
    simulations.flatMap((one) => field(one) ?? []);
  const skews = simulations.flatMap(({ skewMaxMs }) => skewMaxMs ?? []);
  return {
    name,
    kinds: distinct(of(({ kinds }) => kinds)),
    without: of(({ without }) => without),
    standing: of(({ standing }) => standing),
    rightly: of(({ rightly }) => rightly),
    ...(skews.length === 0 ? {} : { skewMaxMs: Math.min(...skews) }),
    restMs: Math.max(...simulations.map(({ restMs = 0 }) => restMs)),
    create: (parts) => besides(simulations, parts),
  };
}

/** A resource that several of them know counts once. */
function distinct(kinds: FeatureSimulation['kinds']): FeatureSimulation['kinds'] {
  return [...new Map(kinds.map((one) => [`${one.group}/${one.plural}`, one])).values()];
}

function besides(simulations: readonly FeatureSimulation[], parts: WorldParts): FeatureWorld {
  const { chance } = parts;
  const worlds = simulations.map((one) => one.create({ ...parts, chance: chance.of(one.name) }));
  const releasing = worlds.find(({ releaseOf }) => releaseOf !== undefined);
  return {
    uses: (replica) => worlds.flatMap((world) => world.uses(replica)),
    releaseOf: (replica) => releasing?.releaseOf?.(replica) ?? '1.0.0',
    checkers: worlds.flatMap(({ checkers }) => checkers),
    statuses: worlds.flatMap(({ statuses }) => statuses ?? []),
    begin() {
      for (const world of worlds) world.begin();
    },
    act: () => chance.pick(worlds)?.act(),
    heal() {
      for (const world of worlds) world.heal();
    },
    isClosed: () => worlds.some((world) => world.isClosed?.() === true),
    unsettled: (records) => worlds.flatMap((world) => world.unsettled(records)),
  };
}
