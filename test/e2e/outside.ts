/**
 * Services and workloads outside the cluster on an API server, and what their slices say: words for the
 * whole-path tests of endpoints.
 */

import { namespaces } from '../../packages/dev-cluster/resources.ts';
import { OrreryError } from '../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../src/base/kube-port.ts';
import { externalWorkloads } from '../../src/features/endpoints/resources.ts';
import { managedBy, managedByLabel, serviceNameLabel } from '../../src/features/endpoints/slice-labels.ts';
import { endpointSlices, services } from '../../src/kube/api/resources.ts';
import { until } from '../until.ts';

export interface SliceObject extends KubeObject {
  readonly addressType: string;
  readonly endpoints: ReadonlyArray<{
    readonly addresses: readonly string[];
    readonly conditions: {
      readonly ready: boolean;
      readonly serving: boolean;
      readonly terminating: boolean;
    };
    readonly hostname?: string;
    readonly zone?: string;
    readonly targetRef: { readonly kind: string; readonly name: string; readonly uid: string };
  }> | null;
  readonly ports: ReadonlyArray<Readonly<Record<string, unknown>>> | null;
}

export interface WorkloadOptions {
  readonly ips: readonly string[];
  readonly ready?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ports?: ReadonlyArray<{
    readonly name?: string;
    readonly port: number;
    readonly protocol?: string;
  }>;
}

export class Outside {
  readonly kube: KubePort;
  readonly namespace: string;
  readonly #signal = new AbortController().signal;

  constructor(kube: KubePort, namespace: string) {
    this.kube = kube;
    this.namespace = namespace;
  }

  async begin(): Promise<void> {
    await this.kube.create(namespaces, { metadata: { name: this.namespace } }, this.#signal);
  }

  async end(): Promise<void> {
    await this.kube.delete(namespaces, undefined, this.namespace, {}, this.#signal).catch(() => {});
  }

  service(name: string, spec: object, labels: Readonly<Record<string, string>> = {}): Promise<KubeObject> {
    const metadata = { name, namespace: this.namespace, labels };
    return this.kube.create(services, { metadata, spec }, this.#signal);
  }

  async workload(name: string, options: WorkloadOptions): Promise<KubeObject> {
    const { ips, ready = true, labels = { app: 'vm' }, annotations = {} } = options;
    const spec = {
      meshTLS: { identity: `spiffe://test/${name}`, serverName: `${name}.test` },
      workloadIPs: ips.map((ip) => ({ ip })),
      ports: options.ports ?? [{ name: 'http', port: 8080 }],
    };
    const metadata = { name, namespace: this.namespace, labels, annotations };
    const made = await this.kube.create(externalWorkloads, { metadata, spec }, this.#signal);
    return ready ? this.setReady(name, true) : made;
  }

  setReady(name: string, ready: boolean, at = new Date(Date.UTC(2026, 0, 1))): Promise<KubeObject> {
    const lastTransitionTime = at.toISOString().replace(/\.000Z$/, 'Z');
    const status = { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime }] };
    return this.kube.patch(
      externalWorkloads,
      { namespace: this.namespace, name, type: 'merge', subresource: 'status', body: { status } },
      this.#signal,
    );
  }

  change(kind: 'service' | 'workload' | 'slice', name: string, body: object): Promise<KubeObject> {
    return this.kube.patch(
      resourceOf(kind),
      { namespace: this.namespace, name, type: 'merge', body },
      this.#signal,
    );
  }

  remove(kind: 'service' | 'workload' | 'slice', name: string): Promise<void> {
    return this.kube.delete(resourceOf(kind), this.namespace, name, {}, this.#signal);
  }

  async get(kind: 'service' | 'workload' | 'slice', name: string): Promise<KubeObject | null> {
    try {
      return await this.kube.get(resourceOf(kind), this.namespace, name, this.#signal);
    } catch (thrown) {
      if (thrown instanceof OrreryError && thrown.code === 'KUBE_NOT_FOUND') return null;
      throw thrown;
    }
  }

  /** Our slices, of one Service or of all; those being deleted only on request. */
  async slices(service?: string, options: { readonly leaving?: boolean } = {}): Promise<SliceObject[]> {
    const labels = [`${managedByLabel}=${managedBy}`, ...(service ? [`${serviceNameLabel}=${service}`] : [])];
    const { items } = await this.kube.list(
      endpointSlices,
      { namespace: this.namespace, labelSelector: labels.join(',') },
      this.#signal,
    );
    const all = items as unknown as SliceObject[];
    return options.leaving ? all : all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Waits until the Service's slices are as `check` requires, and returns them. */
  async settled(
    service: string,
    what: string,
    check: (slices: readonly SliceObject[]) => boolean,
    timeoutMs = 30_000,
  ): Promise<SliceObject[]> {
    let last: SliceObject[] = [];
    try {
      return await until(
        async () => {
          last = await this.slices(service);
          return check(last) ? last : null;
        },
        { what, timeoutMs },
      );
    } catch (thrown) {
      throw new Error(`${what}; the slices are ${JSON.stringify(last.map(view), null, 1)}`, {
        cause: thrown,
      });
    }
  }
}

/** The visible content of a slice. */
export function view({ metadata, addressType, ports, endpoints }: SliceObject) {
  return {
    name: metadata.name,
    version: metadata.resourceVersion,
    addressType,
    ports,
    endpoints: endpoints?.map(({ addresses, conditions, targetRef }) => [
      targetRef?.name,
      addresses,
      conditions.ready,
    ]),
  };
}

/** Names of the workloads in the slices, sorted. */
export function namesIn(slices: readonly SliceObject[]): string[] {
  return slices.flatMap(({ endpoints }) => (endpoints ?? []).map(({ targetRef }) => targetRef.name)).sort();
}

export function versionsOf(slices: readonly SliceObject[]): Record<string, string | undefined> {
  return Object.fromEntries(slices.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

function resourceOf(kind: 'service' | 'workload' | 'slice') {
  return { service: services, workload: externalWorkloads, slice: endpointSlices }[kind];
}
