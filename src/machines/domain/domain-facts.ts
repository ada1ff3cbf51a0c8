/**
 * What the charts of certificates are told: facts of a domain and of an Issuer, and the public part of a
 * certificate.
 *
 * A domain's facts name its Issuer and what the chart decides by; servers, authorities and the names of
 * Secrets that hold keys are looked up by the effects, so that a hundred thousand records stay small. Nothing
 * in this file is secret (I9).
 */

/** Where a certificate is to be stored. */
export interface Target {
  readonly namespace: string;
  readonly secretName: string;
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
  /** The Secret that it names; absent: the one that the host has by default. */
  readonly secretName?: string;
}

/** A Secret that was asked for and holds, or was promised, the certificate of another host. */
export interface TakenTarget extends Target {
  /** Whose it is. */
  readonly by: string;
}

export interface DomainIssuer {
  readonly name: string;
  /** `<uid>/<generation>`: changes with each change of the specification. */
  readonly version: string;
  readonly kind: 'acme' | 'ca';
  readonly challenge: 'http01' | 'dns01' | null;
  /** Over HTTP, and something is made in Kubernetes for it. Absent: nothing is. */
  readonly exhibits?: true;
}

/** Of a fingerprint, in facts: enough to see that it is another one. */
export const fingerprintChars = 16;

/** A host as one of the namespaces that ask for it would have it: docs/features/certificates.md §2. */
export interface DomainFacts {
  /** The namespace whose objects decide. */
  readonly owner: string;
  /** Those of the owner and of the namespaces that it shares with; the owner's first, then oldest first. */
  readonly sources: readonly DomainSource[];
  /** Those of other namespaces: they receive no key and decide nothing. */
  readonly refused: readonly DomainSource[];
  /** One for each distinct Secret that the sources name, in their order. */
  readonly targets: readonly Target[];
  /** Secrets that the sources name and that are another host's. */
  readonly taken: readonly TakenTarget[];
  readonly issuer: DomainIssuer | null;
  /** For people, why there is no Issuer; empty if there is one. */
  readonly issuerMissing: string;
  /** The domain that an authority counts its limits by (public suffix and one label). */
  readonly registered: string;
  /**
   * What the world shows of each target, in their order: the first 16 digits of the certificate's
   * fingerprint; null: the Secret is not there, or what it holds is broken.
   */
  readonly stored: ReadonlyArray<string | null>;
}

/** The public part of a certificate. Times in ms since the epoch. */
export interface CertificateFacts {
  /** The first 32 hexadecimal digits of its SHA-256: a record is small, and 128 bits tell any two apart. */
  readonly fingerprint: string;
  readonly notBefore: number;
  readonly notAfter: number;
  /** Names the certificate to the authority's renewal information (RFC 9773); null if it cannot be named. */
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
  /** Why the specification cannot be used; null if it can. */
  readonly invalid: string | null;
  /** null: no limits. */
  readonly budget: IssuerBudget | null;
}
