/** Sample events that lead a walk through every state of the charts of certificates. */
import type {
  CertificateFacts,
  DomainFacts,
  IssuerFacts,
} from '../../../src/machines/domain/domain-facts.ts';
import type { Exhibit } from '../../../src/machines/domain/exhibit.ts';
import type { Sample } from '../../machines/samples.ts';

export const target = { namespace: 'shop', secretName: 'app.example.com' };

export const domainFacts: DomainFacts = {
  owner: 'shop',
  sources: [{ kind: 'Domain', namespace: 'shop', name: 'app', uid: 'dom-uid-1', generation: 1 }],
  refused: [],
  targets: [target],
  taken: [],
  issuer: { name: 'acme', version: 'issuer-uid/1', kind: 'acme', challenge: 'http01' },
  issuerMissing: '',
  registered: 'example.com',
  stored: [null],
};

export const day = 24 * 3_600_000;

/** Valid for 90 days from the time at which tests begin. */
export const certificate: CertificateFacts = {
  fingerprint: 'f1',
  notBefore: 1_700_000_000_000,
  notAfter: 1_700_000_000_000 + 90 * day,
  ariId: 'aki.serial',
};

export const issuerFacts: IssuerFacts = {
  uid: 'issuer-uid',
  generation: 1,
  kind: 'acme',
  invalid: null,
  budget: { ordersPer3h: 300, certificatesPerDomainPer7d: 50, duplicatesPer7d: 5 },
};

export const inspected = (attempt: number, change: object = {}) => ({
  type: 'certificate.inspected' as const,
  attempt,
  good: null,
  missing: [],
  foreign: [],
  pending: null,
  ...change,
});

const failed = (attempt: number, outcome: string) => ({
  type: 'acquisition.failed',
  attempt,
  outcome,
  message: outcome,
  retryAfterMs: 2_000,
  orderLost: false,
});

export const dnsIssuer = { name: 'acme', version: 'issuer-uid/2', kind: 'acme', challenge: 'dns01' } as const;
export const exhibit: Exhibit = {
  kind: 'webhook',
  url: 'https://dns.example.com/',
  fqdn: '_acme-challenge.app.example.com',
  value: 'digest',
};

export const domainSample: Sample = {
  situationsMax: 3_000,
  input: { id: 'domain/_/app.example.com', namespace: '_', name: 'app.example.com' },
  events: [
    { type: 'domain.observed', facts: domainFacts },
    { type: 'domain.observed', facts: { ...domainFacts, issuer: null, issuerMissing: 'none' } },
    { type: 'domain.observed', facts: { ...domainFacts, owner: 'web' } },
    { type: 'domain.observed', facts: null },
    inspected(1),
    inspected(1, { good: certificate }),
    inspected(1, { foreign: [target] }),
    { type: 'permit.granted', issuer: 'acme' },
    { type: 'order.made', attempt: 2, order: { url: 'https://ca/order/1', expires: 1_800_000_000_000 } },
    { type: 'domain.observed', facts: { ...domainFacts, issuer: dnsIssuer } },
    { type: 'challenge.planned', attempt: 3, exhibit },
    { type: 'challenge.cleared', removed: [exhibit], message: '' },
    { type: 'challenge.cleared', removed: [], message: 'away' },
    { type: 'order.authorized', attempt: 3 },
    { type: 'certificate.received', attempt: 4, fingerprint: 'f1' },
    { type: 'certificate.stored', attempt: 5, certificate, foreign: [], refused: [] },
    failed(2, 'rateLimited'),
    failed(2, 'down'),
    failed(2, 'hopeless'),
    failed(3, 'refused'),
    failed(5, 'cluster'),
    { type: 'permit.deferred', issuer: 'acme', reason: 'budget', until: 1_700_000_100_000 },
    {
      type: 'permit.deferred',
      issuer: 'acme',
      reason: 'notReady',
      until: null,
      message: 'the account is closed',
    },
    {
      type: 'ari.fetched',
      fingerprint: 'f1',
      start: 1_700_000_000_000,
      end: 1_700_001_000_000,
      retryAfterMs: 60_000,
    },
    { type: 'ari.unavailable', fingerprint: 'f1', retryAfterMs: null },
    { type: 'domain.renew' },
    { type: 'domain.recheck' },
    { type: 'effect.settled', effect: 'domain.report', error: 'away' },
  ],
};

/** A certificate that ended while the domain waited for its turn. */
export const expiredSample: Sample = {
  ...domainSample,
  situationsMax: 300,
  events: [
    { type: 'domain.observed', facts: domainFacts },
    inspected(1, { good: { ...certificate, notAfter: certificate.notBefore } }),
    { type: 'permit.deferred', issuer: 'acme', reason: 'budget', until: 1_700_000_100_000 },
  ],
};

const second = { namespace: 'shop', secretName: 'second' };

/** A host of which one Secret of two is somebody else's. */
export const lackingSample: Sample = {
  ...domainSample,
  situationsMax: 100,
  events: [
    {
      type: 'domain.observed',
      facts: {
        ...domainFacts,
        sources: domainFacts.sources.flatMap((one) => [one, { ...one, ...second, uid: 'second' }]),
        targets: [target, second],
        stored: [null, null],
      },
    },
    inspected(1, { good: certificate, foreign: [second] }),
  ],
};

const back = (outcome: string, again: boolean) => ({
  type: 'permit.returned',
  domain: 'domain/_/app.example.com',
  registered: 'example.com',
  exempt: false,
  outcome,
  waitMs: 2_000,
  again,
});
const checkFailed = (check: number, outcome: string) => ({
  type: 'issuer.failed',
  check,
  outcome,
  message: outcome,
  retryAfterMs: null,
});

export const issuerSample: Sample = {
  input: { id: 'issuer/_/acme', namespace: '_', name: 'acme' },
  events: [
    { type: 'issuer.observed', facts: issuerFacts },
    { type: 'issuer.observed', facts: { ...issuerFacts, generation: 2, invalid: 'acme.server is no URL' } },
    { type: 'issuer.observed', facts: null },
    { type: 'permit.asked', domain: 'domain/_/app.example.com', registered: 'example.com', exempt: false },
    { type: 'issuer.verified', check: 1 },
    { type: 'issuer.verified', check: 2 },
    checkFailed(1, 'down'),
    checkFailed(1, 'refused'),
    checkFailed(2, 'rateLimited'),
    back('issued', false),
    back('rateLimited', true),
    back('down', true),
    back('unused', false),
    { type: 'issuer-secrets.unchanged', check: 1 },
    { type: 'issuer-secrets.changed', check: 1 },
    { type: 'issuer.recheck' },
    { type: 'effect.settled', effect: 'issuer.report', error: 'away' },
  ],
};

/** The context in which an effect of a host runs. */
export const effectRun = {
  key: 'domain/_/app.example.com/7/0',
  actor: 'domain/_/app.example.com',
  signal: new AbortController().signal,
  emit: () => {},
} as const;
