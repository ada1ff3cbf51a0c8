/**
 * From the desired content of a Service's slices and the present slices to the writes that turn one into the
 * other. Pure.
 *
 * Few writes, in this order of preference: an endpoint stays where it is. One without a slice goes into
 * slices that are written anyway, the fullest first (a slice that has become empty is filled again under its
 * name instead of being deleted), then into the fullest slice that has room for all, then into new slices. If
 * the ports of all endpoints of a slice change in the same way, the slice stays and its ports change. Slices
 * of which half are written anyway become half as many if that is enough; of which all are, as few as can be.
 * If nothing changes, nothing is written.
 *
 * Promises: no slice has more than `max` endpoints; an endpoint is in one slice of its family; an endpoint
 * that moves can be written in an order in which it is never absent (order.ts).
 */

import type { IpFamily } from '../../../base/address.ts';
import { equal } from '../../../base/equal.ts';
import type { SliceEndpoint } from '../digests.ts';
import { inOrder, type PlannedWrite } from './order.ts';
import type { Bin } from './slices.ts';
import {
  ownerReferences,
  portsText,
  type SliceGroup,
  type StandingSlice,
  type WantedSlices,
  workloadOf,
} from './slices.ts';

export interface PackOptions {
  /** The most endpoints in one slice. */
  readonly max: number;
  /** Empties slices if half as many can hold the endpoints. */
  readonly compact: boolean;
}

export interface Plan {
  readonly writes: readonly PlannedWrite[];
  /** Half as many slices could hold the endpoints of some group. */
  readonly compactable: boolean;
}

export function pack(wanted: WantedSlices, standing: readonly StandingSlice[], options: PackOptions): Plan {
  const families: readonly string[] = wanted.families;
  const usable = standing.filter(
    (slice) => families.includes(slice.content.addressType) && !isOfAnother(wanted, slice),
  );
  const surplus = standing.filter((slice) => !usable.includes(slice));
  const packed = wanted.families.map((family) => packFamily(wanted, family, usable, options));
  const bins = packed.flatMap((one) => one.bins);
  const kept = wanted.mayCreate ? bins : bins.filter(({ slice }) => slice !== null);
  return {
    writes: inOrder(kept, surplus, {
      isChanged: (bin) => isChanged(wanted, bin),
      ...{ max: options.max, labels: wanted.labels },
    }),
    compactable: packed.some((one) => one.compactable),
  };
}

/** Whether the slice belongs to an earlier Service of that name. */
function isOfAnother({ owner }: WantedSlices, { content }: StandingSlice): boolean {
  const owners = content.ownerReferences.filter(({ kind }) => kind === 'Service');
  return owners.length > 0 && owners.every(({ uid }) => uid !== owner.uid);
}

function packFamily(
  wanted: WantedSlices,
  family: IpFamily,
  standing: readonly StandingSlice[],
  options: PackOptions,
) {
  const groups = wanted.groups.filter((group) => group.family === family);
  const bins = settle(groups, family, standing, options.max);
  const placed = new Set(bins.flatMap(({ endpoints }) => endpoints.map(workloadOf)));
  const homeless = groups
    .map((group) => ({
      group,
      endpoints: group.endpoints.filter((one) => !placed.has(workloadOf(one))),
    }))
    .filter(({ endpoints }) => endpoints.length > 0)
    // The group that needs most room chooses first among the slices that became empty.
    .sort((a, b) => b.endpoints.length - a.endpoints.length);
  for (const { group, endpoints } of homeless) {
    const fill = createFill(bins, group, endpoints, options.max);
    fill.changed((bin) => isChanged(wanted, bin));
    fill.empty();
    fill.fullestOrNew();
  }
  const compactable = groups.filter((group) => isCompactable(bins, group, options.max));
  // Where half of the slices are written anyway, this costs less than to write all of them later. Where all
  // are, fewer slices cost nothing: deletes replace updates.
  const isCheap = (group: SliceGroup) => {
    const held = bins.filter((bin) => bin.group === group);
    const changed = held.filter((bin) => isChanged(wanted, bin));
    if (compactable.includes(group)) return 2 * changed.length >= held.length;
    return changed.length === held.length && held.every(({ slice }) => slice !== null);
  };
  const now = groups.filter((group) => (options.compact && compactable.includes(group)) || isCheap(group));
  for (const group of now) compact(bins, group, options.max);
  return { bins, compactable: compactable.some((group) => !now.includes(group)) };
}

/**
 * Leaves endpoints where they are: first in slices that have their ports, then in slices whose ports change
 * with theirs.
 */
function settle(
  groups: readonly SliceGroup[],
  family: IpFamily,
  standing: readonly StandingSlice[],
  max: number,
): Bin[] {
  const wantedBy = new Map<string, { readonly group: SliceGroup; readonly endpoint: SliceEndpoint }>();
  for (const group of groups)
    for (const endpoint of group.endpoints) wantedBy.set(workloadOf(endpoint), { group, endpoint });
  const bins: Bin[] = standing
    .filter(({ content }) => content.addressType === family)
    .sort(byFullness)
    .map((slice) => ({ slice, family, group: null, endpoints: [] }));
  const claim = (bin: Bin, group: SliceGroup) => {
    const found = (bin.slice?.content.endpoints ?? []).flatMap((one) => {
      const claimed = wantedBy.get(workloadOf(one));
      return claimed?.group === group ? [claimed.endpoint] : [];
    });
    const kept = [...new Set(found)].slice(0, max);
    if (kept.length === 0) return;
    for (const endpoint of kept) wantedBy.delete(workloadOf(endpoint));
    bin.group = group;
    bin.endpoints = kept;
  };
  const byPorts = new Map(groups.map((group) => [portsText(group.ports), group]));
  for (const bin of bins) {
    const group = byPorts.get(portsText(bin.slice?.content.ports ?? []));
    if (group !== undefined) claim(bin, group);
  }
  for (const bin of bins) {
    if (bin.group !== null) continue;
    const groupsHere = (bin.slice?.content.endpoints ?? []).map(
      (one) => wantedBy.get(workloadOf(one))?.group,
    );
    const group = mostFrequent(groupsHere);
    if (group !== undefined) claim(bin, group);
  }
  return bins;
}

function byFullness(a: StandingSlice, b: StandingSlice): number {
  return b.content.endpoints.length - a.content.endpoints.length || (a.name < b.name ? -1 : 1);
}

function mostFrequent<T>(values: readonly (T | undefined)[]): T | undefined {
  const counts = new Map<T, number>();
  for (const value of values) if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

function createFill(bins: Bin[], group: SliceGroup, homeless: readonly SliceEndpoint[], max: number) {
  let rest = homeless;
  const put = (bin: Bin) => {
    const room = max - bin.endpoints.length;
    bin.group = group;
    bin.endpoints = [...bin.endpoints, ...rest.slice(0, room)];
    rest = rest.slice(room);
  };
  const fullestFirst = (list: readonly Bin[]) =>
    [...list].sort((a, b) => b.endpoints.length - a.endpoints.length);
  const ofGroup = () => fullestFirst(bins.filter((bin) => bin.group === group && bin.endpoints.length < max));
  return {
    /** Into slices that are written anyway. */
    changed(isChangedBin: (bin: Bin) => boolean) {
      for (const bin of ofGroup().filter(isChangedBin)) if (rest.length > 0) put(bin);
    },
    /** Into slices that have become empty: one write instead of a delete and a create. */
    empty() {
      for (const bin of bins.filter((one) => one.group === null)) if (rest.length > 0) put(bin);
    },
    fullestOrNew() {
      while (rest.length > 0) {
        const fitting = ofGroup().find(({ endpoints }) => endpoints.length + rest.length <= max);
        if (fitting) put(fitting);
        else {
          const bin: Bin = { slice: null, family: group.family, group, endpoints: [] };
          bins.push(bin);
          put(bin);
        }
      }
    },
  };
}

function isCompactable(bins: readonly Bin[], group: SliceGroup, max: number): boolean {
  const held = bins.filter((bin) => bin.group === group).length;
  return held > 1 && 2 * Math.ceil(group.endpoints.length / max) <= held;
}

/** Keeps the fullest slices, as many as are needed, and empties the others. */
function compact(bins: Bin[], group: SliceGroup, max: number): void {
  const held = bins
    .filter((bin) => bin.group === group)
    .sort((a, b) => b.endpoints.length - a.endpoints.length);
  const keepers = held.slice(0, Math.ceil(group.endpoints.length / max));
  let moving = held.slice(keepers.length).flatMap(({ endpoints }) => endpoints);
  for (const bin of held.slice(keepers.length)) {
    bin.group = null;
    bin.endpoints = [];
  }
  for (const keeper of keepers) {
    const room = max - keeper.endpoints.length;
    keeper.endpoints = [...keeper.endpoints, ...moving.slice(0, room)];
    moving = moving.slice(room);
  }
}

function isChanged(wanted: WantedSlices, { slice, group, endpoints }: Bin): boolean {
  if (slice === null || group === null) return true;
  const { content, labels } = slice;
  return (
    portsText(group.ports) !== portsText(content.ports) ||
    !equal(endpoints, content.endpoints) ||
    !equal(wanted.labels, labels) ||
    !equal(ownerReferences(wanted), content.ownerReferences)
  );
}
