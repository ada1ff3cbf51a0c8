/**
 * The domain chart and a host that is asked for, given up and asked for again: a GitOps loop, a reinstalled
 * chart, a tenant who would rather not wait. Whoever asks meets the wait that the failures before have earned
 * (docs/features/certificates.md §7.8).
 */
import { describe, expect, test } from 'vitest';
import {
  type CertificateFacts,
  type DomainFacts,
  shownFingerprint,
} from '../../../src/machines/domain/domain-facts.ts';
import { domainFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';
import {
  authorizing,
  type Domain,
  day,
  fail,
  found,
  fresh,
  granted,
  hour,
  minute,
  newDomain,
  observed,
  ordering,
  valid,
  wanting,
  wordOf,
} from './domain-script.ts';

const { issuer } = domainFacts;
if (issuer === null) throw new Error('the sample has an Issuer');
const another = { ...issuer, name: 'other', version: 'other-uid/1' };
const reinstalled = { ...issuer, version: 'issuer-uid-2/1' };
const edited = { ...issuer, version: 'issuer-uid/2' };
const ca = { name: 'ca', version: 'ca-uid/1', kind: 'ca', challenge: null } as const;

let uids = 0;
/** The facts that a new object makes. */
function asNew(change: Partial<DomainFacts> = {}): DomainFacts {
  const facts = { ...domainFacts, ...change };
  uids += 1;
  return { ...facts, sources: facts.sources.map((one) => ({ ...one, uid: `dom-uid-${uids}` })) };
}
const gone = observed(null);
const inShop = asNew();
const inWeb = (change: Partial<DomainFacts> = {}) =>
  asNew({
    ...{ owner: 'web', sources: inShop.sources.map((one) => ({ ...one, namespace: 'web' })) },
    ...{ targets: [{ namespace: 'web', secretName: 'app.example.com' }], ...change },
  });

/** An authority that grants every order and cannot validate the host, and an Issuer without limits. */
class Host {
  orders = 0;
  proofs = 0;
  /** How long the authority looks for a proof, ms. */
  proofMs = 0;
  /** What the Secret holds. */
  stored: CertificateFacts | null = null;
  domain: Domain = new ActorDriver('domain', '_', 'app.example.com');

  /** The world shows this; then time passes. */
  see(facts: DomainFacts | null, ms: number): this {
    if (this.domain.isOver && facts !== null) {
      const { now } = this.domain;
      this.domain = new ActorDriver('domain', '_', 'app.example.com');
      this.domain.now = now;
    }
    if (!this.domain.isOver) this.domain.take(observed(facts));
    const until = this.domain.now + ms;
    for (this.#answer(); this.domain.now < until; this.#answer())
      this.domain.wait(Math.min(until - this.domain.now, this.domain.patience ?? ms));
    return this;
  }

  #answer(): void {
    const asked = this.domain.asked();
    if (this.domain.isOver) return;
    for (const effect of asked) {
      if (effect.type === 'certificate.inspect') found(this.domain, { good: this.stored });
      if (effect.type === 'message.send' && effect.event.type === 'permit.asked')
        this.domain.take({ ...granted, issuer: effect.to[0]?.slice('issuer/_/'.length) ?? '' });
      if (effect.type === 'certificate.store') valid(this.domain);
      if (effect.type === 'acme.order') this.#order();
      if (effect.type === 'acme.authorize') this.#prove();
    }
    if (asked.length > 0) this.#answer();
  }

  #order(): void {
    this.orders += 1;
    authorizing(this.domain);
  }

  #prove(): void {
    this.proofs += 1;
    if (this.proofMs === 0) fail(this.domain, 'refused');
  }
}

/** Let's Encrypt allows five failed validations for each account, host and hour; one more every 12 min. */
const perHour = 5 + 1;

describe('what the authority sees in an hour of a host whose proofs fail', () => {
  const count = (eachMinute: (host: Host, n: number) => void) => {
    const host = new Host();
    for (let n = 0; n < 60; n += 1) eachMinute(host, n);
    return host;
  };
  const parts = minute / 2;

  test('as many orders as of a host that is left alone, if its Domain is made anew every minute', () => {
    const alone = count((host) => host.see(inShop, minute));
    const anew = count((host) => host.see(asNew(), parts).see(null, parts));
    expect(alone.proofs).toBeLessThanOrEqual(perHour);
    expect(anew.proofs).toBeLessThanOrEqual(alone.proofs);
    expect(anew.orders).toBeLessThanOrEqual(alone.orders);
  });

  test('no more if the Domain goes while the proof is looked for', () => {
    const slow = new Host();
    slow.proofMs = minute;
    for (let n = 0; n < 60; n += 1) slow.see(asNew(), parts).see(null, parts);
    expect(slow.orders).toBeLessThanOrEqual(perHour);
  });

  test('no more if it stays away until each wait is over', () => {
    const host = count((one) => one.see(asNew(), 1_000).see(null, minute - 1_000));
    const later = new Host();
    for (let n = 0; n < 20; n += 1) later.see(asNew(), minute).see(null, 2 * minute);
    expect(Math.max(host.proofs, later.proofs)).toBeLessThanOrEqual(perHour);
  });

  test('no more if namespaces hand it to one another', () => {
    const host = count((one, n) => one.see(n % 2 === 0 ? asNew() : inWeb(), minute));
    expect(host.proofs).toBeLessThanOrEqual(perHour);
  });

  test('no more if Domains name Issuers in turn, or the Issuer is made anew each time', () => {
    const turns = count((one, n) => one.see(asNew({ issuer: n % 2 === 0 ? issuer : another }), minute));
    // Both together.
    expect(turns.proofs).toBeLessThanOrEqual(2 * perHour);
    const anew = count((one, n) =>
      one
        .see(asNew({ issuer: { ...issuer, version: `issuer-uid-${n}/1` } }), parts)
        .see(asNew({ issuer: null }), parts),
    );
    expect(anew.proofs).toBeLessThanOrEqual(perHour);
    const all = count((one, n) =>
      one.see(asNew({ issuer: { ...issuer, version: `issuer-uid-${n}/1` } }), parts).see(null, parts),
    );
    expect(all.proofs).toBeLessThanOrEqual(perHour);
  });
});

describe('nor does anything else but a certificate of the authority end the wait', () => {
  const proofsOf = (eachMinute: (host: Host, n: number) => void) => {
    const host = new Host();
    for (let n = 0; n < 60; n += 1) eachMinute(host, n);
    return host.proofs;
  };
  const parts = minute / 2;

  test('a CA that signs in between, also if the Domain is made anew for it, or waits without an Issuer', () => {
    const inTurns = proofsOf((host) => host.see(asNew(), parts).see(asNew({ issuer: ca }), parts));
    const anew = proofsOf((host) =>
      host
        .see(inShop, parts)
        .see(null, 1_000)
        .see(asNew({ issuer: ca }), 1_000)
        .see(null, 28_000),
    );
    const without = proofsOf((host) =>
      host
        .see(inShop, 1_000)
        .see(asNew({ issuer: ca }), 1_000)
        .see(asNew({ issuer: null }), 58_000),
    );
    expect([inTurns, anew, without].filter((proofs) => proofs > perHour)).toEqual([]);
  });

  test('a certificate of its own that somebody puts into the Secret, and deletes', () => {
    const proofs = proofsOf((host) => {
      host.see(asNew({ stored: [null] }), parts);
      host.stored = fresh(host.domain, 90 * day, { fingerprint: `own-${host.domain.now}` });
      host.see(asNew({ stored: [shownFingerprint(host.stored.fingerprint)] }), parts);
      expect(wordOf(host.domain)).toBe('valid');
      host.stored = null;
    });
    expect(proofs).toBeLessThanOrEqual(perHour);
  });

  test('a person does, by `domain.renew`, and a wish brings it forward to 15 min after it began', () => {
    const setAside = () => {
      const domain = fail(ordering(), 'refused');
      for (let n = 1; n < 7; n += 1) fail(found(domain.wait(2 ** (n - 1) * minute)).take(granted), 'refused');
      found(domain.take(observed(asNew({ issuer: ca })))).take({ ...granted, issuer: 'ca' });
      return valid(domain);
    };
    const back = found(setAside().take(observed(asNew())));
    expect([wordOf(back), back.patience, back.context.failures]).toEqual(['backingOff', 64 * minute, 7]);
    const wished = asNew({ issuer: ca });
    const asked = setAside().take(observed(wished));
    const sources = wished.sources.map((one) => ({ ...one, renew: 'now' }));
    const sooner = found(found(asked).take(observed({ ...wished, sources, issuer })));
    expect([wordOf(sooner), sooner.patience]).toEqual(['backingOff', 15 * minute]);
    const renewed = setAside().take({ type: 'domain.renew' }, observed(asNew()));
    expect(wordOf(found(renewed))).toBe('waitingForPermit');
    expect(
      found(
        setAside()
          .wait(3 * hour)
          .take(observed(asNew())),
      ).context.failures,
    ).toBe(0);
  });
});

describe('who asks for a host again', () => {
  const left = () => fail(ordering(), 'refused').wait(10_000).take(gone);

  test('meets the wait that is left, and is told why, in its status and an Event', () => {
    const domain = left();
    expect(wordOf(domain)).toBe('clearing');
    expect(domain.wait(20_000).isOver).toBe(false);
    domain.asked();
    const { attempt } = domain.context;
    found(domain.take(observed(asNew())));
    expect(wordOf(domain)).toBe('backingOff');
    expect(domain.patience).toBe(30_000);
    expect(domain.context).toMatchObject({ failures: 1, formerly: null, attempt: attempt + 1 });
    const [report] = domain.askedOf('domain.report').slice(-1);
    expect(report?.status).toMatchObject({ state: 'backingOff', failures: 1, lastError: 'it was refused' });
    expect(report?.notice).toMatchObject({ reason: 'CertificateFailed' });
    expect(report?.notice?.note).toContain('it was refused. Next attempt 2023-11-14 22:14 UTC');
    expect(found(domain.wait(30_000)).take(granted).state).toBe('acquiring.ordering');
  });

  test('finds what is stored at once: nothing is ordered for it', () => {
    const domain = left().take(observed(asNew()));
    expect(wordOf(found(domain, { good: fresh(domain) }))).toBe('valid');
    expect(domain.context.failures).toBe(0);
  });

  test('after the wait is tried at once, and the failures go on counting for an hour', () => {
    const domain = found(left().wait(hour).take(observed(asNew()))).take(granted);
    expect(fail(domain, 'refused').patience).toBe(2 * minute);
    expect(left().wait(hour + minute).isOver).toBe(true);
  });

  test('waits though the attempt was broken off: the authority knows of it', () => {
    const domain = authorizing().wait(10_000).take(gone, observed(asNew()));
    expect(wordOf(found(domain))).toBe('backingOff');
    expect(domain.patience).toBe(minute);
  });

  test('is told in clearing who waits and until when; then only that it counts; it is nobody’s trouble', () => {
    const domain = left();
    const why = 'Nothing asks for a certificate for app.example.com any more. The last attempt failed: ';
    expect(domain.told).toMatchObject({
      health: 'ok',
      text: `${why}it was refused; whoever asks for it again waits until 2023-11-14 22:14 UTC.`,
      next: { text: 'forgets its failures', at: domain.now + 50_000 + hour },
    });
    expect(domain.wait(minute).told.text).toContain('it is remembered for a while, and counts if');
  });

  test('with what was hopeless: it is tried 15 min after it began, as after an edit', () => {
    const domain = found(fail(ordering(), 'hopeless').wait(minute).take(gone, observed(asNew())));
    expect(wordOf(domain)).toBe('failed');
    expect(domain.patience).toBe(14 * minute);
  });

  test('in another namespace waits as well, and reads nothing of the former', () => {
    for (const between of [[gone], []]) {
      const domain = found(fail(ordering(), 'refused').take(...between, observed(inWeb())));
      expect(wordOf(domain)).toBe('backingOff');
      expect(domain.context).toMatchObject({
        failures: 1,
        lastError: 'the last attempt was made for another namespace',
      });
      expect(domain.patience).toBe(minute);
    }
  });

  test.each([
    ['the same', issuer, 60],
    ['one made anew with that name', reinstalled, 60],
    ['another: as for an edited source', another, 11],
    ['the same, edited: at once', edited, 0],
    ['a CA: at once', ca, 0],
  ])('of an Issuer that is %s', (_, next, minutes) => {
    for (const between of [[gone], [observed(asNew({ issuer: null }))], []]) {
      const domain = fail(ordering(), 'refused');
      for (let n = 1; n < 7; n += 1) fail(found(domain.wait(2 ** (n - 1) * minute)).take(granted), 'refused');
      domain.wait(4 * minute).take(...between, observed(asNew({ issuer: next })));
      expect([wordOf(found(domain)), domain.patience]).toEqual(
        minutes === 0 ? ['waitingForPermit', 4_000] : ['backingOff', minutes * minute],
      );
    }
  });
});

test('what no authority has failed is not remembered: a CA, an outage, a Secret of somebody else', () => {
  const ofCa = fail(found(newDomain({ ...domainFacts, issuer: ca })).take(granted), 'refused');
  const foreign = found(newDomain(), { foreign: domainFacts.targets });
  for (const domain of [ofCa, foreign, valid(), wanting(), fail(ordering(), 'down')])
    expect(domain.take(gone).isOver).toBe(true);
});
