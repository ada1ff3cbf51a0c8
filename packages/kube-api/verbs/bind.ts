/** Binding: a scheduler assigns a Pod to a node. Only this sets a Pod's node after its creation. */
import { kubeTime } from '../../../src/base/kube-time.ts';
import type { Answer, ApiRequest, Target } from '../http/request.ts';
import { objectAt, objectsAt, textAt } from '../json.ts';
import { badRequest, conflict, plainError } from '../status.ts';
import type { Version } from '../storage/version.ts';
import type { StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import { bodyObject } from '../writing/body.ts';
import { writeOptions } from '../writing/options.ts';
import { save } from '../writing/replace.ts';
import { existing } from './read.ts';

/** @param target names the Pods; without a name, the body's name counts */
export function bindPod(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const binding = bodyObject(request, { ...target.resource, kind: 'Binding' });
  const name = target.name ?? textAt(binding, 'metadata', 'name');
  if (name === '') throw badRequest('name must be provided');
  const node = textAt(binding, 'target', 'name');
  const kind = textAt(binding, 'target', 'kind');
  const problems = [
    ...(kind === '' || kind === 'Node'
      ? []
      : [`target.kind: Unsupported value: "${kind}": supported values: "Node", "<empty>"`]),
    ...(node === '' ? ['target.name: Required value'] : []),
  ];
  if (problems.length > 0)
    throw plainError(problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`);
  const { isDryRun } = writeOptions(request.query, 'CreateOptions');
  const version = existing(cluster, { ...target, name });
  save(cluster, target.resource, version, bound(cluster, version, node), isDryRun);
  return {
    code: 201,
    body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }),
  };
}

function bound(cluster: Cluster, { object }: Version, node: string): StoredObject {
  const { name, deletionTimestamp } = object.metadata;
  const binding = { plural: 'pods/binding', group: '' };
  const current = textAt(object, 'spec', 'nodeName');
  if (current !== '') throw conflict(binding, name, `pod ${name} is already assigned to node "${current}"`);
  if (deletionTimestamp !== undefined)
    throw conflict(binding, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  const status = objectAt(object, 'status');
  const others = objectsAt(status, 'conditions').filter((condition) => condition.type !== 'PodScheduled');
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: kubeTime(cluster.clock.now()),
  };
  return {
    ...object,
    spec: { ...objectAt(object, 'spec'), nodeName: node },
    status: { ...status, conditions: [...others, scheduled] },
  };
}
