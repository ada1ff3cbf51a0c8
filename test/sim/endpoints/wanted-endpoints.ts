/**
 * What the slices of the simulated Services must list, by the page's own rules and from the objects alone
 * (docs/features/endpoints.md §2). An endpoint is identified by its addresses, its readiness and its port.
 */
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { externalWorkloads } from '../../../src/features/endpoints/resources.ts';
import { managedBy, managedByLabel, serviceNameLabel } from '../../../src/features/endpoints/slice-labels.ts';
import { endpointSlices } from '../../../src/kube/api/resources.ts';
import type { SeenApi } from '../api/seen-api.ts';
import { namespace } from './endpoint-world.ts';
import { readyOf } from './probed-programs.ts';

interface ServiceSpec {
  readonly type?: string;
  readonly selector?: Readonly<Record<string, string>> | null;
  readonly ipFamilies: readonly string[];
  readonly publishNotReadyAddresses?: boolean;
  readonly clusterIP?: string;
  readonly ports: ReadonlyArray<{ readonly targetPort: string | number }>;
}
interface WorkloadSpec {
  readonly workloadIPs: ReadonlyArray<{ readonly ip: string }>;
  readonly ports: ReadonlyArray<{ readonly name: string; readonly port: number }>;
}
interface SliceFields {
  readonly addressType: string;
  readonly ports?: ReadonlyArray<{ readonly port?: number }> | null;
  readonly endpoints?: ReadonlyArray<{
    readonly addresses: readonly string[];
    readonly conditions?: { readonly ready?: boolean };
    readonly hostname?: string;
    readonly targetRef?: { readonly name?: string };
  }>;
}

export function matches(service: KubeObject, workload: KubeObject): boolean {
  const { selector, type } = service.spec as ServiceSpec;
  if (!selector || type === 'ExternalName') return false;
  return Object.entries(selector).every(([label, value]) => workload.metadata.labels?.[label] === value);
}

/** One that is being deleted gets no new slices, and those that it has go with it (§1.5). */
export const isLasting = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined;

const familyOf = (ip: string) => (ip.includes(':') ? 'IPv6' : 'IPv4');
const isBroken = ({ workloadIPs }: WorkloadSpec) => workloadIPs.some(({ ip }) => ip.startsWith('127.'));

export interface WantedEndpoint {
  readonly workload: KubeObject;
  readonly family: string;
  readonly ips: readonly string[];
  /** undefined: the workload has none that the Service names. */
  readonly port: number | undefined;
  readonly ready: boolean;
}

export const isHeadless = ({ spec }: KubeObject): boolean => (spec as ServiceSpec).clusterIP === 'None';

/** Those of one Service. */
export function endpointsOf(api: SeenApi, service: KubeObject): readonly WantedEndpoint[] {
  const { ipFamilies, publishNotReadyAddresses = false, ports } = service.spec as ServiceSpec;
  return api.all(externalWorkloads).flatMap((workload) => {
    const spec = workload.spec as WorkloadSpec;
    if (!matches(service, workload) || isBroken(spec)) return [];
    const isGoing = workload.metadata.deletionTimestamp !== undefined;
    const ready = publishNotReadyAddresses || (!isGoing && readyOf(workload) === 'True');
    const port = spec.ports.find(({ name, port }) => [name, port].includes(ports[0]?.targetPort ?? ''))?.port;
    return ipFamilies.flatMap((family) => {
      const ips = spec.workloadIPs.map(({ ip }) => ip).filter((ip) => familyOf(ip) === family);
      return ips.length === 0 ? [] : [{ workload, family, ips: ips.sort(), port, ready }];
    });
  });
}

/** The same as text, in order. */
export function wantedOf(api: SeenApi, service: KubeObject): readonly string[] {
  return endpointsOf(api, service)
    .map(({ workload: { metadata }, family, ips, port, ready }) => {
      const hostname = isHeadless(service) ? ` ${metadata.name}` : '';
      return `${metadata.name} ${family} ${ips.join()} ${port} ${ready}${hostname}`;
    })
    .sort();
}

/** The slices of a Service that one of these writes. */
export function slicesOf(
  api: SeenApi,
  service: string,
  writers: readonly string[] = [managedBy],
): readonly KubeObject[] {
  return api
    .all(endpointSlices)
    .filter(
      ({ metadata: { namespace: its, labels } }) =>
        its === namespace &&
        labels?.[serviceNameLabel] === service &&
        writers.includes(labels[managedByLabel] ?? ''),
    );
}

export function listedIn(slices: readonly KubeObject[]): readonly string[] {
  return slices
    .flatMap((slice) => {
      const { addressType, ports, endpoints } = slice as unknown as SliceFields;
      const port = ports?.[0]?.port;
      // The API shows an empty list as null.
      return (endpoints ?? []).map(
        ({ addresses, conditions, targetRef, hostname }) =>
          `${targetRef?.name} ${addressType} ${[...addresses].sort().join()} ${port} ${conditions?.ready}${hostname === undefined ? '' : ` ${hostname}`}`,
      );
    })
    .sort();
}
