/**
 * The types for planning EndpointSlices: the content of a slice, and the comparison of two.
 *
 * Everything is plain JSON in the form of discovery.k8s.io/v1; fields that others added to a slice are kept
 * as read, so that they show as a difference.
 */

import type { IpFamily } from '../../../base/address.ts';
import type { Labels } from '../../../base/digests.ts';
import type { SliceContent, SliceEndpoint, SlicePort } from '../digests.ts';

/** What all slices of a Service have in common. */
export interface SliceFrame {
  readonly labels: Labels;
  readonly owner: { readonly name: string; readonly uid: string };
}

/** Endpoints with the same ports in one family, which may share a slice. */
export interface SliceGroup {
  readonly family: IpFamily;
  readonly ports: readonly SlicePort[];
  /** In the order of the workloads' names, one for each workload. */
  readonly endpoints: readonly SliceEndpoint[];
}

/** What the slices of a Service must contain. */
export interface WantedSlices extends SliceFrame {
  readonly families: readonly IpFamily[];
  readonly groups: readonly SliceGroup[];
  /** false: the Service is being deleted; its slices go with it, and none is created. */
  readonly mayCreate: boolean;
}

/** A slice of ours as it is now. */
export interface StandingSlice {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Labels;
  /** Absent: not known. */
  readonly annotations?: Labels | undefined;
  /** Who else last wrote something in it that is ours to write. */
  readonly editor?: string | undefined;
  readonly content: SliceContent;
}

/** The uid of the workload that an endpoint represents; '' if it represents none. */
export function workloadOf({ targetRef }: SliceEndpoint): string {
  const uid = targetRef?.uid;
  return typeof uid === 'string' ? uid : '';
}

/** JSON with its keys in order: equal values have equal texts. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${canonical(item)}`;
    return `[${text}]`;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(fields).sort()) {
    const field = fields[key];
    if (field !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonical(field)}`;
  }
  return `{${text}}`;
}

const texts = new WeakMap<object, string>();

/** The canonical text of a value that does not change; computed once for each. */
export function textOf(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = canonical(value);
  texts.set(value, text);
  return text;
}

/** The ports in one order, so that equal sets have equal texts. */
export function portsText(ports: readonly SlicePort[]): string {
  return ports
    .map((port) => textOf(port))
    .sort()
    .join();
}

export function ownerReferences({ owner }: SliceFrame): SliceContent['ownerReferences'] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      name: owner.name,
      uid: owner.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ];
}

/** A slice being planned. */
export interface Bin {
  /** null: a new slice. */
  readonly slice: StandingSlice | null;
  readonly family: IpFamily;
  group: SliceGroup | null;
  endpoints: readonly SliceEndpoint[];
}
