/**
 * What is put somewhere for a challenge, so that the authority sees it: a record in DNS, an Ingress, a route.
 *
 * It is noted in the domain's record before it is made, whole, so that whoever owns the domain next can take
 * it away without asking the Issuer, which may be another one by then (docs/features/certificates.md §4.6).
 * Nothing in it is secret: keys are named by the Secrets that hold them.
 */
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
