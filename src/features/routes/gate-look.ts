/** Counts what the picture contains for one RouteGate, without judging it. Pure. */
import { selects } from '../../base/digests.ts';
import { limits } from '../../base/limits.ts';
import type { Deadlock } from '../../machines/pod/pod-facts.ts';
import type { GateFindings, Named } from '../../machines/routegate/routegate-facts.ts';
import { wantBytes } from '../../machines/service/service-context.ts';
import { deadlocksOf } from './deadlocks.ts';
import type { PodDigest } from './digests.ts';
import type { Refusal } from './gate-bounds.ts';
import { type Group, objectOf } from './groups/groups.ts';
import { servingPods } from './groups/listed-addresses.ts';
import type { RouteGateSpec } from './route-gate.ts';
import { isCrowded, unaskable, unverifiedReasons } from './routes-join.ts';

/** Names in a message; the rest are counted. */
const namesMax = 5;

const named = (all: Iterable<string>): Named => {
  const names = [...new Set(all)];
  return { names: names.slice(0, namesMax), count: names.length };
};

/**
 * @param pods of the RouteGate's namespace
 * @param groups the RouteGate's own
 * @param isComplete whether everything that it asks for has been listed
 * @param typesInUse condition types of all RouteGates of the namespace
 * @param isForeign whether the owner of the group with this label value is not one that it requires: that
 * group does not concern it
 * @param unlistedOwner the kind of the groups' owner, if that alone has not
 * @param unservedOwner the same, if the cluster has no such kind
 */
export function lookAt(
  spec: RouteGateSpec,
  {
    pods,
    groups,
    isComplete,
    unlistedOwner = null,
    unservedOwner = null,
    refusal = null,
    isForeign = () => false,
    typesInUse = null,
  }: {
    readonly pods: Iterable<PodDigest>;
    readonly groups: readonly Group[];
    readonly isComplete: boolean;
    readonly unlistedOwner?: string | null;
    readonly unservedOwner?: string | null;
    readonly refusal?: Refusal | null;
    readonly isForeign?: (value: string) => boolean;
    readonly typesInUse?: ReadonlySet<string> | null;
  },
): GateFindings {
  const own = groups.filter(({ value }) => !isForeign(value));
  const selected = selectedOf(spec, pods, isForeign);
  return {
    isComplete,
    ...(unlistedOwner === null ? {} : { unlistedOwner }),
    ...(unservedOwner === null ? {} : { unservedOwner }),
    refusal,
    conditionType: spec.conditionType,
    ...podsOf(spec, selected, own),
    ...(typesInUse === null ? {} : formerTypesOf(selected, typesInUse)),
    ...servicesOf(own),
    ...boundsOf(own),
    ...deadlockedIn(own),
  };
}

const isOver = ({ deleting, finished }: PodDigest) => deleting || finished === true;

function selectedOf(
  { podSelector, group: { podLabel } }: RouteGateSpec,
  pods: Iterable<PodDigest>,
  isForeign: (value: string) => boolean,
): readonly PodDigest[] {
  return [...pods].filter((pod) => {
    const value = pod.labels[podLabel];
    return value !== undefined && !isOver(pod) && selects(podSelector, pod.labels) && !isForeign(value);
  });
}

const isHeld = ({ conditionType }: RouteGateSpec, pod: PodDigest) =>
  !isOver(pod) && pod.readinessGates.includes(conditionType);

function podsOf(
  spec: RouteGateSpec,
  selected: readonly PodDigest[],
  groups: readonly Group[],
): Pick<GateFindings, 'pods' | 'first'> {
  const { conditionType } = spec;
  const held = groups.flatMap(({ pods }) => [...pods]).filter(([, pod]) => isHeld(spec, pod));
  const waiting = held.filter(([, { conditions }]) => conditions[conditionType] !== 'True');
  const ungated = selected.filter((pod) => !isHeld(spec, pod)).length;
  const reasons = held.map(([, pod]) => pod.reasons?.[conditionType] ?? '');
  return {
    pods: {
      held: held.length,
      waiting: waiting.length,
      ungated,
      others: selected.length - ungated - held.length,
      verified: reasons.filter((reason) => reason === 'RoutesVerified').length,
      unverified: reasons.filter((reason) => unverifiedReasons.has(reason)).length,
    },
    first: oldest(waiting, conditionType),
  };
}

/**
 * Condition types that some RouteGate wrote and none has any more: whoever lists one waits for nobody. New
 * Pods of an old template have no such condition yet; what older Pods say tells whose it was.
 */
function formerTypesOf(
  selected: readonly PodDigest[],
  typesInUse: ReadonlySet<string>,
): Pick<GateFindings, 'formerTypes'> {
  const former = new Set(selected.flatMap(writtenTypes).filter((type) => !typesInUse.has(type)));
  if (former.size === 0) return {};
  const formerTypes = [...former]
    .sort()
    .slice(0, namesMax)
    .map((conditionType) => {
      const listing = selected.filter(({ readinessGates }) => readinessGates.includes(conditionType));
      const waiting = listing.filter(({ conditions }) => conditions[conditionType] !== 'True');
      return { conditionType, pods: listing.length, waiting: waiting.length };
    });
  return { formerTypes };
}

/** Reasons that a RouteGate alone gives for a condition that is True. */
const openingReasons: ReadonlySet<string> = new Set([...unverifiedReasons, 'RoutesVerified']);

const writtenTypes = ({ reasons = {}, heldBack = [] }: PodDigest): readonly string[] => [
  ...Object.keys(reasons).filter((type) => openingReasons.has(reasons[type] ?? '')),
  ...heldBack,
];

/** A Pod waits since its creation, or since it lost a route. */
function oldest(
  waiting: ReadonlyArray<readonly [string, PodDigest]>,
  conditionType: string,
): GateFindings['first'] {
  const [first] = waiting
    .map(([name, { createdAt, lostAt }]) => ({ name, since: lostAt?.[conditionType] ?? createdAt }))
    .sort((a, b) => a.since - b.since || (a.name < b.name ? -1 : 1));
  return first ? { ...first, name: objectOf(first.name) } : null;
}

function boundsOf(
  groups: readonly Group[],
): Pick<GateFindings, 'crowdedGroups' | 'servicesMax' | 'largeGroups'> {
  const large = groups.filter(isLarge).slice(0, namesMax);
  return {
    crowdedGroups: named(groups.filter(isCrowded).map(({ value }) => value)),
    servicesMax: limits.groupServices,
    largeGroups: large.map((group) => ({ group: group.value, pods: servingPods(group) })),
  };
}

/** Whether the group has more Pods than a Service can look for at one time: docs/features/routes.md §4. */
function isLarge({ gate, pods }: Group): boolean {
  const bytes = [...pods].reduce((sum, [name, { uid, address, finished }]) => {
    if (finished) return sum;
    const ip = address !== null && 'ip' in address ? address.ip : '';
    return sum + wantBytes({ pod: `pod/${gate.namespace}/${name}`, uid, ip, family: 'IPv4' });
  }, 0);
  return bytes > limits.routeWantBytes;
}

function servicesOf(
  groups: readonly Group[],
): Pick<GateFindings, 'services' | 'unaskable' | 'isPortMissing' | 'emptyGroups'> {
  const services = groups.flatMap(({ gate, services: own }) =>
    [...own].map(([name, digest]) => ({ name: objectOf(name), why: unaskable(gate, digest) })),
  );
  const blind = services.flatMap(({ name, why }) => (why === null ? [] : [{ name, why }]));
  const empty = groups.filter(
    ({ gate, pods, services: own }) =>
      own.size === 0 && [...pods.values()].some((pod) => isHeld(gate.spec, pod)),
  );
  return {
    services: services.length,
    unaskable: named(blind.map(({ name, why }) => `${name} ${why}`)),
    isPortMissing: blind.some(({ why }) => /^has no (TCP )?port /.test(why)),
    emptyGroups: named(empty.map(({ value }) => value)),
  };
}

function deadlockedIn(groups: readonly Group[]): Pick<GateFindings, Deadlock> {
  const told = { notPublished: new Set<string>(), affine: new Set<string>(), local: new Set<string>() };
  for (const group of groups) {
    const serving = [...group.pods.values()].filter(({ finished }) => finished !== true);
    for (const [actor, service] of group.services)
      for (const deadlock of deadlocksOf(service, serving, serving.length))
        told[deadlock].add(objectOf(actor));
  }
  return {
    notPublished: named([...told.notPublished].sort()),
    affine: named([...told.affine].sort()),
    local: named([...told.local].sort()),
  };
}
