/**
 * The feature `certificates`: one certificate for each host, obtained once and renewed in time
 * (docs/features/certificates.md).
 */

import type { Feature } from '../../actors/feature.ts';
import { kindOf } from '../../actors/kind.ts';
import type { Need } from '../../actors/need.ts';
import { domainChart } from '../../machines/domain/domain.ts';
import { issuerChart } from '../../machines/issuer/issuer.ts';
import { domainMessages, issuerMessages } from './messages.ts';
import type { CertificatesSettings } from './start.ts';
import { watches } from './watches.ts';

const needs: readonly Need[] = [
  {
    apiGroup: 'orrery.dev',
    resources: ['domains/status', 'issuers/status'],
    verbs: ['patch'],
    why: 'what Domains and Issuers are told',
  },
  {
    apiGroup: 'orrery.dev',
    resources: ['domains'],
    verbs: ['create', 'patch', 'delete'],
    why: 'Domains that show the hosts of Services and Ingresses',
  },
  {
    apiGroup: '',
    resources: ['secrets'],
    verbs: ['create', 'patch', 'delete'],
    why: 'certificates with their keys, keys that wait for theirs, account keys',
  },
  {
    apiGroup: 'networking.k8s.io',
    resources: ['ingresses'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
    isOwnNamespace: true,
    why: 'Ingresses that lead challenges to Orrery while a host is proven',
  },
  {
    apiGroup: 'gateway.networking.k8s.io',
    resources: ['httproutes'],
    verbs: ['get', 'list', 'create', 'patch', 'delete'],
    isOwnNamespace: true,
    why: 'HTTPRoutes that do the same',
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
        help: 'When the stored certificate of a host ends; told by the replica that owns the host.',
      },
      orrery_certificate_lifetime_seconds: {
        type: 'gauge',
        labels: ['host'],
        help: 'From the beginning to the end of the stored certificate of a host.',
      },
      orrery_certificate_missing: {
        type: 'gauge',
        labels: ['host'],
        help: '1 for a host that is asked for and has no certificate; absent for all others.',
      },
      orrery_issuer_ready: {
        type: 'gauge',
        labels: ['issuer'],
        help: 'Whether certificates can be had from an Issuer now: 0 while its authority is down or limits everybody, and while it cannot be used.',
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
