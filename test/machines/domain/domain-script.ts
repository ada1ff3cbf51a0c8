/** A domain's chart with what happens around it, in the words of the tests. */
import type { DomainContext } from '../../../src/machines/domain/domain-context.ts';
import type { AcquisitionFailed, DomainEvent } from '../../../src/machines/domain/domain-events.ts';
import type { CertificateFacts, DomainFacts } from '../../../src/machines/domain/domain-facts.ts';
import { certificate, domainFacts, inspected } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';

export type Domain = ActorDriver<DomainEvent, DomainContext>;

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

export const observed = (facts: DomainFacts | null = domainFacts): DomainEvent => ({
  type: 'domain.observed',
  facts,
});
export const granted = { type: 'permit.granted', issuer: 'acme' } as const;

/** In people's words, without the parent states. */
export const wordOf = (domain: Domain) => domain.state.split('.').at(-1);

/** A domain that has just heard of itself: it looks at its Secret. */
export function newDomain(facts: DomainFacts = domainFacts, host = 'app.example.com'): Domain {
  const domain: Domain = new ActorDriver('domain', '_', host);
  return domain.take(observed(facts));
}

/** The result of its look. */
export function found(domain: Domain, change: Partial<ReturnType<typeof inspected>> | object = {}): Domain {
  return domain.take(inspected(domain.context.attempt, change));
}

/** A certificate that is valid from now on. */
export function fresh(
  domain: Domain,
  lifeMs = 90 * day,
  change: Partial<CertificateFacts> = {},
): CertificateFacts {
  return { ...certificate, notBefore: domain.now, notAfter: domain.now + lifeMs, ...change };
}

/** A domain that waits for its permit. */
export const wanting = (facts: DomainFacts = domainFacts): Domain => found(newDomain(facts));
export const ordering = (): Domain => wanting().take(granted);

export function authorizing(domain: Domain = ordering()): Domain {
  const order = { url: 'https://ca/order/1', expires: domain.now + day };
  return domain.take({ type: 'order.made', attempt: domain.context.attempt, order });
}

export function finalizing(domain: Domain = authorizing()): Domain {
  return domain.take({ type: 'order.authorized', attempt: domain.context.attempt });
}

export function storing(domain: Domain = finalizing()): Domain {
  return domain.take({ type: 'certificate.received', attempt: domain.context.attempt, fingerprint: 'f1' });
}

export function valid(domain: Domain = storing(), stored: CertificateFacts = fresh(domain)): Domain {
  const { attempt } = domain.context;
  return domain.take({ type: 'certificate.stored', attempt, certificate: stored, foreign: [], refused: [] });
}

export function fail(
  domain: Domain,
  outcome: AcquisitionFailed['outcome'],
  change: Partial<AcquisitionFailed> = {},
): Domain {
  const { attempt } = domain.context;
  const failure = { attempt, outcome, message: `it was ${outcome}`, retryAfterMs: null, orderLost: false };
  return domain.take({ type: 'acquisition.failed', ...failure, ...change });
}

/** The first look after storing finds what was stored. */
export function confirmed(domain: Domain): Domain {
  domain.wait(5_000);
  return found(domain, { good: domain.context.certificate });
}

/** What it told the Issuer since the last look: `['permit.returned', 'refused']`. */
export function saidToIssuer(domain: Domain): string[] {
  return domain
    .askedOf('message.send')
    .map(({ event }) =>
      event.type === 'permit.returned'
        ? `returned ${event.outcome}${event.again ? ' again' : ''}`
        : event.type,
    );
}
