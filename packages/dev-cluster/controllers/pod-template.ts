/**
 * Pods and other children made from the templates of workloads. Pure.
 */
import { createHash } from 'node:crypto';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { controllerUid, type PodObject, type PodTemplate, type WorkloadObject } from '../objects.ts';

export interface ChildOptions {
  readonly owner: WorkloadObject;
  readonly ownerKind: 'StatefulSet' | 'ReplicaSet' | 'Deployment';
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Ten characters that stand for a template. Equal templates have equal texts, whatever the order of their
 * fields.
 */
export function templateHash(template: PodTemplate | undefined): string {
  return createHash('sha256')
    .update(canonical(template ?? {}))
    .digest('hex')
    .slice(0, 10);
}

export function podFromTemplate(
  options: ChildOptions,
  extra: Readonly<Record<string, unknown>> = {},
): PodObject {
  const template = options.owner.spec?.template ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...childMeta(options),
      labels: { ...template.metadata?.labels, ...options.labels },
      annotations: { ...template.metadata?.annotations },
    },
    spec: { ...template.spec, ...extra },
  };
}

export function childMeta(options: ChildOptions) {
  const { owner, ownerKind, name } = options;
  const { namespace = '', uid = '' } = owner.metadata;
  const reference = { apiVersion: 'apps/v1', kind: ownerKind, name: owner.metadata.name, uid };
  return {
    name,
    namespace,
    ownerReferences: [{ ...reference, controller: true, blockOwnerDeletion: true }],
  };
}

/** The children that the owner controls. */
export function childrenOf<T extends KubeObject>(owner: KubeObject, kind: string, all: readonly T[]): T[] {
  return all.filter(
    (object) =>
      object.metadata.namespace === owner.metadata.namespace &&
      controllerUid(object, kind) === owner.metadata.uid,
  );
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(([, held]) => held !== undefined && held !== null);
  fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, held]) => `${JSON.stringify(key)}:${canonical(held)}`).join()}}`;
}
