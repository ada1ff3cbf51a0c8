/** The digests that certificates need in the world. Nothing in them is secret (I9). */
import type { DigestBase } from '../../base/digests.ts';
import type { Invalid } from '../../kube/api/spec-fields.ts';
import type { DomainSpec } from './domain-spec.ts';
import type { IssuerSpec } from './issuer-spec.ts';

export interface IssuerDigest extends DigestBase {
  readonly kind: 'issuers';
  readonly generation: number;
  readonly spec: IssuerSpec | Invalid;
  /** What its status says (saidIn); absent: mirrored by an earlier release. */
  readonly said?: string;
}

export interface DomainDigest extends DigestBase {
  readonly kind: 'domains';
  readonly generation: number;
  readonly spec: DomainSpec | Invalid;
  /** The annotation `orrery.dev/renew`; absent without it. */
  readonly renew?: string;
  /** It only shows the host of a Service or an Ingress, and asks for nothing. */
  readonly shown?: true;
  /** As for an Issuer. */
  readonly said?: string;
  /** For one that shows a host: the uids of its owners. */
  readonly owners?: readonly string[];
}

export interface ServiceDigest extends DigestBase {
  readonly kind: 'services';
  /** The hosts that the annotation `orrery.dev/serve` wants on port 443; absent without the annotation. */
  readonly serve?: ServeDigest;
}

export interface ServeDigest {
  readonly hosts: readonly string[];
  /**
   * Why the annotation is unreadable; the hosts are then those of the last readable one. null: it is
   * readable.
   */
  readonly invalid: string | null;
}

export interface IngressDigest extends DigestBase {
  readonly kind: 'ingresses';
  readonly generation: number;
  /** The annotation `orrery.dev/issuer`; null: the Ingress asks for nothing. */
  readonly issuer: string | null;
  readonly hosts: ReadonlyArray<{ readonly host: string; readonly secretName: string }>;
  /** Invalid host names, for people; null: none. */
  readonly invalid: string | null;
  /** Secrets of entries with several hosts, none of which is written; absent: none. */
  readonly unwritten?: readonly string[];
}

/** The public part of a Secret with our label. */
export interface SecretDigest extends DigestBase {
  readonly kind: 'secrets';
  /** The annotation `orrery.dev/host`. */
  readonly host: string;
  /** SHA-256 of the certificate; null: certificate or key are broken, or do not match. */
  readonly fingerprint: string | null;
  readonly hosts: readonly string[];
  /** Milliseconds since the epoch; 0 if broken. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Of a Namespace only its labels are kept, and whether it is being deleted. */
export interface NamespaceDigest extends DigestBase {
  readonly kind: 'namespaces';
}

/** The answer to an HTTP-01 challenge, which is public (RFC 8555 8.3). Stored at `world._acme._.<token>`. */
export interface ChallengeDigest {
  readonly kind: 'challenge';
  readonly keyAuthorization: string;
  /** Milliseconds since the epoch; nobody asks for it after that. */
  readonly expiresAt: number;
}
