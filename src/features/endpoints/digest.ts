/**
 * The digests of ExternalWorkloads, of the Services that select them, and of our EndpointSlices. Pure.
 *
 * Slices are kept whole and as read, so that any change by others shows as a difference.
 */

import { type Address, type IpFamily, parseAddress, unreachability } from '../../base/address.ts';
import type { ConditionStatus, DigestPart } from '../../base/digests.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import { conditionOf } from '../../kube/api/conditions.ts';
import { type Fields, list, record, textMap, texts } from '../../kube/api/fields.ts';
import { digestBase } from '../../kube/mirror/object-digest.ts';
import type {
  EndpointSliceDigest,
  ServiceDigest,
  SliceContent,
  SliceEndpoint,
  SlicePort,
  WorkloadDigest,
} from './digests.ts';
import { managedBy, managedByLabel, otherWriters, ownManager, serviceNameLabel } from './slice-labels.ts';

/** The annotation that asks for a workload to be probed. */
export const probeAnnotation = 'orrery.dev/probe';

export function workloadPart(object: KubeObject): DigestPart<WorkloadDigest> {
  const spec = record(object.spec);
  const written = list(spec.workloadIPs).map((entry) => record(entry).ip);
  const parsed = written.map((ip) => (typeof ip === 'string' ? publishable(ip) : undefined));
  const invalid = written.filter((_, at) => parsed[at] === undefined);
  return {
    addresses: distinct(parsed.filter((one) => one !== undefined)),
    invalid: invalid.map((ip) => (typeof ip === 'string' ? ip.slice(0, 100) : '')),
    ports: list(spec.ports).flatMap((port) => workloadPort(record(port))),
    ...readiness(record(object.status)),
    // One character more says that it is too long.
    probe:
      textMap(object.metadata.annotations)[probeAnnotation]?.slice(0, limits.probeAnnotationChars + 1) ??
      null,
  };
}

function publishable(text: string): Address | undefined {
  return unreachability(text) === null ? parseAddress(text) : undefined;
}

function distinct(addresses: readonly Address[]): Address[] {
  return [...new Map(addresses.map((address) => [address.ip, address])).values()];
}

function workloadPort({ name, port, protocol }: Fields) {
  if (typeof port !== 'number') return [];
  const text = typeof protocol === 'string' && protocol !== '' ? protocol : 'TCP';
  return [{ name: typeof name === 'string' ? name : '', port, protocol: text }];
}

function readiness(status: Fields): { ready: ConditionStatus | null; readyAt: number } {
  const found = conditionOf(status, 'Ready');
  if (found === undefined) return { ready: null, readyAt: 0 };
  const { status: said, lastTransitionTime } = found;
  const at = typeof lastTransitionTime === 'string' ? Date.parse(lastTransitionTime) : Number.NaN;
  return {
    ready: said === 'True' || said === 'False' ? said : 'Unknown',
    readyAt: Number.isNaN(at) ? 0 : at,
  };
}

/** What slices need of a Service; empty if it selects nothing. */
export function servicePart(object: KubeObject): DigestPart<ServiceDigest> {
  const spec = record(object.spec);
  const selector = textMap(spec.selector);
  if (spec.type === 'ExternalName' || Object.keys(selector).length === 0) return {};
  return {
    selecting: {
      selector,
      families: familiesOf(spec),
      headless: spec.clusterIP === 'None',
      publishNotReady: spec.publishNotReadyAddresses === true,
      ports: list(spec.ports).flatMap((port) => servicePort(record(port))),
    },
  };
}

/**
 * The families that the Service states, or else that of its address, or else both (a headless Service of an
 * API server that fills in no defaults).
 */
function familiesOf({ ipFamilies, clusterIP }: Fields): IpFamily[] {
  const said = texts(list(ipFamilies)).filter((one): one is IpFamily => one === 'IPv4' || one === 'IPv6');
  if (said.length > 0) return [...new Set(said)];
  const address = typeof clusterIP === 'string' ? parseAddress(clusterIP) : undefined;
  return address === undefined ? ['IPv4', 'IPv6'] : [address.family];
}

function servicePort({ name, port, protocol, appProtocol, targetPort }: Fields) {
  if (typeof port !== 'number') return [];
  const target = typeof targetPort === 'string' || typeof targetPort === 'number' ? targetPort : port;
  return [
    {
      name: typeof name === 'string' ? name : '',
      protocol: typeof protocol === 'string' && protocol !== '' ? protocol : 'TCP',
      appProtocol: typeof appProtocol === 'string' ? appProtocol : null,
      // The API server fills in the port for an absent target; some write 0 or '' for absent.
      target: target === 0 || target === '' ? port : target,
    },
  ];
}

/**
 * The digest of any slice, for what the API server answers to a write.
 * @throws OrreryError INVARIANT if it has no uid or no resourceVersion
 */
export function sliceDigest(object: KubeObject): EndpointSliceDigest {
  return { kind: 'endpointslices', ...digestBase(object), ...slicePart(object) };
}

/** The Service of a slice, and its content if it is ours or another controller's for external workloads. */
export function slicePart(object: KubeObject): DigestPart<EndpointSliceDigest> {
  const labels = textMap(object.metadata.labels);
  const service = labels[serviceNameLabel] ?? '';
  const writer = labels[managedByLabel];
  const annotations = textMap(object.metadata.annotations);
  if (writer === managedBy)
    return { service, annotations, managed: contentOf(object), ...editorOf(object.metadata) };
  if (!otherWriters.some((one) => one === writer) || writer === undefined) return { service };
  return { service, annotations, foreign: { writer, content: contentOf(object) } };
}

/** Whoever changes a field is its manager, until we revert it. */
function editorOf({ managedFields = [] }: KubeObject['metadata']): Pick<EndpointSliceDigest, 'editor'> {
  const [last] = managedFields
    .filter(({ manager, fieldsV1 }) => manager !== ownManager && isOursToWrite(record(fieldsV1)))
    .sort((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1));
  return last?.manager === undefined ? {} : { editor: last.manager };
}

function isOursToWrite(fields: Fields): boolean {
  const metadata = record(fields['f:metadata']);
  return (
    'f:endpoints' in fields ||
    'f:ports' in fields ||
    'f:labels' in metadata ||
    'f:ownerReferences' in metadata
  );
}

function contentOf(object: KubeObject): SliceContent {
  return {
    addressType: typeof object.addressType === 'string' ? object.addressType : '',
    ports: list(object.ports).map((port) => withoutNulls(port) as SlicePort),
    endpoints: list(object.endpoints).map((endpoint) => withoutNulls(endpoint) as SliceEndpoint),
    ownerReferences: list(object.metadata.ownerReferences).map(record),
  };
}

/** Go programs write null for an absent value. */
function withoutNulls(value: unknown): Fields {
  const fields = Object.entries(record(value)).filter(([, field]) => field !== null);
  const read = Object.fromEntries(fields) as Fields & { addresses?: unknown; conditions?: unknown };
  return 'addresses' in read
    ? { ...read, addresses: texts(list(read.addresses)), conditions: record(read.conditions) }
    : read;
}
