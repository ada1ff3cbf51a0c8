/** What a proxier remembers, and the pure decisions about it. */
import type { IpFamily } from '../../base/address.ts';
import type { ActorName } from '../../base/ids.ts';
import type { Circumstances } from '../chart.ts';
import { hasPassed, leftOf, type Stamp } from '../stamp.ts';
import { type FamilyHealth, isStale, queued, reported, startingFamily, updated } from './health-family.ts';
import type { ProxierEvent } from './proxier-events.ts';

export interface ProxierContext {
  /** A change that waits for this long makes its family late, milliseconds. */
  readonly timeoutMs: number;
  readonly families: Readonly<Record<IpFamily, FamilyHealth>>;
  /**
   * When the node was last heard, to the nearest ten minutes; kept only while the Node is not known to exist.
   */
  readonly heardAt: number | null;
}

export type Event = ProxierEvent & Stamp;
export type Args = { readonly context: ProxierContext; readonly event: Event };

/** kube-proxy's default. */
export const defaultTimeoutMs = 60_000;
/**
 * Messages of an unknown node keep its proxier for a day: long enough to find out why there is no such Node.
 */
export const unknownSilenceMs = 24 * 3_600_000;
/** A deleted Node may drain for some minutes; an hour after its last message the proxier ends. */
export const deletedSilenceMs = 3_600_000;
/** Signs of life are saved at most this often. */
export const heardEveryMs = 600_000;

/** A DNS name in lower case, as Kubernetes requires of a Node. */
const nodeName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/**
 * Proxiers of one shard, beyond which only those of Nodes come into being: names that somebody invents keep
 * no node out. All 64 shards have room for twice the largest clusters; a record takes about a kilobyte.
 */
const proxiersMax = 2_048;

/** Why a report may not create a proxier of this name; null: it may. */
export function refusedNode(
  { namespace, name }: ActorName,
  { alike, isInWorld }: Circumstances,
): string | null {
  if (namespace !== '_' || name.length > 253 || !nodeName.test(name))
    return 'no Node can have this name; name the proxier after its Node: proxier/_/<node>';
  return alike < proxiersMax || isInWorld
    ? null
    : `the shard already has ${alike} proxiers, the maximum for nodes without a Node object; one that is silent ends after a day`;
}

export function initialContext(timeoutMs = defaultTimeoutMs): ProxierContext {
  return { timeoutMs, families: { IPv4: startingFamily, IPv6: startingFamily }, heardAt: null };
}

/** When the reported change happened; never after the event was taken. */
export function happenedAt(event: Event): number {
  const told = 'happenedAt' in event ? event.happenedAt : undefined;
  return told === undefined ? event.at : Math.min(told, event.at);
}

export function withFamily(
  { families }: ProxierContext,
  family: IpFamily,
  health: FamilyHealth,
): Pick<ProxierContext, 'families'> {
  return { families: { ...families, [family]: health } };
}

export const afterQueued = ({ context, event }: Args, family: IpFamily) =>
  withFamily(context, family, queued(context.families[family], happenedAt(event)));

export const afterUpdated = ({ context, event }: Args, family: IpFamily) =>
  withFamily(context, family, updated(happenedAt(event), context.families[family]));

/** The family after the report, or unchanged. */
export function familyAfter({ context, event }: Args, family: IpFamily): FamilyHealth {
  const before = context.families[family];
  if (event.type !== 'proxier.reported' || event.family !== family) return before;
  return reported(before, event, { at: happenedAt(event), isTimed: event.isTimed === true });
}

/** About another family, or not newer than the last report. */
export function isNoNews({ context, event }: Args, family: IpFamily): boolean {
  if (event.type !== 'proxier.reported' || event.family !== family) return true;
  return isStale(context.families[family], event, happenedAt(event));
}

/** Time left until the family is late, milliseconds. */
export function untilLate({ context, event }: Args, family: IpFamily): number {
  const { pendingSince } = context.families[family];
  return leftOf(context.timeoutMs, pendingSince ?? event.at, event.at);
}

export function isSignOfLife({ context, event }: Args): boolean {
  return context.heardAt === null || hasPassed(heardEveryMs, context.heardAt, happenedAt(event));
}

/** The chart starts in a state with this deadline, before the first event and its time. */
export function untilSilent({ context, event }: Args, silenceMs: number): number {
  return context.heardAt === null ? silenceMs : leftOf(silenceMs, context.heardAt, event.at);
}

export function isSilent({ context, event }: Args, silenceMs: number): boolean {
  return event.at - (context.heardAt ?? event.at) >= silenceMs;
}
