/**
 * ControllerRevisions of StatefulSets: what each of their templates was, for `kubectl rollout history` and
 * `undo`.
 *
 * Promises: the current template has the highest number, even when an old one comes back. As many old ones
 * are kept as `revisionHistoryLimit` says. Pods are not created from them: a lost Pod below the partition
 * comes back with the new template.
 */
import { hasCode } from '../../../src/base/errors.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import type { WorkloadObject } from '../objects.ts';
import { childMeta, childrenOf } from './pod-template.ts';
import { deleteThis, type WorkloadParts } from './workload-parts.ts';

export const controllerRevisions: KubeResource = {
  group: 'apps',
  version: 'v1',
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
  namespaced: true,
};

interface Revision extends KubeObject {
  readonly revision?: number;
}

/** @param name of the current template's revision */
export async function keepRevision(
  parts: WorkloadParts,
  set: WorkloadObject,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  // The status names the revision that was kept last, so nothing is requested while nothing changes.
  if (set.status?.updateRevision === name) return;
  const { namespace = '' } = set.metadata;
  const { items } = await parts.kube.list(controllerRevisions, { namespace }, signal);
  const owned = childrenOf<Revision>(set, 'StatefulSet', items);
  const others = owned.filter((revision) => revision.metadata.name !== name);
  const newest = Math.max(0, ...others.map(numberOf));
  const current = owned.find((revision) => revision.metadata.name === name);
  if (current === undefined) await create(parts, set, name, newest + 1, signal);
  else if (numberOf(current) <= newest) await renumber(parts, current, newest + 1, signal);
  const kept = set.spec?.revisionHistoryLimit ?? 10;
  const oldestFirst = others.toSorted((a, b) => numberOf(a) - numberOf(b));
  for (const revision of oldestFirst.slice(0, Math.max(0, others.length - kept)))
    await deleteThis(parts, controllerRevisions, revision, signal);
}

async function create(
  parts: WorkloadParts,
  set: WorkloadObject,
  name: string,
  revision: number,
  signal: AbortSignal,
): Promise<void> {
  const labels = { ...set.spec?.selector?.matchLabels, 'controller-revision-hash': name };
  const object = {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: { ...childMeta({ owner: set, ownerKind: 'StatefulSet', name, labels }), labels },
    // A strategic merge patch, which is how `undo` restores the template.
    data: { spec: { template: { ...set.spec?.template, $patch: 'replace' } } },
    revision,
  };
  try {
    await parts.kube.create(controllerRevisions, object, signal);
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
  }
}

async function renumber(
  parts: WorkloadParts,
  { metadata }: Revision,
  revision: number,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace = '', uid } = metadata;
  const body = { metadata: { uid }, revision };
  await parts.kube.patch(controllerRevisions, { namespace, name, type: 'merge', body }, signal);
}

function numberOf({ revision }: Revision): number {
  return revision ?? 0;
}
