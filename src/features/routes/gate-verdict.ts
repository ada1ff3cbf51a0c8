/**
 * Whether a RouteGate verifies anything, and which of its Services can never let a Pod go. Pure, of the world
 * picture alone.
 */
import { type Labels, selects } from '../../base/digests.ts';
import { limits } from '../../base/limits.ts';
import { wantBytes } from '../../machines/service/service-context.ts';
import { type Group, objectOf } from './groups.ts';
import { isCrowded, unaskable } from './routes-join.ts';

export interface Judgement {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** Groups with more Pods than a Service can look for at one time: docs/features/routes.md §4. */
export function largeGroups(groups: readonly Group[]): string[] {
  const isLarge = ({ gate, pods }: Group) => {
    const bytes = [...pods].reduce((sum, [name, { uid, address }]) => {
      const ip = address !== null && 'ip' in address ? address.ip : '';
      return sum + wantBytes({ pod: `pod/${gate.namespace}/${name}`, uid, ip, family: 'IPv4' });
    }, 0);
    return bytes > limits.routeWantBytes;
  };
  const large = groups.filter(isLarge);
  return large.map(
    ({ value, pods }) =>
      `group ${value} has ${pods.size} Pods, more than a Service looks for at one time: they take turns, and a lost route is noticed for some of them only`,
  );
}

/** Names in a message; the rest is counted. */
const namesMax = 5;

function listed(names: readonly string[]): string {
  const rest = names.length - namesMax;
  return `${names.slice(0, namesMax).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** @param unverified Pods that are Ready although nothing was verified for them */
export function verifyingOf(
  groups: readonly Group[],
  unverified: number,
  deadlocks: readonly string[],
): Judgement {
  const no = (reason: string, message: string): Judgement => ({ status: 'False', reason, message });
  const withPods = groups.filter(({ pods }) => pods.size > 0);
  const empty = withPods.filter(({ services }) => services.size === 0);
  const services = groups.flatMap(({ gate, services: own }) =>
    [...own].map(([name, digest]) => ({ name: objectOf(name), why: unaskable(gate, digest) })),
  );
  const blind = services.filter(({ why }) => why !== null);
  if (services.length === 0)
    return no(
      'NothingToVerify',
      'no Service has the labels of serviceSelector and group.serviceLabel of any Pod',
    );
  if (empty.length > 0)
    return no(
      'NothingToVerify',
      `no Service belongs to the groups ${listed(empty.map(({ value }) => value))}`,
    );
  if (blind.length > 0) {
    const names = blind.map(({ name, why }) => `${name} ${why ?? ''}`);
    const isPort = blind.some(({ why }) => why?.startsWith('has no port'));
    return no(
      isPort ? 'PortMissing' : 'Unverified',
      `${blind.length} of ${services.length} Services cannot be asked: ${listed(names)}`,
    );
  }
  const crowded = groups.filter(isCrowded).map(({ value }) => value);
  if (crowded.length > 0)
    return no(
      'TooManyServices',
      `nothing is verified in groups of more than ${limits.groupServices} Services: ${listed(crowded)}`,
    );
  const [first] = deadlocks;
  if (first !== undefined) return no('Deadlock', first);
  if (unverified > 0)
    return no('Unverified', `${unverified} Pods are Ready although no Service could be verified for them`);
  return { status: 'True', reason: 'Verifying', message: `${services.length} Services are asked` };
}

/**
 * Why Pods and Services of the groups wait for each other, and what to change (docs/features/routes.md §7.4).
 */
export function deadlocksOf(groups: readonly Group[]): string[] {
  const told = { notPublished: new Set<string>(), affine: new Set<string>(), local: new Set<string>() };
  for (const { pods, services } of groups) {
    for (const [actor, { routing }] of services) {
      const name = objectOf(actor);
      const selector = routing?.readyOnly;
      const holdsOwn =
        selector !== undefined && [...pods.values()].some(({ labels }) => matches(selector, labels));
      if (holdsOwn) told.notPublished.add(name);
      if (routing?.affine && pods.size > 1) told.affine.add(name);
      if (routing?.local) told.local.add(name);
    }
  }
  const says = (names: ReadonlySet<string>, text: string) =>
    names.size > 0 ? [`${listed([...names].sort())}: ${text}`] : [];
  return [
    ...says(
      told.notPublished,
      'the Service publishes Ready Pods alone and the gate waits for the Service; set publishNotReadyAddresses: true, or take it out of serviceSelector',
    ),
    ...says(
      told.affine,
      'with sessionAffinity ClientIP each replica of Orrery always meets the same Pod; take the affinity away, or gate on a Service without it',
    ),
    ...says(
      told.local,
      'with internalTrafficPolicy Local only Pods on nodes with a replica of Orrery are met; take the policy away, or gate on a Service without it',
    ),
  ];
}

const matches = (selector: Labels, labels: Labels): boolean => selects({ matchLabels: selector }, labels);
