/**
 * The issuer chart when a host finds it unusable and its own check does not, and when the authority refuses
 * with the order what every order asks for: §7.6.
 */
import { expect, test } from 'vitest';
import type { ActorId } from '../../../src/base/ids.ts';
import type { PermitReturned } from '../../../src/machines/domain/domain-events.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { tellIssuer } from '../../../src/machines/issuer/issuer-words.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';
import { toldOf } from '../told.ts';

type Issuer = ActorDriver<IssuerEvent, IssuerContext>;

const minute = 60_000;
const message = 'the Secret ca/internal: its certificate expired (found by replica orrery-2)';
const idOf = (host: string): ActorId => `domain/_/${host}`;
const asker = (host: string) => ({ domain: idOf(host), registered: host, exempt: false });

const verified = (issuer: Issuer) => issuer.take({ type: 'issuer.verified', check: issuer.context.check });

function ready(): Issuer {
  const issuer: Issuer = new ActorDriver('issuer', '_', 'internal');
  return verified(
    issuer.take({ type: 'issuer.observed', facts: { ...issuerFacts, kind: 'ca', budget: null } }),
  );
}

/** As the domain does: it says so, keeps its place, and asks. */
function findsUnusable(issuer: Issuer, host = 'a.test', change: Partial<PermitReturned> = {}): Issuer {
  const one = asker(host);
  const given = { outcome: 'unusable', waitMs: 0, again: true, message } as const;
  issuer.take({ type: 'permit.returned', ...one, ...given, ...change });
  return issuer.take({ type: 'permit.asked', ...one });
}

/** What it was told since the last look. */
const told = (issuer: Issuer) => issuer.askedOf('message.send').map(({ event }) => event);

/** Asked, granted, and found unusable although the check is passed each time. */
function alone(): Issuer {
  const issuer = ready().take({ type: 'permit.asked', ...asker('a.test') });
  findsUnusable(issuer);
  expect(issuer.state).toBe('verifying');
  verified(issuer);
  expect(told(issuer).at(-1)).toMatchObject({ type: 'permit.granted' });
  return findsUnusable(issuer);
}

test('is checked at once when a host finds it unusable, and the host tries again', () => {
  alone();
});

test('a host that finds it unusable alone waits, a minute, doubling to an hour, and is told who found what', () => {
  const issuer = alone();
  expect(issuer.state).toBe('serving.ready');
  const inMs: number[] = [];
  for (let time = 0; time < 8; time++) {
    const [why] = told(issuer).filter(({ type }) => type === 'permit.deferred');
    expect(why).toMatchObject({ reason: 'notReady', message: expect.stringContaining(message) });
    expect(why).toMatchObject({ message: expect.stringContaining('its own check found it usable') });
    inMs.push(Number(why?.until) - issuer.now);
    issuer.wait(inMs.at(-1) ?? 0);
    expect(told(issuer)).toMatchObject([{ type: 'permit.granted' }]);
    findsUnusable(issuer);
    // A check is worth something again after five minutes.
    if (issuer.state === 'verifying') verified(issuer);
  }
  expect(inMs.map((ms) => ms / minute)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
});

test('others have their turn meanwhile, and nobody makes it check again and again', () => {
  const issuer = alone();
  const { check } = issuer.context;
  issuer.asked();
  for (const host of ['b.test', 'c.test']) issuer.take({ type: 'permit.asked', ...asker(host) });
  expect(told(issuer)).toMatchObject([{ type: 'permit.granted' }, { type: 'permit.granted' }]);
  findsUnusable(issuer.wait(minute));
  expect(issuer.context.check).toBe(check);
});

test('says for whom it is unusable', () => {
  const issuer = alone();
  const { context, now: at } = issuer;
  expect(tellIssuer({ states: ['serving.ready'], context, at } as never).text).toContain(
    `a.test could not use it: ${message}`,
  );
});

test.each([
  ['a certificate', (issuer: Issuer) => findsUnusable(issuer, 'a.test', { outcome: 'issued', again: false })],
  ['a person who asks for a check', (issuer: Issuer) => verified(issuer.take({ type: 'issuer.recheck' }))],
  [
    'a check that finds the same',
    (issuer: Issuer) => {
      issuer.take({ type: 'issuer.recheck' });
      const failed = { outcome: 'refused', message: 'it expired', retryAfterMs: null } as const;
      issuer.take({ type: 'issuer.failed', check: issuer.context.check, ...failed });
      verified(issuer.wait(5 * minute));
    },
  ],
])('%s ends it', (_, end) => {
  const issuer = alone();
  end(issuer);
  expect(told(issuer).at(-1)).toMatchObject({ type: 'permit.granted' });
  findsUnusable(issuer);
  expect(issuer.context.limits['h/a.test']?.times).toBe(0);
});

const refusal = 'ca/order answered 400: invalidProfile (no profile short)';
const version = `${issuerFacts.uid}/${issuerFacts.generation}`;
/** As the authority answers an order that names a profile it has not. */
const isRefusedItsOrder = (issuer: Issuer, host = 'a.test', refusedSpec = version) =>
  findsUnusable(issuer, host, { refusedSpec, message: refusal });
const asks = (issuer: Issuer, ...hosts: string[]) =>
  hosts.reduce((one, host) => one.take({ type: 'permit.asked', ...asker(host) }), issuer);
const grants = (issuer: Issuer) => told(issuer).filter(({ type }) => type === 'permit.granted').length;

/** Its condition, as it was reported last. */
const isReady = (issuer: Issuer) => issuer.askedOf('issuer.report').at(-1)?.status.conditions[0];

/** The first order was refused. */
function refused(): Issuer {
  const issuer = asks(ready(), 'a.test');
  issuer.asked();
  return isRefusedItsOrder(issuer);
}

test('§7.6: what the authority refuses with an order is told once, at the Issuer, and nobody orders', () => {
  const issuer = refused();
  expect(issuer.state).toBe('refused');
  expect(issuer.askedOf('issuer.report').at(-1)).toMatchObject({
    status: {
      conditions: [{ status: 'False', reason: 'Refused', message: expect.stringContaining(refusal) }],
    },
    notice: { eventType: 'Warning', reason: 'NotUsable', note: refusal },
  });
  asks(issuer, 'b.test');
  const why = { type: 'permit.deferred', reason: 'notReady', message: refusal };
  expect(told(issuer)).toMatchObject([why]);
});

test('§7.6: the order is tried again by one host, after 5 min, doubling to a day, until the Issuer is edited', () => {
  const issuer = asks(refused(), 'b.test', 'c.test');
  const { readySince } = issuer.context;
  const inMin: number[] = [];
  for (let time = 0; time < 11; time++) {
    const since = issuer.now;
    while (issuer.state === 'refused') issuer.wait(minute);
    inMin.push((issuer.now - since) / minute);
    issuer.asked();
    verified(issuer);
    expect(issuer.state).toBe('serving.trying');
    expect(issuer.context).toMatchObject({ isReady: false, readySince });
    expect(grants(issuer)).toBe(1);
    isRefusedItsOrder(issuer, Object.keys(issuer.context.inWork)[0]?.slice('domain/_/'.length));
  }
  expect(inMin).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_440, 1_440]);
  issuer.asked();
  const facts = { ...issuerFacts, kind: 'ca' as const, budget: null, generation: 2 };
  verified(issuer.take({ type: 'issuer.observed', facts }));
  expect(issuer.state).toBe('serving.ready');
  expect(grants(issuer)).toBe(3);
});

test('§7.6: it stays refused while nobody tries again, and until a good answer', () => {
  const issuer = refused();
  issuer.take({ type: 'permit.returned', ...asker('a.test'), outcome: 'unused', waitMs: 0, again: false });
  verified(issuer.wait(5 * minute));
  expect(issuer.state).toBe('serving.trying');
  expect(issuer.context.queue).toEqual([]);
  expect(isReady(issuer)).toMatchObject({ status: 'False', reason: 'Refused' });
  verified(issuer.wait(60 * minute));
  expect(isReady(issuer)).toMatchObject({ status: 'False', reason: 'Refused' });
  expect(issuer.context.isReady).toBe(false);
  findsUnusable(asks(issuer, 'b.test'), 'b.test', { outcome: 'issued', again: false });
  expect(isReady(issuer)).toMatchObject({ status: 'True', reason: 'Verified', since: issuer.now });
});

test('§7.6: it needs a look until a good answer, also while one domain may try, and says what it waits for', () => {
  const shown = (issuer: Issuer) => {
    const { health, text } = toldOf('issuer', issuer);
    return [issuer.state, health, text];
  };
  const issuer = refused();
  issuer.take({ type: 'permit.returned', ...asker('a.test'), outcome: 'unused', waitMs: 0, again: false });
  issuer.wait(5 * minute);
  expect(shown(issuer).slice(0, 2)).toEqual(['verifying', 'wrong']);
  const text = `Issuer internal could not be used: ${refusal}; one domain at a time tries it, until an order is taken.`;
  expect(shown(verified(issuer))).toEqual(['serving.trying', 'wrong', text]);
  expect(shown(issuer.wait(20 * minute))).toEqual(['serving.trying', 'wrong', text]);
  findsUnusable(asks(issuer, 'b.test'), 'b.test', { outcome: 'issued', again: false });
  expect(shown(issuer).slice(0, 2)).toEqual(['serving.ready', 'ok']);
});

test('§7.6: who asks for a check has it tried at once, by one host, and the pauses begin anew', () => {
  const issuer = refused();
  for (let time = 0; time < 6; time++) {
    while (issuer.state === 'refused') issuer.wait(minute);
    isRefusedItsOrder(verified(issuer));
  }
  issuer.asked();
  verified(issuer.take({ type: 'issuer.recheck' }));
  expect([issuer.state, issuer.context.isReady, grants(issuer)]).toEqual(['serving.trying', false, 1]);
  isRefusedItsOrder(issuer);
  const since = issuer.now;
  while (issuer.state === 'refused') issuer.wait(minute);
  expect((issuer.now - since) / minute).toBe(10);
});

test('§7.4: a host whose orders alone are refused waits by itself, once another had its certificate', () => {
  const issuer = asks(refused(), 'b.test');
  verified(issuer.wait(5 * minute));
  expect(issuer.context.inWork).toHaveProperty(idOf('b.test'));
  findsUnusable(issuer, 'b.test', { outcome: 'issued', again: false });
  expect(issuer.state).toBe('serving.ready');
  issuer.asked();
  for (let time = 0; time < 4; time++) {
    isRefusedItsOrder(issuer);
    expect(issuer.state).toBe('serving.ready');
    const [why] = told(issuer).filter(({ type }) => type === 'permit.deferred');
    expect(why).toMatchObject({ reason: 'notReady', message: refusal });
    issuer.wait(Number(why?.until) - issuer.now);
    expect(grants(issuer)).toBe(1);
  }
});

test('an order that was refused for a former specification says nothing of the present one', () => {
  const issuer = asks(ready(), 'a.test');
  isRefusedItsOrder(issuer, 'a.test', `${issuerFacts.uid}/0`);
  expect(issuer.state).toBe('verifying');
});
