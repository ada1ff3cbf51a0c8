/**
 * A program with client-go's leader election (tools/leaderelection, v0.36): its rules, on a clock of its own.
 * It knows nothing of terms.
 */

import type { SimProcess } from '../../../packages/testing/replicas/process.ts';
import type { Chance } from '../../../packages/testing/time/chance.ts';
import { equal } from '../../../src/base/equal.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import { kubeMicroTime } from '../../../src/base/kube-time.ts';
import { leaseRecordOf } from '../../../src/features/elections/lease.ts';
import { leases } from '../../../src/features/elections/resources.ts';
import type { LeaseRecord } from '../../../src/machines/election/lease-record.ts';
import type { Belief } from './nats-candidate.ts';

export interface ClientGoParts {
  readonly process: SimProcess;
  readonly kube: KubePort;
  readonly chance: Chance;
  readonly place: { readonly namespace: string; readonly name: string };
  readonly name: string;
  readonly leaseSeconds: number;
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
  readonly releaseOnCancel: boolean;
  /** World time. */
  readonly now: () => number;
  readonly onBelief: (belief: Belief) => void;
}

/** Jitter of client-go's acquire loop. */
const jitter = 1.2;

export class ClientGo {
  readonly name: string;
  belief: Belief | null = null;
  readonly #parts: ClientGoParts;
  #seen: { record: LeaseRecord; at: number } | null = null;
  #isEnding = false;

  constructor(parts: ClientGoParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.#acquire();
  }

  get isLeading(): boolean {
    return this.belief !== null && this.belief.until > this.#parts.now();
  }

  get process(): SimProcess {
    return this.#parts.process;
  }

  /** Ends in good order. */
  end(): void {
    this.#isEnding = true;
  }

  #acquire(): void {
    const { process, retryMs, chance } = this.#parts;
    process.clock.after(retryMs * chance.between(1, jitter), () => {
      if (this.#isEnding) return process.die();
      void this.#tryOnce(retryMs).then((isWon) =>
        isWon ? this.#renew(process.clock.monotonic()) : this.#acquire(),
      );
    });
  }

  /** @param since its own monotonic time of the last success */
  #renew(since: number): void {
    const { process, retryMs, renewDeadlineMs } = this.#parts;
    const { clock } = process;
    clock.after(retryMs, () => {
      if (this.#isEnding) return void this.#release().then(() => process.die());
      const leftMs = since + renewDeadlineMs - clock.monotonic();
      if (leftMs <= 0) return this.#lose();
      const sentAt = clock.monotonic();
      void this.#tryOnce(leftMs).then((isOurs) => {
        if (this.#seen?.record.holder !== this.name) return this.#lose();
        this.#renew(isOurs ? sentAt : since);
      });
    });
  }

  #lose(): void {
    this.belief = null;
    this.#acquire();
  }

  /** tryAcquireOrRenew */
  async #tryOnce(timeoutMs: number): Promise<boolean> {
    const { kube, place, now, process, renewDeadlineMs } = this.#parts;
    const signal = within(process, timeoutMs);
    const sentAt = now();
    try {
      const known = await kube.get(leases, place.namespace, place.name, signal).catch(notFound);
      if (known === null) {
        const made = await kube.create(leases, { metadata: place, spec: this.#spec(null) }, signal);
        this.#see(leaseRecordOf(made));
      } else {
        this.#see(leaseRecordOf(known));
        if (!this.#mayTake()) return false;
        const written = await kube.replace(leases, { ...known, spec: this.#spec(known) }, signal);
        this.#see(leaseRecordOf(written));
      }
    } catch {
      return false;
    }
    const until = sentAt + renewDeadlineMs;
    this.belief = { who: this.name, election: `${place.namespace}/${place.name}`, term: null, until };
    this.#parts.onBelief(this.belief);
    return true;
  }

  #see(record: LeaseRecord): void {
    if (!equal(this.#seen?.record, record))
      this.#seen = { record, at: this.#parts.process.clock.monotonic() };
  }

  #mayTake(): boolean {
    if (this.#seen === null) return false;
    const { record, at } = this.#seen;
    const isOver = at + record.durationSeconds * 1_000 <= this.#parts.process.clock.monotonic();
    return record.holder === '' || record.holder === this.name || isOver;
  }

  #spec(known: KubeObject | null) {
    const { leaseSeconds, process } = this.#parts;
    const record = known === null ? null : leaseRecordOf(known);
    const time = kubeMicroTime(process.clock.now());
    const isOurs = record?.holder === this.name;
    return {
      holderIdentity: this.name,
      leaseDurationSeconds: leaseSeconds,
      acquireTime: isOurs ? record.acquireTime : time,
      renewTime: time,
      leaseTransitions: record === null ? 0 : record.transitions + (isOurs ? 0 : 1),
    };
  }

  async #release(): Promise<void> {
    const { kube, place, process, releaseOnCancel, renewDeadlineMs } = this.#parts;
    const wasLeading = this.isLeading;
    this.belief = null;
    if (!wasLeading || !releaseOnCancel) return;
    const signal = within(process, renewDeadlineMs);
    try {
      const known = await kube.get(leases, place.namespace, place.name, signal);
      const { holder, transitions } = leaseRecordOf(known);
      if (holder !== this.name) return;
      const time = kubeMicroTime(process.clock.now());
      const spec = {
        holderIdentity: '',
        leaseDurationSeconds: 1,
        acquireTime: time,
        renewTime: time,
        leaseTransitions: transitions,
      };
      await kube.replace(leases, { ...known, spec }, signal);
    } catch {
      // It ends all the same.
    }
  }
}

function within(process: SimProcess, ms: number): AbortSignal {
  const ending = new AbortController();
  process.clock.after(ms, () => ending.abort(new Error('it took too long')));
  return ending.signal;
}

function notFound(thrown: unknown): null {
  if ((thrown as { code?: string }).code === 'KUBE_NOT_FOUND') return null;
  throw thrown;
}
