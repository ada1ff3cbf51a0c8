/**
 * Computes what the EndpointSlices of a Service must contain, from the Service and the workloads that its
 * selector matches. Pure.
 *
 * The rules are those of Kubernetes' own EndpointSlice controller for Pods, applied to ExternalWorkloads. A
 * workload with an address that cannot be published is left out completely, because publishing part of it
 * would send clients to the wrong place. Absent: which slice contains which endpoint (pack.ts).
 */

import type { IpFamily } from '../../../base/address.ts';
import type { Labels } from '../../../base/digests.ts';
import type {
  SelectingService,
  ServiceDigest,
  SliceEndpoint,
  SlicePort,
  WorkloadDigest,
} from '../digests.ts';
import {
  headlessLabel,
  managedBy,
  managedByLabel,
  reservedLabels,
  serviceNameLabel,
  zoneLabel,
} from '../slice-labels.ts';
import type { SliceGroup, WantedSlices } from './slices.ts';

/** A workload by name, as the world holds it. */
export interface NamedWorkload {
  readonly namespace: string;
  readonly name: string;
  readonly digest: WorkloadDigest;
}

/** @param workloads those that the Service's selector matches */
export function wantedSlices(
  name: string,
  service: ServiceDigest,
  workloads: readonly NamedWorkload[],
): WantedSlices {
  const { selecting } = service;
  return {
    labels: labelsOf(name, service),
    owner: { name, uid: service.uid },
    families: selecting?.families ?? [],
    groups: selecting === undefined ? [] : groupsOf(selecting, workloads),
    mayCreate: !service.deleting,
  };
}

function groupsOf(service: SelectingService, workloads: readonly NamedWorkload[]): SliceGroup[] {
  const groups = new Map<string, SliceGroup & { readonly endpoints: SliceEndpoint[] }>();
  const valid = workloads.filter(({ digest }) => digest.invalid.length === 0);
  for (const workload of valid.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const ports = portsFor(service, workload.digest);
    // In the Service's order for every workload, so equal sets have equal texts.
    const portsHere = JSON.stringify(ports);
    for (const family of service.families) {
      const endpoint = endpointOf(service, workload, family);
      if (endpoint === null) continue;
      const key = `${family}/${portsHere}`;
      const group = groups.get(key) ?? { family, ports, endpoints: [] };
      group.endpoints.push(endpoint);
      groups.set(key, group);
    }
  }
  return [...groups.values()];
}

/** The Service's own labels, except those that identify a slice, and ours. */
function labelsOf(name: string, { labels, selecting }: ServiceDigest): Labels {
  const own = Object.entries(labels).filter(([key]) => !reservedLabels.includes(key));
  return {
    ...Object.fromEntries(own),
    [serviceNameLabel]: name,
    [managedByLabel]: managedBy,
    ...(selecting?.headless ? { [headlessLabel]: '' } : {}),
  };
}

/**
 * A string names a port of the workload, a number is the port itself. A port that the workload lacks is left
 * out.
 */
function portsFor({ ports }: SelectingService, workload: WorkloadDigest): SlicePort[] {
  return ports.flatMap(({ name, protocol, appProtocol, target }) => {
    const found = workload.ports.find(
      (port) => port.protocol === protocol && (typeof target === 'string' ? port.name : port.port) === target,
    );
    if (found === undefined) return [];
    return [{ name, protocol, port: found.port, ...(appProtocol === null ? {} : { appProtocol }) }];
  });
}

function endpointOf(
  service: SelectingService,
  { namespace, name, digest }: NamedWorkload,
  family: IpFamily,
): SliceEndpoint | null {
  const addresses = digest.addresses.filter((one) => one.family === family).map(({ ip }) => ip);
  if (addresses.length === 0) return null;
  const serving = digest.ready === 'True';
  const zone = digest.labels[zoneLabel];
  return {
    addresses,
    conditions: {
      ready: service.publishNotReady || (serving && !digest.deleting),
      serving,
      terminating: digest.deleting,
    },
    ...(service.headless && isDnsLabel(name) ? { hostname: name } : {}),
    targetRef: { kind: 'ExternalWorkload', namespace, name, uid: digest.uid },
    ...(zone ? { zone } : {}),
  };
}

/** RFC 1123: what a hostname in a slice must be. */
export function isDnsLabel(name: string): boolean {
  return name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name);
}
