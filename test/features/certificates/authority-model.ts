/**
 * An authority, and the Secrets for its certificates, as the effects of a TestCluster see them: each step
 * takes a while, and its result outlives whoever caused it. `meanwhile` says what must fail, or happen in the
 * middle of a step.
 */
import type { EffectContext } from '../../../src/actors/effect-runner.ts';
import type { EffectData } from '../../../src/actors/host/step.ts';
import { sleep } from '../../../src/base/clock.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { encode } from '../../../src/bus/codec.ts';
import type { DomainStatus, domainEffects } from '../../../src/machines/domain/domain-effects.ts';
import type { AcquisitionFailed } from '../../../src/machines/domain/domain-events.ts';
import type { CertificateFacts, DomainSource, Target } from '../../../src/machines/domain/domain-facts.ts';
import type { EffectDeclaration } from '../../../src/machines/effect.ts';
import { TestCluster } from '../../actors/harness.ts';

type EffectIn<D> = D extends EffectDeclaration<infer E> ? E : never;
type DomainEffect = EffectIn<(typeof domainEffects)[number]>;

const day = 86_400_000;
const base = { resourceVersion: '1', createdAt: 0, deleting: false, labels: {}, generation: 1 };
const keyOf = ({ namespace, secretName }: Target) => `${namespace}/${secretName}`;

interface Order {
  readonly host: string;
  readonly url: string;
  status: 'pending' | 'ready' | 'valid';
}

export interface ModelOptions {
  readonly lifeMs?: number;
  readonly kind?: 'acme' | 'ca';
}

export class AuthorityModel {
  readonly cluster = new TestCluster();
  readonly orders: Order[] = [];
  /** The content of each Secret. */
  readonly secrets = new Map<string, CertificateFacts>();
  /** Every write of a Secret that changed it, in order: `shop/a.example.com f3`. */
  readonly writes: string[] = [];
  readonly statuses = new Map<string, DomainStatus>();
  /** The objects that were told last that the host is not theirs. */
  readonly refused = new Map<string, readonly DomainSource[]>();
  isUp = true;
  /** Attempts to reach the authority: when, and for which host. */
  readonly attempts: Array<{ readonly at: number; readonly host: string }> = [];
  /** Called in the middle of each step; what it returns fails the step. */
  meanwhile: (effect: EffectData, replica: string) => Partial<AcquisitionFailed> | undefined = () =>
    undefined;
  readonly #pending = new Map<string, { certificate: CertificateFacts; at: Target }>();
  readonly #options: Required<ModelOptions>;

  constructor(options: ModelOptions = {}) {
    this.#options = { lifeMs: 90 * day, kind: 'acme', ...options };
    this.cluster.outside = (effect, run, replica) =>
      this.#run(effect as unknown as DomainEffect, run, replica);
  }

  /** The Issuer, the hosts, and the statements that everything is listed. */
  async ask(...hosts: string[]): Promise<void> {
    const acme = this.#options.kind === 'acme' ? { challenge: 'http01', server: 'https://ca' } : null;
    const ca =
      acme === null ? { secret: { namespace: 'shop', name: 'ca' }, lifetimeMs: this.#options.lifeMs } : null;
    const spec = { domains: ['**.example.com'], acme, ca, budget: null };
    await this.cluster.put('issuers.orrery.dev', '', 'acme', {
      kind: 'issuers',
      uid: 'issuer-uid',
      ...base,
      spec,
    });
    for (const host of hosts) await this.domain('shop', host);
    for (const resource of [
      'services',
      'orrery.dev/v1alpha1/Domain',
      'orrery.dev/v1alpha1/Issuer',
      'networking.k8s.io/v1/Ingress',
      'v1/Secret',
    ]) {
      await this.cluster.put('_synced', '', resource, { kind: 'synced', gates: [], resource });
    }
    await this.cluster.clock.advance(5);
  }

  /** A Domain of that name asks for the host. */
  async domain(namespace: string, host: string, change: object = {}): Promise<void> {
    const spec = { host, secretName: host, issuer: null };
    const digest = { kind: 'domains', uid: `uid-${namespace}-${host}`, ...base, spec, ...change };
    await this.cluster.put('domains.orrery.dev', namespace, host, digest);
    await this.cluster.clock.advance(5);
  }

  async retire(host: string): Promise<void> {
    await this.cluster.put('domains.orrery.dev', 'shop', host, null);
    await this.cluster.clock.advance(5);
  }

  /** Somebody deletes the Secret, and the world shows it. */
  async remove(host: string): Promise<void> {
    this.secrets.delete(`shop/${host}`);
    await this.cluster.put('secrets', 'shop', host, null);
    await this.cluster.clock.advance(5);
  }

  async #run(effect: DomainEffect, run: EffectContext, replica: string): Promise<PlainEvent> {
    const pauseMs = effect.type === 'certificate.inspect' || effect.type === 'domain.report' ? 2 : 100;
    await sleep(this.cluster.clock, pauseMs / 2, run.signal);
    const failure = this.meanwhile(effect as never, replica);
    await sleep(this.cluster.clock, pauseMs / 2, run.signal);
    if (failure !== undefined && 'attempt' in effect) {
      const failed = { outcome: 'refused', message: 'no', retryAfterMs: null, orderLost: false, ...failure };
      return { type: 'acquisition.failed', attempt: effect.attempt, ...failed };
    }
    return this.#outcome(effect, run);
  }

  async #outcome(effect: DomainEffect, run: EffectContext): Promise<PlainEvent> {
    switch (effect.type) {
      case 'certificate.inspect':
        return this.#inspected(effect);
      case 'acme.order':
      case 'acme.authorize':
      case 'acme.finalize':
        return this.#speak(effect);
      case 'certificate.store':
        return this.#stored(effect, run);
      case 'ari.fetch':
        return { type: 'ari.unavailable', fingerprint: effect.fingerprint, retryAfterMs: null };
      case 'domain.report':
        this.statuses.set(effect.host, effect.status);
        this.refused.set(effect.host, effect.refused ?? []);
        return { type: 'effect.settled', effect: effect.type, error: null };
      case 'pending.discard':
        return { type: 'effect.settled', effect: effect.type, error: null };
      default:
        return this.#verified(effect as never);
    }
  }

  #verified({ type, check }: { readonly type: string; readonly check: number }): PlainEvent {
    if (type !== 'issuer.verify') return { type: 'effect.settled', effect: type, error: null };
    if (this.isUp) return { type: 'issuer.verified', check };
    return { type: 'issuer.failed', check, outcome: 'down', message: 'no answer', retryAfterMs: null };
  }

  #inspected({ host, attempt, targets }: Extract<DomainEffect, { type: 'certificate.inspect' }>): PlainEvent {
    const good =
      targets.map((target) => this.secrets.get(keyOf(target))).find((one) => one !== undefined) ?? null;
    const pending = this.#pending.get(host);
    return {
      type: 'certificate.inspected',
      attempt,
      good,
      missing: good === null ? targets : targets.filter((target) => !this.secrets.has(keyOf(target))),
      foreign: [],
      pending: pending === undefined ? null : { ...pending.certificate, at: pending.at },
    };
  }

  #speak(
    effect: Extract<DomainEffect, { type: 'acme.order' | 'acme.authorize' | 'acme.finalize' }>,
  ): PlainEvent {
    const { host, attempt } = effect;
    this.attempts.push({ at: this.cluster.clock.now(), host });
    if (!this.isUp) {
      const failed = { outcome: 'down', message: 'no answer', retryAfterMs: null, orderLost: false };
      return { type: 'acquisition.failed', attempt, ...failed };
    }
    if (effect.type === 'acme.order') {
      const order: Order = { host, url: `https://ca/order/${this.orders.length}`, status: 'pending' };
      this.orders.push(order);
      return {
        type: 'order.made',
        attempt,
        order: { url: order.url, expires: this.cluster.clock.now() + day },
      };
    }
    const order = this.orders.find(({ url }) => url === effect.order.url);
    if (!order) throw new Error(`there is no order ${effect.order.url}`);
    if (effect.type === 'acme.authorize') {
      if (order.status === 'pending') order.status = 'ready';
      return { type: 'order.authorized', attempt };
    }
    if (order.status === 'ready') {
      order.status = 'valid';
      this.#pending.set(host, { certificate: this.#issue(order.url), at: effect.at });
    }
    return { type: 'certificate.received', attempt, fingerprint: `f-${order.url}` };
  }

  #issue(id: string): CertificateFacts {
    const notBefore = this.cluster.clock.now();
    return { fingerprint: `f-${id}`, notBefore, notAfter: notBefore + this.#options.lifeMs, ariId: null };
  }

  async #stored(
    effect: Extract<DomainEffect, { type: 'certificate.store' }>,
    run: EffectContext,
  ): Promise<PlainEvent> {
    const { host, attempt, targets, from } = effect;
    const known = targets.map((target) => this.secrets.get(keyOf(target))).find((one) => one !== undefined);
    const made = from === 'ca' ? this.#issue(run.key) : (this.#pending.get(host)?.certificate ?? known);
    const certificate = known?.fingerprint === made?.fingerprint ? known : made;
    if (!certificate) throw new Error(`there is nothing to store for ${host}`);
    for (const target of targets) {
      if (this.secrets.get(keyOf(target))?.fingerprint === certificate.fingerprint) continue;
      this.secrets.set(keyOf(target), certificate);
      this.writes.push(`${keyOf(target)} ${certificate.fingerprint}`);
      const { fingerprint, notBefore, notAfter } = certificate;
      const digest = {
        uid: `secret-${host}`,
        resourceVersion: '1',
        createdAt: 0,
        deleting: false,
        labels: {},
      };
      await this.#show(target, {
        kind: 'secrets',
        ...digest,
        host,
        fingerprint,
        hosts: [host],
        notBefore,
        notAfter,
      });
    }
    this.#pending.delete(host);
    return { type: 'certificate.stored', attempt, certificate, foreign: [], refused: [] };
  }

  /** The mirror shows the Secret a moment later. */
  async #show({ namespace, secretName }: Target, digest: object): Promise<void> {
    const subject = this.cluster.subjects.world('secrets', namespace, secretName);
    const bus = this.cluster.hub.connect('secrets');
    this.cluster.clock.after(20, () => void bus.append(subject, encode(digest)));
  }
}
