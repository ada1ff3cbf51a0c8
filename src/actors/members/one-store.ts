/**
 * Whether all replicas of this cluster name work with the same streams.
 *
 * Where subjects are shared and streams are not – a leaf node with a JetStream of its own – replicas hear one
 * another, and yet each side has fences of its own: every shard would have two owners (I2). So each replica
 * tells in its heartbeats with which state stream it works. One that starts and hears a replica serve with
 * another stands aside; where both serve already, because the way between them was cut, those with the
 * younger stream do. Whoever stood aside goes on when the other says that it does not serve, or both have the
 * same stream, and not when the other is silent, because that may be a restart: it goes on once another
 * process of that name serves with the same stream. Promise: who does not know its stream, or is not told
 * another's, goes on as if there were one.
 */
import { asError, attempt } from '../../base/errors.ts';
import type { Ambient } from '../../base/log-port.ts';
import type { Bus } from '../../bus/bus.ts';
import type { FeatureRun, Gauge } from '../feature.ts';
import type { Directory } from './directory.ts';
import { learn } from './learning.ts';
import type { Member } from './members.ts';

interface OneStoreParts extends Ambient {
  readonly bus: Pick<Bus, 'streamState' | 'onStatus'>;
  /** Orrery's name on NATS. */
  readonly cluster: string;
}

interface Elder {
  readonly replica: string;
  readonly store: string;
  readonly firstHeard: number;
  lastHeard: number;
}

const retryMs = { first: 500, most: 10_000 };
/** The pause between two looks at the own stream, while others work with another one. */
const lookMs = 1_000;
/**
 * A stream that was made again is known to all within 3 s (keep-streams.ts, and `lookMs`); until then, what
 * others tell may be the former one.
 */
const settledAfterMs = 5_000;

const told =
  'a replica works with the streams of another JetStream under this cluster name: one of the two sides serves nothing. All replicas must use one JetStream: a leaf node must have none of its own for this account, and name the domain of its hub (default_js_domain)';

export class OneStore {
  readonly #parts: OneStoreParts;
  readonly #over = new AbortController();
  #own: string | null = null;
  /** Monotonic ms. */
  #changedAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #hasStarted = false;
  /** By incarnation: those for which this replica stands aside. */
  readonly #elders = new Map<string, Elder>();
  #strangers: readonly Member[] = [];

  constructor(parts: OneStoreParts) {
    this.#parts = parts;
  }

  /** For the heartbeats of this replica. */
  told(): Pick<Member, 'store'> {
    return this.#own === null ? {} : { store: this.#own };
  }

  run(engine: { readonly directory: Directory }): FeatureRun {
    const subscription = this.#parts.bus.onStatus((status) => {
      if (status === 'connected') this.#lookAgain();
    });
    return {
      prepare: () => learn(this.#parts, () => this.#learn(), retryMs, this.#over.signal),
      started: () => {
        this.#hasStarted = true;
      },
      blocked: () => this.#blocked(engine),
      isOutside: () => this.#blocked(engine) !== null,
      remarks: () => this.#remarks(engine),
      gauges: () => this.#gauges(engine),
      stop: () => {
        subscription.stop();
        this.#over.abort(new Error('the replica ends'));
      },
    };
  }

  async #learn(): Promise<void> {
    try {
      await this.#read();
    } catch (thrown) {
      this.#parts.log.debug({ error: asError(thrown).message }, 'which state stream this is cannot be read');
      throw thrown;
    }
  }

  async #read(): Promise<void> {
    const { bus, clock } = this.#parts;
    const { created, domain } = await bus.streamState('state');
    // A stream that is restored elsewhere from a backup has the same time.
    const store = domain === undefined ? created : `${created} ${domain}`;
    if (store === this.#own) return;
    if (this.#own !== null) this.#changedAt = clock.monotonic();
    this.#own = store;
  }

  #lookAgain(): void {
    if (this.#own === null) return;
    this.#lookedAt = this.#parts.clock.monotonic();
    // If it cannot be read now, the next look may tell.
    this.#read().catch(() => undefined);
  }

  #blocked(engine: { readonly directory: Directory }): string | null {
    this.#look(engine);
    const [elder] = this.#elders.values();
    if (elder === undefined) return null;
    return `replica ${elder.replica} works with the streams of another JetStream${domainOf(elder.store)} under the same --cluster ${this.#parts.cluster}, this one with those of a JetStream${domainOf(this.#own)} of its own: turn that off for this account where it should not be, and name the domain of the hub (default_js_domain). If it is the other one's mistake, start this replica again once that one is away`;
  }

  #remarks(engine: { readonly directory: Directory }): readonly string[] {
    this.#look(engine);
    if (this.#elders.size > 0 || this.#strangers.length === 0) return [];
    const names = this.#strangers.map(({ replica, store = '' }) => `${replica}${domainOf(store)}`).join(', ');
    return [
      `work with the streams of another JetStream under the same --cluster: ${names}. Those streams take what is written here, too, and answer: delete them once nobody uses them`,
    ];
  }

  #gauges(engine: { readonly directory: Directory }): readonly Gauge[] {
    this.#look(engine);
    const value = this.#elders.size + this.#strangers.length > 0 ? 1 : 0;
    return [{ name: 'orrery_nats_second_store', labels: { sign: 'replicas' }, value }];
  }

  #look(engine: { readonly directory: Directory }): void {
    // Before the engine has started, nobody is known.
    const directory = attempt(() => engine.directory, null);
    const live = directory?.live() ?? null;
    const own = this.#own;
    if (directory === null || live === null || own === null) return;
    const now = this.#parts.clock.monotonic();
    const isOther = ({ store }: Member) => store !== undefined && store !== own;
    // Also those that start: they may know a stream that was made again, and this replica not yet.
    if (now - this.#lookedAt >= lookMs && directory.all().some(isOther)) this.#lookAgain();
    const before = this.#strangers;
    this.#strangers = [...live.values()].filter(isOther);
    this.#noteElders(directory, live, now);
    for (const one of this.#strangers) {
      if (before.some(({ incarnation }) => incarnation === one.incarnation)) continue;
      this.#parts.log.error({ other: one.replica, its: one.store, own }, told);
    }
  }

  #noteElders(directory: Pick<Directory, 'isPresent'>, live: ReadonlyMap<string, Member>, now: number): void {
    const own = this.#own ?? '';
    const isServing = this.#hasStarted && this.#elders.size === 0;
    const isSettled = now - this.#changedAt >= settledAfterMs;
    for (const { incarnation, replica, store = own, serving } of live.values()) {
      const known = this.#elders.get(incarnation);
      if (store === own || !serving) this.#elders.delete(incarnation);
      else if (known?.store === store) known.lastHeard = now;
      else if (isSettled && (!isServing || store < own))
        this.#elders.set(incarnation, { replica, store, firstHeard: now, lastHeard: now });
    }
    for (const [incarnation, { replica, store, firstHeard, lastHeard }] of this.#elders) {
      const isGone = lastHeard < now && lastHeard - firstHeard < settledAfterMs;
      const heir = live.get(replica);
      const isWithUs = heir?.serving === true && heir.store === own;
      const isReplaced = isWithUs && !directory.isPresent(replica, incarnation);
      if (store === own || isGone || isReplaced) this.#elders.delete(incarnation);
    }
  }
}

/** In words, if it has one. */
function domainOf(store: string | null): string {
  const domain = store?.split(' ')[1];
  return domain === undefined ? '' : ` (domain ${domain})`;
}
