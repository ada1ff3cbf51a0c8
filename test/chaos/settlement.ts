/**
 * Whether a cluster of real processes has come to rest after its last fault: what is still missing, in words.
 * The replicas are asked over their own requests who owns what.
 */
import { recordsDue } from '../../packages/testing/checkers/at-rest.ts';
import type { Sighting } from '../../packages/testing/simulation/sightings.ts';
import { createControl } from '../../src/actors/control/control-client.ts';
import type { ActorRecord } from '../../src/actors/host/records.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { asError } from '../../src/base/errors.ts';
import type { Bus } from '../../src/bus/bus.ts';
import type { Subjects } from '../../src/bus/subjects.ts';
import type { Crew } from './replica-crew.ts';
import type { Witness } from './witness.ts';
import type { ChaosWorld } from './world.ts';

export interface SettlementParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly crew: Crew;
  readonly world: ChaosWorld;
  readonly witness: Witness;
}

/** Effects that last as long as their actor. */
const standing = ['route.sample', 'lease.follow'];

export function createSettlement({ bus, subjects, crew, world, witness }: SettlementParts) {
  const records = new Map<string, ActorRecord>();
  const control = createControl({ bus, subjects });
  return {
    records,
    see(sighting: Sighting): void {
      if (sighting.kind === 'lost' && sighting.stream === 'state') records.clear();
      if (sighting.kind === 'saved') records.set(sighting.id, sighting.record);
    },
    async unsettled(): Promise<readonly string[]> {
      if (witness.overdue > 0) return [`${witness.overdue} messages are not told yet`];
      const unowned = await ownersMissing(control, crew);
      if (unowned.length > 0) return unowned;
      return [...world.unsettled(records), ...recordsDue(records, clock.now(), standing)];
    },
  };
}

async function ownersMissing(
  control: Pick<ReturnType<typeof createControl>, 'shards'>,
  crew: Crew,
): Promise<string[]> {
  const names = crew.members.map(({ name }) => name).sort();
  try {
    const { shards, replicas } = await control.shards();
    const heard = replicas.map(({ replica }) => replica).sort();
    if (heard.join() !== names.join()) return [`${names.join()} live, and ${heard.join()} are known`];
    return shards
      .filter(({ owner }) => owner === null || !names.includes(owner))
      .map(({ shard, owner, state }) => `shard ${shard} is ${owner ?? 'nobody’s'} (${state})`);
  } catch (error) {
    return [`nobody says who owns the shards: ${asError(error).message}`];
  }
}
