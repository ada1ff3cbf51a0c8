/**
 * What is put somewhere for a challenge, so that the authority sees it: a record in DNS, an Ingress, a route.
 *
 * It is noted in the domain's record before it is made, whole, so that whoever owns the domain next can take
 * it away without asking the Issuer, which may be another one by then (docs/features/certificates.md §4.6).
 * Nothing in it is secret: keys are named by the Secrets that hold them.
 */
import type { DomainContext, DomainInput } from './domain-context.ts';

/** A record of type TXT. */
interface TextRecord {
  /** Without a dot at the end. */
  readonly fqdn: string;
  readonly value: string;
}

/** Published by a program of the operator's own. */
export interface WebhookExhibit extends TextRecord {
  readonly kind: 'webhook';
  readonly url: string;
}

/** Published by a solver that was written for cert-manager. */
export interface SolverExhibit extends TextRecord {
  readonly kind: 'solver';
  readonly groupName: string;
  readonly solverName: string;
  /** As it stands in the Issuer. */
  readonly config: unknown;
  /** Where what the configuration names is looked for. */
  readonly namespace: string;
  /** The host as it was asked for. */
  readonly dnsName: string;
  readonly zone: string;
}

/** Published by a dynamic update (RFC 2136). */
export interface UpdateExhibit extends TextRecord {
  readonly kind: 'rfc2136';
  /** `host:port` */
  readonly server: string;
  readonly zone: string;
  readonly keyName: string;
  readonly algorithm: string;
  readonly secretRef: { readonly namespace: string; readonly name: string; readonly key: string };
}

/** An object of Kubernetes that leads the path of the challenges of a host to Orrery. */
interface RouteObject {
  readonly host: string;
  readonly name: string;
  /** Orrery's Service. */
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** The Issuer, with which it goes. */
  readonly owner: { readonly name: string; readonly uid: string };
}

export interface IngressExhibit extends RouteObject {
  readonly kind: 'ingress';
  readonly className: string | null;
}

export interface GatewayExhibit extends RouteObject {
  readonly kind: 'gateway';
  readonly parentRefs: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

export type DnsExhibit = WebhookExhibit | SolverExhibit | UpdateExhibit;
export type Exhibit = DnsExhibit | IngressExhibit | GatewayExhibit;

/** Whether an attempt has something to be noted: an answer over HTTP alone goes by itself. */
export const isNoted = ({ facts }: DomainContext) =>
  facts?.issuer?.challenge === 'dns01' || facts?.issuer?.exhibits === true;

/** Left-overs of one domain; the oldest beyond it are given up. */
const leftoversMax = 8;
/** Attempts to take left-overs away: with the pauses below, over five hours. */
export const sweepsMax = 12;

const minuteMs = 60_000;
/** 30 s doubling to an hour. */
export const sweepPauseMs = ({ sweeps }: DomainContext) =>
  Math.min((minuteMs / 2) * 2 ** Math.min(Math.max(0, sweeps - 1), 10), 60 * minuteMs);

const textOf = (exhibit: Exhibit) => JSON.stringify(Object.entries(exhibit).sort());

/** Without those of the other list. */
function without(all: readonly Exhibit[], others: readonly Exhibit[]): readonly Exhibit[] {
  const gone = new Set(others.map(textOf));
  return all.filter((one) => !gone.has(textOf(one)));
}

type Change = Partial<DomainContext>;

interface Moment {
  readonly context: DomainContext;
  readonly event: DomainInput;
}

/** What will be shown, before it is made. */
export function planned({ context, event }: Moment): Change {
  if (event.type !== 'challenge.planned') return {};
  const { exhibit } = event;
  const leftovers = exhibit === null ? context.leftovers : without(context.leftovers, [exhibit]);
  return { showing: exhibit, leftovers };
}

/** What is left when the showing ends: everything, unless who showed it says that it is gone. */
export function ended({ context, event }: Moment): Change {
  const { showing, leftovers } = context;
  if (showing === null) return {};
  const isGone =
    (event.type === 'order.authorized' || event.type === 'acquisition.failed') &&
    event.attempt === context.attempt &&
    event.removed === true;
  if (isGone) return { showing: null };
  return {
    showing: null,
    sweeps: 0,
    leftovers: [...without(leftovers, [showing]), showing].slice(-leftoversMax),
  };
}

/** What is left after somebody tried to take it away. */
export function swept({ context, event }: Moment): Change {
  if (event.type !== 'challenge.cleared') return {};
  const leftovers = without(context.leftovers, event.removed);
  return { leftovers, sweeps: leftovers.length === 0 ? 0 : context.sweeps + 1 };
}

/** Whether nothing is left after this. */
export const isSwept = (moment: Moment) => (swept(moment).leftovers ?? []).length === 0;
/** Whether it was tried often enough. */
export const isGivenUp = (moment: Moment) => (swept(moment).sweeps ?? 0) >= sweepsMax;

/** Where something was put, for people. */
export function placeText(exhibit: Exhibit): string {
  switch (exhibit.kind) {
    case 'ingress':
      return `Ingress ${exhibit.service.namespace}/${exhibit.name}`;
    case 'gateway':
      return `HTTPRoute ${exhibit.service.namespace}/${exhibit.name}`;
    default:
      return `TXT record ${exhibit.fqdn} "${exhibit.value}"`;
  }
}

/** What of a domain is still to be taken away; empty: nothing. */
export function leftoversText({ leftovers }: DomainContext): string {
  return leftovers.map(placeText).join(', ');
}
