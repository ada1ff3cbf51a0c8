/** An Issuer with more domains than it can serve at once: docs/features/certificates.md §5.8, §5.9. */
import { describe, expect, test } from 'vitest';
import { createStepper, type StepResult } from '../../../src/actors/host/step.ts';
import type { PermitAsked } from '../../../src/machines/domain/domain-events.ts';
import type { IssuerFacts } from '../../../src/machines/domain/domain-facts.ts';
import { issuerChart } from '../../../src/machines/issuer/issuer.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { issuerFacts } from '../../features/certificates/certificate-samples.ts';
import type { Effect } from '../any-effect.ts';

const second = 1_000;
const minute = 60 * second;

/** An Issuer that is not written to its record and back at each step, because of its thousand places. */
class Issuer {
  now = 1_700_000_000_000;
  readonly #stepper = createStepper(issuerChart);
  #deadlines = new Map<string, { readonly at: number; readonly event: IssuerEvent }>();
  #snapshot: StepResult['snapshot'] | null = null;
  #asked: Effect[] = [];

  copy(): Issuer {
    const other = new Issuer();
    other.now = this.now;
    other.#deadlines = new Map(this.#deadlines);
    other.#snapshot = this.#snapshot;
    return other;
  }

  get context(): IssuerContext {
    return (this.#snapshot as unknown as { readonly context: IssuerContext }).context;
  }

  get dueAt(): number {
    return Math.min(Number.POSITIVE_INFINITY, ...[...this.#deadlines.values()].map(({ at }) => at));
  }

  passTo(at: number): void {
    while (this.dueAt <= at) {
      const [id, due] = [...this.#deadlines].find(([, one]) => one.at === this.dueAt) ?? [];
      if (id === undefined || due === undefined) return;
      this.#deadlines.delete(id);
      this.now = Math.max(this.now, due.at);
      this.take(due.event);
    }
    this.now = Math.max(this.now, at);
  }

  take(event: IssuerEvent): void {
    const stamped = { ...event, at: this.now, random: 0.5 };
    const result =
      this.#snapshot === null
        ? this.#stepper.begin({ id: 'issuer/_/acme', namespace: '_', name: 'acme' }, stamped)
        : this.#stepper.step(this.#snapshot, stamped);
    this.#snapshot = result.snapshot;
    this.#asked.push(...(result.effects as unknown as readonly Effect[]));
    for (const change of result.timers) {
      this.#deadlines.delete(change.id);
      if (change.kind !== 'set') continue;
      this.#deadlines.set(change.id, {
        at: this.now + Math.max(0, change.delayMs),
        event: change.event as IssuerEvent,
      });
    }
  }

  messages(): Array<Extract<Effect, { readonly type: 'message.send' }>> {
    const asked = this.#asked;
    this.#asked = [];
    return asked.filter((effect) => effect.type === 'message.send');
  }
}

/** Hosts that ask one after another; each is the only one of its registered domain. */
function crowd(issuer: Issuer, namespace: string, from: number, count: number): Issuer {
  for (let n = from; n < from + count; n++) ask(issuer, namespace, n);
  return issuer;
}

function ask(issuer: Issuer, namespace: string, n: number, change: Partial<PermitAsked> = {}): void {
  const registered = `h${n}.${namespace}`;
  const domain = `domain/_/${registered}` as const;
  const since = issuer.now + n;
  issuer.take({ type: 'permit.asked', domain, registered, exempt: false, namespace, since, ...change });
}

/** With a budget for orders that is used up. @param ordersPer3h 300: one every 36 s */
function busy(ordersPer3h = 300, facts: Partial<IssuerFacts> = {}): Issuer {
  const budget = { ordersPer3h, certificatesPerDomainPer7d: 100_000, duplicatesPer7d: 5 };
  const issuer = new Issuer();
  issuer.take({ type: 'issuer.observed', facts: { ...issuerFacts, budget, ...facts } });
  issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  for (let n = 0; n < ordersPer3h; n++) {
    ask(issuer, 'past', n);
    const [domain, registered] = [`domain/_/h${n}.past`, `h${n}.past`] as const;
    const outcome = { outcome: 'issued', waitMs: 0, again: false, exempt: false } as const;
    issuer.take({ type: 'permit.returned', domain, registered, namespace: 'past', ...outcome });
  }
  issuer.messages();
  return issuer;
}

/** While it is verified nobody is served, which makes the questions cheap. */
function filled(issuer: Issuer, count: number): Issuer {
  issuer.take({ type: 'issuer.recheck' });
  crowd(issuer, 'bank', 0, count);
  issuer.take({ type: 'issuer.verified', check: issuer.context.check });
  return issuer;
}

let known: Issuer | undefined;

/** The same, with a queue that a thousand hosts of one namespace fill. */
function full(): Issuer {
  known ??= filled(busy(), 1_000);
  const issuer = known.copy();
  issuer.messages();
  return issuer;
}

/** What was told to whom, and in how many seconds they ask again. */
function told(issuer: Issuer, type = 'permit.deferred') {
  return issuer.messages().flatMap(({ to, event }) => {
    const { reason, until } = event as unknown as { readonly reason: string; readonly until: number };
    const inS = Math.round((until - issuer.now) / second);
    return event.type === type ? to.map((id) => ({ id: id.slice('domain/_/'.length), reason, inS })) : [];
  });
}

describe('§5.9: more domains than places', () => {
  test('those without a place are called one after another, as places become free', () => {
    const issuer = crowd(full(), 'bank', 1_000, 5);
    const away = told(issuer);
    expect(away.map(({ reason }) => reason)).toEqual(Array.from({ length: 5 }, () => 'full'));
    expect(away.map(({ inS }) => inS)).toEqual([37, 73, 109, 145, 181]);
    ask(issuer, 'shop', 0);
    // A namespace with few hosts has a place at once; the one that has waited least makes room.
    expect(told(issuer)[0]).toMatchObject({ id: 'h999.bank', reason: 'full', inS: 217 });
    expect(issuer.context.queue.some(({ namespace }) => namespace === 'shop')).toBe(true);
  });

  test('each namespace is called by itself, and nobody later than in a day', () => {
    const issuer = filled(busy(10), 500);
    issuer.take({ type: 'issuer.recheck' });
    crowd(issuer, 'shop', 0, 500);
    issuer.take({ type: 'issuer.verified', check: issuer.context.check });
    issuer.messages();
    crowd(issuer, 'bank', 500, 100);
    const waits = told(issuer).map(({ inS }) => inS);
    expect(Math.max(...waits)).toBeLessThanOrEqual(24 * 3_600);
    expect(waits.slice(-20).every((inS) => inS >= 12 * 3_600)).toBe(true);
    ask(issuer, 'shop', 500);
    expect(told(issuer)).toMatchObject([{ id: 'h500.shop', reason: 'full', inS: 1_081 }]);
  });

  test('who asks again has waited longer than those who came since, and gets a place', () => {
    const issuer = full();
    const since = issuer.now - minute;
    ask(issuer, 'bank', 2_000, { since });
    expect(told(issuer)[0]).toMatchObject({ id: 'h999.bank', reason: 'full' });
    expect(issuer.context.queue.at(-1)?.domain).toBe('domain/_/h2000.bank');
  });

  test('while the authority is away, those without a place ask seldom, and are told that it is', () => {
    const issuer = full();
    issuer.take({ type: 'issuer.recheck' });
    const { check } = issuer.context;
    issuer.take({ type: 'issuer.failed', check, outcome: 'down', message: 'no answer', retryAfterMs: null });
    issuer.messages();
    crowd(issuer, 'bank', 1_000, 3);
    expect(told(issuer)).toMatchObject([
      { reason: 'down', inS: 336 },
      { reason: 'down', inS: 372 },
      { reason: 'down', inS: 408 },
    ]);
    // What they were told would not be true for long.
    crowd(issuer, 'bank', 1_003, 120);
    expect(Math.max(...told(issuer).map(({ inS }) => inS))).toBeLessThanOrEqual(3_600);
  });

  test('after a limit on everybody they come one after another, too', () => {
    const issuer = full();
    issuer.take({ type: 'issuer.recheck' });
    const { check } = issuer.context;
    const failure = { outcome: 'rateLimited', message: 'slow down', retryAfterMs: 3_600_000 } as const;
    issuer.take({ type: 'issuer.failed', check, ...failure });
    issuer.messages();
    const { limitedUntil } = issuer.context;
    crowd(issuer, 'bank', 1_000, 3);
    const endsInS = Math.round(((limitedUntil ?? 0) - issuer.now) / second);
    expect(told(issuer).map(({ inS }) => inS - endsInS)).toEqual([36, 72, 108]);
  });

  test('a CA of one’s own calls them as fast as it signs', () => {
    const issuer = filled(busy(0, { kind: 'ca', budget: null }), 1_000);
    crowd(issuer, 'bank', 1_000, 64);
    issuer.messages();
    crowd(issuer, 'bank', 1_064, 100);
    expect(Math.max(...told(issuer).map(({ inS }) => inS))).toBeLessThanOrEqual(2);
  });
});

describe('§5.8: a host that a budget blocks is told when its turn comes', () => {
  test('as many orders later as go before, by turns of the namespaces', () => {
    const issuer = busy();
    crowd(issuer, 'bank', 0, 20);
    expect(told(issuer).map(({ inS }) => inS)).toEqual(Array.from({ length: 20 }, (_, n) => 36 * (n + 1)));
    crowd(issuer, 'shop', 0, 3);
    expect(told(issuer).map(({ inS }) => inS)).toEqual([72, 144, 216]);
  });

  test('and has it then', () => {
    const issuer = busy();
    crowd(issuer, 'bank', 0, 3);
    issuer.messages();
    for (const n of [0, 1, 2]) {
      issuer.passTo(issuer.now + 37 * second);
      expect(told(issuer, 'permit.granted')).toMatchObject([{ id: `h${n}.bank` }]);
    }
  });

  test('those that another budget blocks are not counted', () => {
    const issuer = busy(300, {
      budget: { ordersPer3h: 300, certificatesPerDomainPer7d: 1, duplicatesPer7d: 5 },
    });
    for (let n = 0; n < 9; n++) ask(issuer, 'bank', n, { registered: 'h0.past' });
    issuer.messages();
    ask(issuer, 'bank', 20);
    expect(told(issuer)).toMatchObject([{ id: 'h20.bank', reason: 'budget', inS: 36 }]);
  });
});
