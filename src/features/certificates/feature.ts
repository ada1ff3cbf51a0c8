/**
 * The feature `certificates`: one certificate for each host, obtained once and renewed in time
 * (docs/features/certificates.md).
 */

import type { Feature } from '../../actors/feature.ts';
import { kindOf } from '../../actors/kind.ts';
import type { Need } from '../../actors/need.ts';
import type { Interest, NamedKind, WatchDeclaration } from '../../actors/world/watch-declaration.ts';
import { asDigest } from '../../base/digests.ts';
import { services } from '../../kube/api/resources.ts';
import { domainChart } from '../../machines/domain/domain.ts';
import { issuerChart } from '../../machines/issuer/issuer.ts';
import { carriedOver, domainPart, ingressPart, issuerPart, secretPart, servicePart } from './digest.ts';
import type { ServiceDigest } from './digests.ts';
import { domainMessages, issuerMessages } from './messages.ts';
import { namespaces, secrets } from './resources.ts';
import type { CertificatesSettings } from './start.ts';

const own = (kind: string): NamedKind => ({ apiVersion: 'orrery.dev/v1alpha1', kind });
const ingress: NamedKind = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' };

const watches: readonly WatchDeclaration[] = [
  {
    resource: services,
    name: 'services',
    digest: servicePart,
    carry: carriedOver,
    interest: servicesThatServe,
  },
  // Only Secrets with a certificate of ours; the API server leaves out all others.
  { resource: secrets, label: 'orrery.dev/domain', withoutLabels: true, digest: secretPart },
  // Only their labels, by which Issuers select them.
  { resource: namespaces, digest: () => ({}) },
  { resource: own('Issuer'), digest: issuerPart },
  { resource: own('Domain'), digest: domainPart },
  { resource: ingress, withoutLabels: true, digest: ingressPart },
];

const needs: readonly Need[] = [
  { apiGroup: 'orrery.dev', resources: ['domains/status'], verbs: ['patch'], why: 'the status of a Domain' },
  { apiGroup: 'orrery.dev', resources: ['issuers/status'], verbs: ['patch'], why: 'the status of an Issuer' },
  {
    apiGroup: 'orrery.dev',
    resources: ['domains'],
    verbs: ['create', 'patch', 'delete'],
    why: 'Domains that represent the hosts of Services and Ingresses',
  },
  {
    apiGroup: '',
    resources: ['secrets'],
    verbs: ['create', 'patch', 'delete'],
    why: 'certificates with their keys, pending keys, account keys',
  },
  {
    apiGroup: 'networking.k8s.io',
    resources: ['ingresses'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
    isOwnNamespace: true,
    why: 'Ingresses that route challenges to Orrery while a host is validated',
  },
  {
    apiGroup: 'gateway.networking.k8s.io',
    resources: ['httproutes'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
    isOwnNamespace: true,
    why: 'HTTPRoutes for the same purpose',
  },
];

export function certificates(settings: CertificatesSettings = {}): Feature {
  return {
    name: 'certificates',
    kinds: [kindOf(domainChart, domainMessages), kindOf(issuerChart, issuerMessages)],
    watches,
    needs,
    metrics: {
      orrery_certificate_expiry_timestamp_seconds: {
        type: 'gauge',
        labels: ['host'],
        help: 'When the stored certificate of a host expires; reported by the replica that owns the host.',
      },
      orrery_certificate_lifetime_seconds: {
        type: 'gauge',
        labels: ['host'],
        help: 'Lifetime of the stored certificate of a host.',
      },
      orrery_certificate_missing: {
        type: 'gauge',
        labels: ['host'],
        help: '1 for a host that needs a certificate and has none; absent for all others.',
      },
      orrery_issuer_ready: {
        type: 'gauge',
        labels: ['issuer'],
        help: 'Whether an Issuer can issue certificates: 0 while its authority is down, rate limiting or refusing its orders, or while its spec is not valid.',
      },
      orrery_issuer_ca_expiry_timestamp_seconds: {
        type: 'gauge',
        labels: ['issuer'],
        help: 'When the certificate of the private CA of an Issuer expires, as seen within the last hour; absent for ACME.',
      },
      orrery_issuer_ca_lifetime_seconds: {
        type: 'gauge',
        labels: ['issuer'],
        help: 'Lifetime of the certificate of the private CA of an Issuer.',
      },
      orrery_certificate_attempts_total: {
        type: 'counter',
        labels: ['outcome'],
        help: 'Attempts to obtain a certificate: issued, refused, rate_limited, authority_down, failed (for good), cluster (Kubernetes or NATS).',
      },
    },
    load: async () => (await import('./start.ts')).startCertificates(settings),
  };
}

/** Services that want hosts served. */
function servicesThatServe(): Interest {
  return {
    tellers: [],
    fold: () => 'nothing',
    wants: (_namespace, _name, digest) => asDigest<ServiceDigest>(digest, 'services')?.serve !== undefined,
  };
}
