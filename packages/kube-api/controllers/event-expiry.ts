/**
 * Forgets Events an hour after their last change, as the real server does; otherwise they would fill the
 * memory.
 */
import type { Timer } from '../../../src/base/clock.ts';
import type { Change, Version } from '../storage/version.ts';
import type { Cluster } from '../verb-parts.ts';

/** Kubernetes' default lifetime of an Event, ms. */
const eventLifeMs = 3_600_000;

export class EventExpiry {
  readonly #cluster: Cluster;
  /** Oldest first. An Event that has changed since has another entry further on. */
  readonly #waiting: Array<{ readonly endsAt: number; readonly version: Version }> = [];
  #timer: Timer | undefined;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  note(change: Change): void {
    if (change.storage !== 'events' || change.current === null) return;
    this.#waiting.push({ endsAt: this.#cluster.clock.monotonic() + eventLifeMs, version: change.current });
    this.#timer ??= this.#cluster.clock.after(eventLifeMs, () => this.#expire());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #expire(): void {
    const now = this.#cluster.clock.monotonic();
    const firstLeft = this.#waiting.findIndex(({ endsAt }) => endsAt > now);
    const ended = this.#waiting.splice(0, firstLeft < 0 ? this.#waiting.length : firstLeft);
    for (const { version } of ended) this.#forget(version);
    const next = this.#waiting[0];
    this.#timer = next && this.#cluster.clock.after(next.endsAt - now, () => this.#expire());
  }

  #forget({ object, revision }: Version): void {
    const place = { namespace: object.metadata.namespace ?? '', name: object.metadata.name };
    const current = this.#cluster.store.collection('events').get(place);
    if (current?.revision === revision) this.#cluster.store.remove('events', place);
  }
}
