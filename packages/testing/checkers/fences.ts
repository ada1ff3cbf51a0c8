/**
 * I2: "For one actor, revisions grow by one, fences never go down, and there is one writer per fence."
 *
 * A step must be stored while its fence is the shard's latest, by the replica that the fence names. A record
 * that is stored again at its revision (to remove finished effects from it) must be the same step. Fences
 * grow even across the loss of their stream; revisions then begin again.
 */

import type { ActorRecord } from '../../../src/actors/host/records.ts';
import type { ShardName } from '../../../src/base/ids.ts';
import type { Sighting } from '../simulation/sightings.ts';
import type { CheckerKind, Eye } from './checker.ts';
import { createKept } from './kept-records.ts';

interface Owner {
  readonly replica: string | null;
  readonly fence: number;
}

export const fences: CheckerKind = {
  name: 'I2',
  create(eye) {
    const owners = new Map<ShardName, Owner>();
    const kept = createKept(eye.now);
    return (sighting) => {
      if (sighting.kind === 'lost' && sighting.stream === 'state') kept.lose();
      if (sighting.kind === 'fence') {
        const { shard, replica, sequence } = sighting;
        const before = owners.get(shard);
        if (before && sequence <= before.fence) eye.breach(`the fence of shard ${shard} went back`);
        owners.set(shard, { replica, fence: sequence });
      }
      if (sighting.kind !== 'saved') return;
      check(eye, kept.take(sighting), owners.get(sighting.shard));
    };
  },
};

function check(eye: Eye, sighting: Sighting & { kind: 'saved' }, owner: Owner | undefined): void {
  const { id, record, before } = sighting;
  const { breach } = eye;
  const rev = before?.rev ?? 0;
  if (before && record.rev === before.rev) {
    if ((record.quiet ?? 0) === (before.quiet ?? 0)) sameStep(eye, record, before, id);
    else quietStep(eye, record, before, id, owner);
    return;
  }
  if (record.rev !== rev + 1) {
    breach(`${id}: revision ${record.rev} stored over ${rev}`);
    return;
  }
  if (before && record.fence < before.fence) {
    breach(`${id}: fence ${record.fence} stored over ${before.fence}`);
    return;
  }
  const writer = record.feed.at(-1)?.replica;
  if (record.fence !== owner?.fence || writer !== owner.replica)
    breach(
      `${id} rev ${record.rev}: stored by ${writer} under ${record.fence}; the owner is ${owner?.replica} under ${owner?.fence}`,
    );
}

/**
 * A step that is not told (`Chart.quiet`) has a place of its own under the revision of the last told one;
 * some are stored together with a later one.
 */
function quietStep(
  { breach }: Eye,
  record: ActorRecord,
  before: ActorRecord,
  id: string,
  owner: Owner | undefined,
): void {
  const [place, after] = [record.quiet ?? 0, before.quiet ?? 0];
  if (place <= after) breach(`${id} rev ${record.rev}: the quiet step ${place} is stored after ${after}`);
  if (record.fence !== owner?.fence)
    breach(
      `${id} rev ${record.rev}/${place}: stored under ${record.fence}; the owner is ${owner?.replica} under ${owner?.fence}`,
    );
}

function sameStep({ breach }: Eye, record: ActorRecord, before: ActorRecord, id: string): void {
  if (record.fence !== before.fence || JSON.stringify(record.snapshot) !== JSON.stringify(before.snapshot))
    breach(`${id}: another step was stored at revision ${record.rev}`);
  const known = new Set(before.outbox.map(({ key }) => key));
  const added = record.outbox.filter(({ key }) => !known.has(key));
  if (added.length > 0) breach(`${id}: effects came into revision ${record.rev} after it was stored`);
}
