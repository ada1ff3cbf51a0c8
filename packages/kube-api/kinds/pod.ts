/** Pods: what the server fills in, what may change after creation, and how podIP and podIPs agree. */

import { parseAddress } from '../../../src/base/address.ts';
import { type Cause, forbiddenField, invalidValue } from '../causes.ts';
import { copy, equal, isObject, type JsonObject, listAt, objectAt, objectsAt, textAt } from '../json.ts';
import type { StoredObject } from '../stored-object.ts';
import { fieldsAt, type Kind, plainKind, unsupportedField } from './kind.ts';
import { filledPodSpec, podSpecCauses } from './pod-spec.ts';

const updateRule =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

export const podKind: Kind = {
  ...plainKind,
  answersDeleted: true,
  deletesGracefully: true,
  fields: {
    ...fieldsAt(
      'spec.nodeName',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ),
    'spec.hostNetwork': (pod) => String(objectAt(pod, 'spec')?.hostNetwork === true),
  },
  unknownField: unsupportedField,
  generation: (pod) => pod.spec ?? null,
  fill,
  create,
  status: (pod, old) => {
    const { ownerReferences: _, ...meta } = pod.metadata;
    const owners = old.metadata.ownerReferences;
    pod.metadata = owners === undefined ? meta : { ...meta, ownerReferences: owners };
    pod.status = { qosClass: textAt(old, 'status', 'qosClass'), ...objectAt(pod, 'status') };
  },
  check: (pod) => podSpecCauses(objectAt(pod, 'spec'), 'spec'),
  checkUpdate,
  checkStatus: (pod) => podIPCauses(pod),
};

function fill(pod: StoredObject): void {
  pod.spec = { ...filledPodSpec(objectAt(pod, 'spec') ?? {}) };
  pod.spec.enableServiceLinks ??= true;
  const status = objectAt(pod, 'status') ?? {};
  pod.status = { ...status, ...syncedPodIPs(status) };
}

/**
 * podIPs[0] and podIP are one fact. If they differ, a client that knows only the older field podIP has set
 * it.
 */
function syncedPodIPs(status: JsonObject): JsonObject {
  const ip = textAt(status, 'podIP');
  const first = textAt(objectsAt(status, 'podIPs')[0], 'ip');
  if (ip === '' && first === '') return {};
  if (ip === '') return { podIP: first };
  return ip === first ? {} : { podIPs: [{ ip }] };
}

const evictionTolerations = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map((key) => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));

function create(pod: StoredObject): void {
  const spec = objectAt(pod, 'spec') ?? {};
  const tolerations = objectsAt(spec, 'tolerations');
  const missing = evictionTolerations.filter(
    ({ key }) =>
      !tolerations.some((known) => known.key === key || (known.operator === 'Exists' && !known.key)),
  );
  pod.spec = {
    priority: 0,
    preemptionPolicy: 'PreemptLowerPriority',
    ...spec,
    ...(tolerations.length + missing.length > 0 ? { tolerations: [...tolerations, ...copy(missing)] } : {}),
  };
  pod.status = { phase: 'Pending', qosClass: qosClassOf(pod) };
}

/** Guaranteed, Burstable or BestEffort, by the containers' requests and limits of CPU and memory. */
function qosClassOf(pod: StoredObject): string {
  const containers = [...objectsAt(pod, 'spec', 'containers'), ...objectsAt(pod, 'spec', 'initContainers')];
  const limits = containers.map((container) => objectAt(container, 'resources', 'limits') ?? {});
  const requests = containers.map((container) => objectAt(container, 'resources', 'requests') ?? {});
  if ([...limits, ...requests].every((amounts) => !amounts.cpu && !amounts.memory)) return 'BestEffort';
  const isGuaranteed = limits.every(({ cpu, memory }, index) => {
    const request = requests[index];
    return cpu && memory && (request?.cpu ?? cpu) === cpu && (request?.memory ?? memory) === memory;
  });
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

function checkUpdate(pod: StoredObject, old: StoredObject): Cause[] {
  const spec = objectAt(pod, 'spec') ?? {};
  const oldSpec = objectAt(old, 'spec') ?? {};
  if (equal(fixedPart(spec, oldSpec), fixedPart(oldSpec, oldSpec))) return [];
  return [forbiddenField('spec', updateRule)];
}

/** The specification, with every changeable field as it was in `old`. */
function fixedPart(spec: JsonObject, old: JsonObject): JsonObject {
  const tolerations = listAt(spec, 'tolerations');
  const isAddition = listAt(old, 'tolerations').every((known) =>
    tolerations.some((item) => equal(item, known)),
  );
  return {
    ...spec,
    containers: withoutImages(spec, 'containers'),
    initContainers: withoutImages(spec, 'initContainers'),
    activeDeadlineSeconds: 0,
    tolerations: isAddition ? [] : tolerations,
  };
}

function withoutImages(spec: JsonObject, list: string) {
  return listAt(spec, list).map((item) => (isObject(item) ? { ...item, image: '' } : item));
}

function podIPCauses(pod: StoredObject): Cause[] {
  const ips = objectsAt(pod, 'status', 'podIPs').map((entry) => textAt(entry, 'ip'));
  const causes = ips.flatMap((ip, index) => {
    if (parseAddress(ip) !== undefined) return [];
    const text = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
    return [invalidValue(`status.podIPs[${index}]`, ip, text)];
  });
  const families = new Set(ips.map((ip) => ip.includes(':')));
  if (causes.length === 0 && ips.length > families.size)
    causes.push(
      invalidValue(
        'status.podIPs',
        ips.map((ip) => ({ IP: ip })),
        'may specify no more than one IP for each IP family',
      ),
    );
  return causes;
}
