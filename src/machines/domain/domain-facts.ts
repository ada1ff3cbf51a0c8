/**
 * The facts that the certificate charts are told: about a domain and an Issuer, and the public part of a
 * certificate.
 *
 * A domain's facts name its Issuer and contain what the chart decides by. Effects look up servers,
 * authorities and the names of Secrets with keys, so that a hundred thousand records stay small. Nothing in
 * this file is secret (I9).
 */

/** Where a certificate is to be stored. */
export interface Target {
  readonly namespace: string;
  readonly secretName: string;
  /** Another host, whose certificate it holds and for which nothing asks there any more; absent: none. */
  readonly former?: string;
}

/** An object that asks for the host. */
export interface DomainSource {
  readonly kind: 'Domain' | 'Service' | 'Ingress';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** The annotation `orrery.dev/renew` of a Domain; absent without it. */
  readonly renew?: string;
  /** The Secret that it names; absent: the host's default Secret. */
  readonly secretName?: string;
}

/** A requested Secret that contains, or was promised, the certificate of another host. */
export interface TakenTarget extends Target {
  /** The other host. */
  readonly by: string;
}

export interface DomainIssuer {
  readonly name: string;
  /** `<uid>/<generation>`: changes with each change of the specification. */
  readonly version: string;
  readonly kind: 'acme' | 'ca';
  readonly challenge: 'http01' | 'dns01' | null;
  /** Challenges are solved over HTTP by an object in Kubernetes. Absent: nothing is created. */
  readonly exhibits?: true;
}

/** A fingerprint as facts show it: enough to recognize another certificate. */
export const shownFingerprint = (fingerprint: string): string => fingerprint.slice(0, 16);

/** A host as one of the namespaces that ask for it wants it: docs/features/certificates.md §2. */
export interface DomainFacts {
  /** The namespace whose objects decide. */
  readonly owner: string;
  /**
   * The owner's sources and those of namespaces with which it shares the host; the owner's first, then oldest
   * first.
   */
  readonly sources: readonly DomainSource[];
  /** Sources of other namespaces: they receive no key and decide nothing. */
  readonly refused: readonly DomainSource[];
  /** One for each distinct Secret that the sources name, in their order. */
  readonly targets: readonly Target[];
  /** Secrets that the sources name and that belong to another host. */
  readonly taken: readonly TakenTarget[];
  readonly issuer: DomainIssuer | null;
  /** For people: why there is no Issuer; empty if there is one. */
  readonly issuerMissing: string;
  /** The domain by which an authority counts its limits (public suffix and one label). */
  readonly registered: string;
  /**
   * For each target, in order, the first 16 digits of the certificate's fingerprint in the world; null: the
   * Secret is missing, or its certificate is broken.
   */
  readonly stored: ReadonlyArray<string | null>;
}

/**
 * The same for a namespace that did not ask first: whom it refuses follows from the facts of the one that
 * did, so many of these fit into one observation.
 */
export type RivalFacts = Omit<DomainFacts, 'refused'>;

/** The most objects that are told that the host belongs to another namespace. */
export const refusedMax = 64;

/** The public part of a certificate. Times in ms since the epoch. */
export interface CertificateFacts {
  /** The first 32 hexadecimal digits of its SHA-256: short, and 128 bits distinguish any two. */
  readonly fingerprint: string;
  readonly notBefore: number;
  readonly notAfter: number;
  /** Its identifier in the authority's renewal information (RFC 9773); null if it has none. */
  readonly ariId: string | null;
}

export interface IssuerBudget {
  readonly ordersPer3h: number;
  readonly certificatesPerDomainPer7d: number;
  readonly duplicatesPer7d: number;
}

export interface IssuerFacts {
  readonly uid: string;
  readonly generation: number;
  readonly kind: 'acme' | 'ca';
  /** The authority's directory; absent in records of earlier releases and for a CA. */
  readonly server?: string;
  /** Why the specification is unusable; null if it is usable. */
  readonly invalid: string | null;
  /** null: no limits. */
  readonly budget: IssuerBudget | null;
}

/** Names of objects in Kubernetes have at most so many characters, as hosts have. */
const nameCharsMax = 253;
const wildcard = 'wildcard.';

/** The default name of a host's Secret; valid for wildcards, too: of a very long one the end. */
export function secretNameOf(host: string): string {
  if (!host.startsWith('*.')) return host;
  const end = host.slice(2).slice(-(nameCharsMax - wildcard.length));
  return `${wildcard}${end.replace(/^[^a-z0-9]+/, '')}`;
}
