/** What an Issuer does about a status that it did not write: docs/features/certificates.md §9.5. */
import { describe, expect, test } from 'vitest';
import { issuerPart } from '../../../src/features/certificates/digest.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { saidIn } from '../../../src/machines/issuer/issuer-report.ts';
import { saidNothing } from '../../../src/machines/said.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';
import { toldOf } from '../told.ts';

type Issuer = ActorDriver<IssuerEvent, IssuerContext>;

const ready = { status: 'True', reason: 'Verified' };
const generation = issuerFacts.generation;

const says = (change: Partial<Parameters<typeof saidIn>[0]> = {}, uid = issuerFacts.uid): IssuerEvent => {
  const said = saidIn({ generation, rateLimitedUntil: null, ...ready, ...change });
  return { type: 'issuer.status.observed', facts: { uid, said } };
};

function readyIssuer(): Issuer {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
  issuer.take({ type: 'issuer.observed', facts: issuerFacts });
  issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  issuer.asked();
  return issuer;
}

test('§7.6: an Issuer that no domain has tried since an outage is checked each hour, as is its CA', () => {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
  issuer.take({ type: 'issuer.observed', facts: issuerFacts });
  const failure = { outcome: 'down', message: 'no answer', retryAfterMs: null } as const;
  issuer.take({ type: 'issuer.failed', check: issuer.context.check, ...failure }).wait(10_000);
  issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  expect(issuer.state).toBe('serving.trying');
  issuer.asked();
  issuer.wait(3_600_000);
  expect(issuer.askedOf('issuer.verify')).toHaveLength(1);
  const ca = { notBefore: 0, notAfter: issuer.now + 1 };
  issuer.take({ type: 'issuer.verified', check: issuer.context.check, ca });
  expect(issuer.context.ca).toEqual(ca);
  expect(issuer.askedOf('issuer.report')).toHaveLength(1);
  issuer.wait(3_600_000);
  const refused = { outcome: 'refused', message: 'the CA expired', retryAfterMs: null } as const;
  issuer.take({ type: 'issuer.failed', check: issuer.context.check, ...refused });
  expect(issuer.state).toBe('refused');
});

test('an Issuer that is verified tells the address of its account, for CAA records', () => {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
  issuer.take({ type: 'issuer.observed', facts: issuerFacts }).asked();
  const account = 'https://ca/account/1';
  issuer.take({ type: 'issuer.verified', check: issuer.context.check, account });
  const message = `Issuer acme can issue certificates; its account is ${account}.`;
  expect(issuer.askedOf('issuer.report')).toMatchObject([
    { status: { accountUrl: account, conditions: [{ reason: 'Verified', message }] } },
  ]);
  issuer.take({ type: 'issuer.observed', facts: null });
  expect(issuer.context.account ?? null).toBe(null);
});

describe('a status that is seen to say what the Issuer did not report', () => {
  test('is reported again half a minute later, without an Event', () => {
    const issuer = readyIssuer().take(says({ status: 'False', reason: 'AuthorityDown' }));
    expect(issuer.wait(29_999).asked()).toEqual([]);
    expect(issuer.wait(1).asked()).toMatchObject([
      { type: 'issuer.report', notice: null, status: { conditions: [{ reason: 'Verified' }] } },
    ]);
  });

  test.each([
    ['of a limit that is over', { rateLimitedUntil: '2024-01-01T00:00:00Z' }],
    ['of an earlier specification', { generation: generation - 1 }],
  ])('%s, too', (_, change) => {
    const issuer = readyIssuer().take(says(change)).wait(30_000);
    expect(issuer.askedOf('issuer.report')).toHaveLength(1);
  });

  test('in time, however often it is seen, and whatever else of it is lost meanwhile', () => {
    const issuer = readyIssuer().take({ type: 'effect.settled', effect: 'issuer.report', error: 'away' });
    for (let n = 0; n < 3; n++) issuer.take(says({ reason: `Word${n}` })).wait(10_000);
    expect(issuer.askedOf('issuer.report')).not.toEqual([]);
  });

  test('if it is missing, too', () => {
    const missing = { uid: issuerFacts.uid, said: saidNothing, createdAt: 0 };
    const issuer = readyIssuer().take({ type: 'issuer.status.observed', facts: missing }).wait(30_000);
    expect(issuer.askedOf('issuer.report')).toHaveLength(1);
  });

  test('but not if it is seen to be true before', () => {
    const issuer = readyIssuer().take(says({ reason: 'Refused' }), says());
    expect(issuer.wait(60_000).asked()).toEqual([]);
  });

  test('but what it reported itself, or is said of another object or by nobody, is none', () => {
    const issuer = readyIssuer();
    const silent: IssuerEvent = { type: 'issuer.status.observed', facts: null };
    for (const event of [says(), says({ reason: 'Refused' }, 'another'), silent]) issuer.take(event);
    expect(issuer.wait(60_000).asked()).toEqual([]);
  });

  test('is none while the Issuer is being checked, when nothing was reported yet', () => {
    const issuer: Issuer = new ActorDriver('issuer', '_', 'acme');
    issuer.take({ type: 'issuer.observed', facts: issuerFacts });
    expect(
      issuer
        .take(says({ reason: 'Refused' }))
        .wait(40_000)
        .askedOf('issuer.report'),
    ).toEqual([]);
  });
});

test('a status that cannot be written for five minutes needs a look, though the Issuer is well', () => {
  const issuer = readyIssuer();
  const denied: IssuerEvent = { type: 'effect.settled', effect: 'issuer.report', error: 'denied: frozen' };
  const written: IssuerEvent = { ...denied, error: null };
  const { text } = toldOf('issuer', issuer);
  for (let n = 0; n < 10; n++) issuer.take(denied).wait(30_000);
  expect(toldOf('issuer', issuer).health).toBe('ok');
  issuer.take(denied);
  const why = /^Its status could not be written since .*: denied: frozen; let Orrery patch issuers\/status/;
  expect(issuer.state).toBe('serving.ready');
  expect(toldOf('issuer', issuer).health).toBe('wrong');
  expect(toldOf('issuer', issuer).text.slice(text.length + 1)).toMatch(why);
  expect(toldOf('issuer', issuer.take(written))).toMatchObject({ health: 'ok', text });
  // One of that name that is made later begins anew.
  issuer.take(denied, { type: 'issuer.observed', facts: null });
  expect(issuer.context.unwritten).toBe(null);
});

test('the digest says what the actor compares with', () => {
  const metadata = { name: 'acme', uid: 'u', generation };
  const status = { observedGeneration: generation, rateLimitedUntil: null, outageSince: 'x' };
  const conditions = [{ type: 'Ready', ...ready, message: 'words', lastTransitionTime: 'x' }];
  const said = issuerPart({ metadata, spec: {}, status: { ...status, conditions } }).said;
  expect(said).toBe(saidIn({ generation, rateLimitedUntil: null, ...ready }));
  expect(issuerPart({ metadata, spec: {} }).said).toBe(saidNothing);
});
