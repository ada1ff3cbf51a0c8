/** Present and desired slices, for tests of the packing; and the API server that accepts the writes. */

import type { IpFamily } from '../../../src/base/address.ts';
import type { SliceEndpoint } from '../../../src/features/endpoints/digests.ts';
import type { PlannedWrite } from '../../../src/features/endpoints/packing/order.ts';
import { type PackOptions, pack } from '../../../src/features/endpoints/packing/pack.ts';
import {
  ownerReferences,
  type SliceFrame,
  type StandingSlice,
  type WantedSlices,
} from '../../../src/features/endpoints/packing/slices.ts';

const owner = { name: 'web', uid: 'service-uid' };
export const frame: SliceFrame = { owner, labels: { look: 'one' } };

const families = { v4: 'IPv4', v6: 'IPv6' } as const;

/** Workload `n` with one address. */
export function endpoint(n: number, family: IpFamily = 'IPv4', ready = true): SliceEndpoint {
  return {
    addresses: [family === 'IPv4' ? `10.0.${n >> 8}.${n & 255}` : `fd00::${n.toString(16)}`],
    conditions: { ready, serving: ready, terminating: false },
    targetRef: { kind: 'ExternalWorkload', namespace: 'shop', name: `vm-${n}`, uid: `uid-${n}` },
  };
}

const ports = (name: string) => [{ name, protocol: 'TCP', port: 80 }];

export function wanted(
  groups: ReadonlyArray<readonly [family: 'v4' | 'v6', port: string, workloads: readonly number[]]>,
  options: { families?: readonly IpFamily[]; mayCreate?: boolean; changed?: readonly number[] } = {},
): WantedSlices {
  return {
    ...frame,
    families: options.families ?? ['IPv4', 'IPv6'],
    mayCreate: options.mayCreate ?? true,
    groups: groups.map(([family, port, workloads]) => ({
      family: families[family],
      ports: ports(port),
      endpoints: workloads.map((n) => endpoint(n, families[family], !options.changed?.includes(n))),
    })),
  };
}

export function slice(name: string, port: string, workloads: readonly number[]): StandingSlice {
  return {
    name,
    uid: `${name}-uid`,
    resourceVersion: '1',
    labels: frame.labels,
    content: {
      addressType: 'IPv4',
      ports: ports(port),
      endpoints: workloads.map((n) => endpoint(n)),
      ownerReferences: ownerReferences(frame),
    },
  };
}

/**
 * The slices that result from the writes.
 * @param salt makes the names of new ones differ
 */
export function apply(
  standing: readonly StandingSlice[],
  writes: readonly PlannedWrite[],
  salt = 0,
  labels: StandingSlice['labels'] | null = null,
): StandingSlice[] {
  const slices = new Map(standing.map((one) => [one.name, one]));
  for (const [at, write] of writes.entries()) {
    if (write.operation === 'delete') {
      slices.delete(write.slice.name);
      continue;
    }
    const name = write.operation === 'update' ? write.slice.name : `new-${salt}-${at}-${slices.size}`;
    const { addressType, ports: written, endpoints } = write;
    slices.set(name, {
      name,
      uid: `${name}-uid`,
      resourceVersion: '1',
      labels: labels ?? frame.labels,
      content: { addressType, ports: written, endpoints, ownerReferences: ownerReferences(frame) },
    });
  }
  return [...slices.values()];
}

export function standingOf(next: WantedSlices, options: PackOptions): StandingSlice[] {
  return apply([], pack(next, [], options).writes);
}

export function sizesOf(slices: readonly StandingSlice[]): number[] {
  return slices.map(({ content }) => content.endpoints.length).sort((a, b) => b - a);
}
