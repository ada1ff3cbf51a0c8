/**
 * What is created for a challenge, for the authority to see: a DNS record, an Ingress, a route.
 *
 * The domain's record notes it completely before it is created. So the next owner can remove it without
 * asking the Issuer, which may be another one by then (docs/features/certificates.md §4.6). Nothing in it is
 * secret: keys are named by their Secrets.
 */
/** A TXT record. */
interface TextRecord {
  /** Without a trailing dot. */
  readonly fqdn: string;
  readonly value: string;
}

/** Published by a webhook of the operator. */
export interface WebhookExhibit extends TextRecord {
  readonly kind: 'webhook';
  readonly url: string;
}

/** Published by a solver written for cert-manager. */
export interface SolverExhibit extends TextRecord {
  readonly kind: 'solver';
  readonly groupName: string;
  readonly solverName: string;
  /** As in the Issuer. */
  readonly config: unknown;
  /** The namespace in which the configuration's references are resolved. */
  readonly namespace: string;
  /** The requested host. */
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

/** A Kubernetes object that routes a host's challenge path to Orrery. */
interface RouteObject {
  readonly host: string;
  readonly name: string;
  /** Orrery's Service. */
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** The Issuer, its owner for garbage collection. */
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
