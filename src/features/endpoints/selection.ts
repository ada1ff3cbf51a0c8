/** Which workloads a Service selects, indexed by single labels; and whose a slice is. Pure. */
import { type Labels, selects } from '../../base/digests.ts';
import type { EndpointSliceDigest, ServiceDigest } from './digests.ts';

export function isSelected({ selecting }: ServiceDigest, labels: Labels): boolean {
  return selecting !== undefined && selects({ matchLabels: selecting.selector }, labels);
}

/** `<key>=<value>` for each label. */
export function pairsOf(labels: Labels | undefined): string[] {
  return Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
}

/** Ours, or another controller's for external workloads. */
export const isOfWorkloads = ({ managed, foreign }: EndpointSliceDigest) =>
  (managed ?? foreign) !== undefined;

/**
 * The Service that a slice belongs to: a slice whose label somebody changed still has its owner. Anybody may
 * add owners; the one that the label names counts, or else the controller.
 */
export function serviceOf({ managed, foreign, service }: EndpointSliceDigest): string {
  const owners = (managed ?? foreign?.content)?.ownerReferences.filter(isService) ?? [];
  const owner =
    owners.find(({ name }) => name === service) ??
    owners.find(({ controller }) => controller === true) ??
    owners[0];
  return typeof owner?.name === 'string' ? owner.name : service;
}

/** Knative has a kind of that name, too. */
const isService = ({ apiVersion, kind }: Readonly<Record<string, unknown>>) =>
  apiVersion === 'v1' && kind === 'Service';

export function putIn(map: Map<string, Set<string>>, key: string, member: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(member));
}

export function dropFrom(map: Map<string, Set<string>>, key: string, member: string): void {
  const members = map.get(key);
  members?.delete(member);
  if (members?.size === 0) map.delete(key);
}
