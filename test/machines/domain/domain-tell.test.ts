/**
 * What a domain and an Issuer tell of themselves, in each of their states: the words of `orrery get` and of
 * conditions.
 */
import { describe, expect, test } from 'vitest';
import type { DomainEvent } from '../../../src/machines/domain/domain-events.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import {
  dnsIssuer,
  domainFacts,
  exhibit,
  issuerFacts,
  target,
} from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';
import { toldOf } from '../told.ts';
import {
  authorizing,
  confirmed,
  type Domain,
  day,
  fail,
  finalizing,
  found,
  granted,
  newDomain,
  observed,
  ordering,
  storing,
  valid,
  wanting,
} from './domain-script.ts';

const told = (domain: Domain) => toldOf('domain', domain);
const host = 'app.example.com';
const deferred: DomainEvent = {
  type: 'permit.deferred',
  issuer: 'acme',
  reason: 'notReady',
  until: null,
  message: 'the Secret shop/account does not exist',
};

describe('a domain', () => {
  const preparing = () => authorizing(found(newDomain({ ...domainFacts, issuer: dnsIssuer })).take(granted));
  const cases: ReadonlyArray<readonly [string, () => Domain, string, string]> = [
    [
      'without an Issuer',
      () =>
        newDomain({ ...domainFacts, issuer: null, issuerMissing: `no Issuer allows ${host} (spec.domains)` }),
      'wrong',
      `${host} waits for an Issuer: no Issuer allows ${host} (spec.domains).`,
    ],
    ['that looks', () => newDomain(), 'waiting', `The Secrets of ${host} are being checked.`],
    ['that waits for its turn', () => wanting(), 'waiting', `${host} waits for its turn at Issuer acme.`],
    [
      'whose Issuer cannot be used',
      () => wanting().take(deferred),
      'wrong',
      `Issuer acme is not ready: the Secret shop/account does not exist; ${host} waits.`,
    ],
    [
      'that orders',
      () => ordering(),
      'waiting',
      `A certificate for ${host} is being ordered from Issuer acme.`,
    ],
    [
      'that prepares a challenge',
      preparing,
      'waiting',
      `The authority of Issuer acme is validating ${host} by dns01.`,
    ],
    [
      'that is proven',
      () => authorizing(),
      'waiting',
      `The authority of Issuer acme is validating ${host} by http01.`,
    ],
    [
      'whose certificate is issued',
      () => finalizing(),
      'waiting',
      `The authority of Issuer acme is issuing the certificate for ${host}.`,
    ],
    [
      'that is stored',
      () => storing(),
      'waiting',
      `The certificate for ${host} is being written into Secret shop/app.example.com.`,
    ],
    [
      'that was refused',
      () => fail(ordering(), 'refused'),
      'wrong',
      `No certificate for ${host} could be obtained from Issuer acme: it was refused.`,
    ],
    [
      'for which Kubernetes failed',
      () => fail(ordering(), 'cluster'),
      'wrong',
      `There is no certificate for ${host} yet: it was cluster.`,
    ],
    [
      'whose Secret cannot be written',
      () => fail(storing(), 'unwritable'),
      'wrong',
      `The certificate for ${host} is issued but not stored: it was unwritable.`,
    ],
    [
      'that is limited',
      () => fail(ordering(), 'rateLimited'),
      'wrong',
      `The authority of Issuer acme is rate limiting ${host}: it was rateLimited.`,
    ],
    [
      'whose authority is away',
      () => fail(ordering(), 'down'),
      'wrong',
      `The authority of Issuer acme cannot be reached for ${host}: it was down.`,
    ],
    [
      'whose Issuer says that the authority is away',
      () => wanting().take({ ...deferred, reason: 'down', message: 'acme.test: connection refused' }),
      'wrong',
      `The authority of Issuer acme cannot be reached for ${host}: acme.test: connection refused.`,
    ],
    [
      'whose Issuer says that it is limited',
      () => wanting().take({ ...deferred, reason: 'rateLimited', message: 'too many orders.' }),
      'wrong',
      `The authority of Issuer acme is rate limiting ${host}: too many orders.`,
    ],
    [
      'whose Issuer does not say why the authority is away',
      () => wanting().take({ ...deferred, reason: 'down', message: null }),
      'wrong',
      `The authority of Issuer acme cannot be reached for ${host}.`,
    ],
    [
      'that is hopeless',
      () => fail(ordering(), 'hopeless'),
      'wrong',
      `No certificate for ${host} can be issued as things are: it was hopeless.`,
    ],
    [
      'that nobody asks for',
      () => newDomain().take(observed(null)),
      'ok',
      `Nothing asks for a certificate for ${host} any more; its Secrets stay.`,
    ],
  ];

  test.each(cases)('%s', (_, reach, health, text) => {
    expect(told(reach())).toMatchObject({ health, text });
  });

  test('with a certificate: until when, what comes next, and the columns', () => {
    const domain = confirmed(valid());
    const { notAfter, notBefore } = domain.context.certificate ?? { notAfter: 0, notBefore: 0 };
    const renews = Math.round(notBefore + (notAfter - notBefore) * (2 / 3));
    expect(told(domain)).toEqual({
      health: 'ok',
      text: expect.stringMatching(
        /^A certificate for app\.example\.com is stored; it expires \d{4}-.* UTC\.$/,
      ),
      next: { text: 'renewal', at: renews },
      facts: { Issuer: 'acme', Expires: notAfter, Renews: renews, Namespace: 'shop', Refusals: 0 },
    });
  });

  test('that renews says what stands as well, and what ended', () => {
    const domain = confirmed(valid());
    domain.now += 60 * day;
    domain.take({ type: 'domain.recheck' });
    found(domain, { good: domain.context.certificate });
    expect(told(domain).text).toMatch(
      /waits for its turn at Issuer acme\. A certificate for .* is stored; it expires/,
    );
    fail(domain.take(granted), 'hopeless');
    domain.now += 31 * day;
    expect(told(domain).text).toMatch(/The certificate expired \d{4}-/);
  });

  test('with a Secret that lacks it names the Secret and why', () => {
    const domain = storing();
    const { attempt } = domain.context;
    const refused = [{ ...target, message: 'exceeded quota' }];
    const certificate = {
      fingerprint: 'f1',
      notBefore: domain.now,
      notAfter: domain.now + 90 * day,
      ariId: null,
    };
    domain.take({ type: 'certificate.stored', attempt, certificate, foreign: [], refused });
    expect(told(domain)).toMatchObject({
      health: 'wrong',
      text: expect.stringContaining('Secret shop/app.example.com lacks it: exceeded quota.'),
    });
  });

  test('with a Secret of somebody else in the way names it and what helps, until it is out of the way', () => {
    const other = { namespace: 'shop', secretName: 'second' };
    const domain = confirmed(valid());
    const good = domain.context.certificate;
    const sources = domainFacts.sources.flatMap((one) => [one, { ...one, uid: 'second', ...other }]);
    const two = { ...domainFacts, sources, targets: [target, other], stored: [null, null] };
    found(domain.take(observed(two)), { good, foreign: [other] });
    expect(told(domain)).toMatchObject({
      health: 'wrong',
      text: expect.stringMatching(/ is stored; it expires .* Secret shop\/second exists without .*delete it/),
      next: { text: 'renewal' },
    });
    found(domain.take({ type: 'domain.recheck' }), { good });
    expect(told(domain)).toMatchObject({ health: 'ok', text: expect.not.stringContaining('second') });
  });

  test('with left-overs of a challenge names them, also when nobody asks for it any more', () => {
    const domain = preparing();
    domain.take({ type: 'challenge.planned', attempt: domain.context.attempt, exhibit }).take(observed(null));
    expect(told(domain)).toMatchObject({
      health: 'ok',
      text: `Nothing asks for a certificate for ${host} any more. The last attempt failed: the attempt was broken off, because what asked for the host changed or went; whoever asks for it again waits until 2023-11-14 22:14 UTC. Still to be removed: TXT record _acme-challenge.app.example.com "digest".`,
    });
  });

  test('that waits says until when', () => {
    const domain = fail(ordering(), 'refused');
    expect(told(domain).next).toEqual({ text: 'next attempt', at: domain.context.nextAttempt });
    expect(told(ordering()).next).toBeUndefined();
  });

  test('says the same in its condition', () => {
    const domain = fail(ordering(), 'refused');
    const { text } = told(domain);
    expect(domain.askedOf('domain.report').at(-1)?.status.conditions[0]).toMatchObject({
      type: 'Ready',
      message: text,
    });
  });
});

describe('an Issuer', () => {
  type Issuer = ActorDriver<IssuerEvent, IssuerContext>;
  const fresh = (): Issuer => new ActorDriver<IssuerEvent, IssuerContext>('issuer', '_', 'acme');
  const asked: IssuerEvent = {
    type: 'permit.asked',
    domain: `domain/_/${host}`,
    registered: 'example.com',
    exempt: false,
  };
  const seen = (change: object = {}) =>
    fresh().take({ type: 'issuer.observed', facts: { ...issuerFacts, ...change } });
  const checked = (outcome: 'down' | 'refused' | 'rateLimited') =>
    seen().take({ type: 'issuer.failed', check: 1, outcome, message: 'it said no.', retryAfterMs: 60_000 });
  const serving = () => seen().take({ type: 'issuer.verified', check: 1 });
  const cases: ReadonlyArray<readonly [string, () => Issuer, string, string]> = [
    [
      'that was not heard of',
      () => fresh().take(asked),
      'waiting',
      'Domains ask for Issuer acme, which has not been seen yet.',
    ],
    ['that is verified', () => seen(), 'waiting', 'Checking whether Issuer acme can issue certificates.'],
    ['that serves', serving, 'ok', 'Issuer acme can issue certificates.'],
    [
      'that is limited',
      () => checked('rateLimited').take(asked),
      'wrong',
      'Issuer acme issues no certificates for a while: the authority is rate limiting: it said no. 1 domain waits for it.',
    ],
    [
      'whose authority is away',
      () => checked('down'),
      'wrong',
      'The authority of Issuer acme does not answer: it said no.',
    ],
    [
      'that tries again',
      () => checked('rateLimited').wait(120_000),
      'ok',
      'The authority of Issuer acme is back; one domain tries first.',
    ],
    ['that is refused', () => checked('refused'), 'wrong', 'Issuer acme cannot be used: it said no.'],
    [
      'that cannot be read',
      () => seen({ invalid: 'acme.server: must be a URL' }),
      'wrong',
      'The spec of Issuer acme is not valid: acme.server: must be a URL.',
    ],
    [
      'that is gone',
      () => seen().take({ type: 'issuer.observed', facts: null }),
      'ok',
      'There is no Issuer acme.',
    ],
  ];

  test.each(cases)('%s', (_, reach, health, text) => {
    expect(toldOf('issuer', reach())).toMatchObject({ health, text });
  });

  test('has its kind, who waits and who is at work as columns', () => {
    expect(toldOf('issuer', serving().take(asked)).facts).toEqual({ Kind: 'acme', Waiting: 0, 'In work': 1 });
    expect(toldOf('issuer', checked('down')).facts).toMatchObject({ 'Down since': expect.any(Number) });
  });
});
