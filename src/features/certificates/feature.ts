/** The feature `certificates`: one certificate for each host, obtained once and renewed in time (docs/features/certificates.md). */

import type { Feature } from '../../actors/feature.ts';
import { domainChart } from '../../machines/domain/domain.ts';
import { issuerChart } from '../../machines/issuer/issuer.ts';
import { domainMessages, issuerMessages } from './messages.ts';
import type { CertificatesSettings } from './start.ts';
import { watches } from './watches.ts';

export function certificates(settings: CertificatesSettings = {}): Feature {
  return {
    name: 'certificates',
    charts: [domainChart, issuerChart],
    messages: { domain: domainMessages, issuer: issuerMessages },
    watches,
    rights: [
      {
        apiGroup: 'orrery.dev',
        resources: ['domains/status', 'issuers/status'],
        verbs: ['patch'],
        why: 'what Domains and Issuers are told',
      },
      {
        apiGroup: '',
        resources: ['secrets'],
        verbs: ['create', 'patch', 'delete'],
        why: 'certificates with their keys, keys that wait for theirs, account keys',
      },
    ],
    metrics: {
      orrery_certificate_expiry_timestamp_seconds: {
        type: 'gauge',
        labels: ['host'],
        help: 'When the stored certificate of a host ends; told by the replica that owns the host.',
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
