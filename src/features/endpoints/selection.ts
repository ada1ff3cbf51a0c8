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

/** The Service that a slice belongs to: a slice whose label somebody changed still has its owner. */
export function serviceOf({ managed, foreign, service }: EndpointSliceDigest): string {
  const owner = (managed ?? foreign?.content)?.ownerReferences.find(({ kind }) => kind === 'Service')?.name;
  return typeof owner === 'string' ? owner : service;
}

export function putIn(map: Map<string, Set<string>>, key: string, member: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(member));
}

export function dropFrom(map: Map<string, Set<string>>, key: string, member: string): void {
  const members = map.get(key);
  members?.delete(member);
  if (members?.size === 0) map.delete(key);
}
