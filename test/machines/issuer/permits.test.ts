/**
 * Domains and their Issuer with mail that is late and overtaken: whatever is repeated, and in whatever order
 * it comes, no permit counts for two orders (docs/features/certificates.md §5.1, §5.7), and none is held by
 * nobody.
 */
import { expect, test } from 'vitest';
import { type Chance, createChance } from '../../../packages/testing/time/chance.ts';
import type { DomainContext } from '../../../src/machines/domain/domain-context.ts';
import type { DomainEvent } from '../../../src/machines/domain/domain-events.ts';
import type {
  CertificateFacts,
  DomainFacts,
  IssuerFacts,
} from '../../../src/machines/domain/domain-facts.ts';
import type { IssuerContext } from '../../../src/machines/issuer/issuer-context.ts';
import type { IssuerEvent } from '../../../src/machines/issuer/issuer-events.ts';
import { permitMs } from '../../../src/machines/issuer/issuer-periods.ts';
import { domainFacts, inspected, issuerFacts } from '../../features/certificates/certificate-samples.ts';
import { ActorDriver } from '../actor-driver.ts';
import type { Effect } from '../any-effect.ts';

const second = 1_000;
const minute = 60 * second;
const ordersPer3h = 5;
/** Less than three hours divided by that budget: no order becomes free meanwhile. */
const lengthMs = 30 * minute;
const hosts = ['a.one.test', 'b.two.test', 'c.three.test'];

type Actor = ActorDriver<DomainEvent | IssuerEvent, DomainContext | IssuerContext>;
type Message = DomainEvent | IssuerEvent;

interface Coming {
  readonly at: number;
  readonly to: string;
  readonly event: Message;
}

/** Three domains, their Issuer, and the mail between them. */
class Village {
  orders = 0;
  /** The longest time for which the Issuer counted a permit as used, ms. */
  heldMs = 0;
  readonly #actors = new Map<string, Actor>();
  readonly #chance: Chance;
  readonly #stored = new Map<string, CertificateFacts>();
  #coming: Coming[] = [];
  #generation = 1;

  constructor(seed: number) {
    this.#chance = createChance(seed);
    this.#actors.set('issuer/_/acme', new ActorDriver('issuer', '_', 'acme') as Actor);
    for (const host of hosts)
      this.#actors.set(`domain/_/${host}`, new ActorDriver('domain', '_', host) as Actor);
    this.#edit();
  }

  get now(): number {
    return this.issuer.now;
  }

  get issuer(): ActorDriver<IssuerEvent, IssuerContext> {
    return this.#actors.get('issuer/_/acme') as unknown as ActorDriver<IssuerEvent, IssuerContext>;
  }

  /** Lets it go on, while people edit the Issuer and ask for other certificates. */
  run(ms: number): this {
    const until = this.now + ms;
    for (let disturbAt = this.now; this.now < until; ) {
      const next = Math.min(this.#nextAt(), disturbAt, until);
      this.#passTo(next);
      if (next !== disturbAt) continue;
      this.#disturb();
      disturbAt += this.#chance.seldomLong(second, 60 * second);
      const { inWork } = this.issuer.context;
      const held = Object.values(inWork).map((permit) => this.now + permitMs - permit.until);
      this.heldMs = Math.max(this.heldMs, ...held);
    }
    return this;
  }

  #nextAt(): number {
    const deadlines = [...this.#actors.values()].map((actor) => this.now + (actor.patience ?? minute));
    return Math.min(...deadlines, ...this.#coming.map(({ at }) => at));
  }

  #passTo(at: number): void {
    for (const [id, actor] of this.#actors) {
      actor.wait(Math.max(0, at - actor.now));
      this.#perform(id, actor);
    }
    const due = this.#coming.filter((one) => one.at <= at).sort((a, b) => a.at - b.at);
    this.#coming = this.#coming.filter((one) => one.at > at);
    for (const { to, event } of due) this.#tell(to, event);
  }

  #tell(to: string, event: Message): void {
    const actor = this.#actors.get(to);
    if (actor === undefined) return;
    actor.random = this.#chance.random.next();
    this.#perform(to, actor.take(event));
  }

  #perform(id: string, actor: Actor): void {
    for (const effect of actor.asked()) {
      if (effect.type === 'message.send')
        for (const to of effect.to) this.#later(to, effect.event as Message, this.#mailMs());
      const outcome = this.#outcomeOf(effect);
      if (outcome !== null) this.#later(id, outcome, this.#chance.seldomLong(50, 5 * second));
    }
  }

  #later(to: string, event: Message, inMs: number): void {
    this.#coming.push({ at: this.now + inMs, to, event });
  }

  /** What could not be stored at once is sent again after a pause, and later mail overtakes it. */
  #mailMs(): number {
    return this.#chance.happens(0.2) ? this.#chance.between(250, 30 * second) : 5;
  }

  #outcomeOf(effect: Effect): Message | null {
    switch (effect.type) {
      case 'issuer.verify':
        return { type: 'issuer.verified', check: effect.check };
      case 'certificate.inspect':
        return inspected(effect.attempt, { good: this.#stored.get(effect.host) ?? null });
      case 'acme.order':
        return this.#orderOf(effect.host, effect.attempt);
      case 'acme.authorize':
        return this.#chance.happens(0.2)
          ? failure(effect.attempt, 'refused')
          : { type: 'order.authorized', attempt: effect.attempt };
      case 'acme.finalize':
        return { type: 'certificate.received', attempt: effect.attempt, fingerprint: 'f1' };
      case 'certificate.store':
        return this.#storedOf(effect.host, effect.attempt);
      default:
        return null;
    }
  }

  #orderOf(host: string, attempt: number): Message {
    if (this.#chance.happens(0.2)) return failure(attempt, 'cluster');
    this.orders++;
    const order = { url: `https://ca/order/${host}/${this.orders}`, expires: this.now + 60 * minute };
    return { type: 'order.made', attempt, order };
  }

  #storedOf(host: string, attempt: number): Message {
    const notAfter = this.now + 90 * 24 * 60 * minute;
    const certificate = { fingerprint: 'f1', notBefore: this.now, notAfter, ariId: null };
    this.#stored.set(host, certificate);
    return { type: 'certificate.stored', attempt, certificate, foreign: [], refused: [] };
  }

  #disturb(): void {
    if (this.#chance.happens(0.3)) {
      this.#edit();
      return;
    }
    const host = this.#chance.pick(hosts) ?? '';
    const type = this.#chance.happens(0.8) ? 'domain.renew' : 'domain.recheck';
    this.#tell(`domain/_/${host}`, { type });
  }

  #edit(): void {
    const generation = this.#generation++;
    const budget = { ordersPer3h, certificatesPerDomainPer7d: 50, duplicatesPer7d: 50 };
    const facts: IssuerFacts = { ...issuerFacts, generation, budget };
    this.#tell('issuer/_/acme', { type: 'issuer.observed', facts });
    for (const host of hosts)
      this.#tell(`domain/_/${host}`, { type: 'domain.observed', facts: factsOf(host, generation) });
  }
}

const factsOf = (host: string, generation: number): DomainFacts => ({
  ...domainFacts,
  targets: [{ namespace: 'shop', secretName: host }],
  issuer: { name: 'acme', version: `issuer-uid/${generation}`, kind: 'acme', challenge: 'http01' },
  registered: host.split('.').slice(-2).join('.'),
});

const failure = (attempt: number, outcome: 'cluster' | 'refused') =>
  ({
    type: 'acquisition.failed',
    attempt,
    outcome,
    message: outcome,
    retryAfterMs: null,
    orderLost: false,
  }) as const;

test.each(Array.from({ length: 16 }, (_, n) => n + 1))(
  'mail that is late and overtaken leads to no order beyond a budget, and to no permit that nobody uses (seed %i)',
  (seed) => {
    const village = new Village(seed).run(lengthMs);
    expect(village.orders).toBeLessThanOrEqual(ordersPer3h);
    expect(village.heldMs).toBeLessThan(2 * minute);
  },
);
