/**
 * What elections must come to after the last fault: one candidate leads, knows it and holds the Lease, and
 * the Election says so.
 */
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { leaseRecordOf } from '../../../src/features/elections/lease.ts';
import { elections, leases } from '../../../src/features/elections/resources.ts';
import type { SeenStage } from '../api/seen-api.ts';
import { leaseOf } from './election-actions.ts';
import { type ElectionPeople, namespace, unusable } from './election-world.ts';

interface Status {
  readonly holder?: string | null;
  readonly term?: number;
  readonly candidates?: readonly string[];
  readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }>;
}

export function unsettledElections(
  { api }: SeenStage,
  people: ElectionPeople,
  names: readonly string[],
  records: ReadonlyMap<string, ActorRecord>,
): readonly string[] {
  return names.flatMap((name) => {
    const election = `${namespace}/${name}`;
    const record = records.get(`election/${election}`);
    if (record === undefined || record.gone) return [`${election} has no actor`];
    const object = api.find(elections, namespace, name);
    if (isUnusable(object)) return notHeld(object, people, election);
    const lease = api.find(leases, namespace, leaseOf(object) ?? name);
    const holder = lease === null ? '' : leaseRecordOf(lease).holder;
    const leaders = [...people.candidates, ...people.programs].filter(
      ({ belief, isLeading }) => isLeading && belief?.election === election,
    );
    if (leaders.length !== 1)
      return [`${election} has ${leaders.length} leaders; its Lease says "${holder}"`];
    const leader = leaders[0]?.name ?? '';
    if (holder !== leader) return [`${election} is led by ${leader}, its Lease says "${holder}"`];
    return untrue(api.find(elections, namespace, name)?.status as Status | undefined, leader, people, name);
  });
}

function untrue(
  status: Status | undefined,
  leader: string,
  { candidates }: ElectionPeople,
  name: string,
): readonly string[] {
  if (status?.holder !== leader) return [`${name} is led by ${leader}, its status says ${status?.holder}`];
  const valid = status.conditions?.find(({ type }) => type === 'Valid')?.status;
  if (valid !== 'True') return [`${name} is usable, its condition Valid is ${valid}`];
  const campaigning = candidates.filter((one) => one.name.startsWith(`${name}-`)).map((one) => one.name);
  const said = [...(status.candidates ?? [])];
  return campaigning.sort().join() === said.sort().join()
    ? []
    : [`${name} has the candidates ${campaigning.join()}, its status says ${said.join()}`];
}

const isUnusable = (object: KubeObject | null) =>
  (object?.spec as typeof unusable | undefined)?.renewDeadlineSeconds === unusable.renewDeadlineSeconds;

/** Nobody leads by it, and its status says that it cannot be used. */
function notHeld(
  object: KubeObject | null,
  { candidates }: ElectionPeople,
  election: string,
): readonly string[] {
  const { holder, conditions } = (object?.status ?? {}) as Status;
  const leads = candidates.some(({ belief, isLeading }) => isLeading && belief?.election === election);
  if (leads || holder != null) return [`${election} cannot be used, and ${holder} leads`];
  const valid = conditions?.find(({ type }) => type === 'Valid')?.status;
  return valid === 'False' ? [] : [`${election} cannot be used, its condition Valid is ${valid}`];
}
