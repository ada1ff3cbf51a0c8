/**
 * Keeps the status of RouteGates: how many Pods each holds, how many wait and for how long, and whether it can be used at all.
 *
 * Runs in the replica that mirrors RouteGates. The status is computed from the world picture alone, so whoever runs it writes the
 * same; a write that changes nothing costs no new version. Writes of one RouteGate are a second apart.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { type AnyDigest, asDigest, selects, type WorldEntry } from '../../base/digests.ts';
import { asError, hasCode } from '../../base/errors.ts';
import type { KubePort } from '../../base/kube-port.ts';
import type { Log } from '../../base/log-port.ts';
import { dated } from '../../kube/api/conditions.ts';
import type { PodDigest, RouteGateDigest } from './digests.ts';
import { routeGates } from './resources.ts';

export interface GateStatusParts {
  readonly kube: KubePort;
  /** The part of actors/world.ts that is needed here. */
  readonly world: {
    entries(resource: string): Iterable<WorldEntry>;
    get(resource: string, namespace: string, name: string): AnyDigest | null;
    onChange(callback: (entry: WorldEntry, before: AnyDigest | null) => void): void;
  };
  /** The Pods that a RouteGate holds (actors/groups.ts). */
  readonly podsOfGate: (namespace: string, name: string) => readonly PodDigest[];
  /** Writes a Warning Event about a RouteGate; the same key is written once. */
  readonly warn: (about: GateWarning, signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface GateWarning {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly reason: string;
  readonly note: string;
  readonly key: string;
}

export interface GateStatus {
  readonly pods: number;
  readonly waiting: number;
  readonly ready: number;
  readonly longestWaitSeconds: number;
  readonly observedGeneration: number;
  readonly valid: { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string };
}

/** Between two writes of one RouteGate's status. */
const pauseMs = 1_000;
const retryPauseMs = 5_000;
/** While Pods wait, their longest wait is told anew this often. */
const waitingPauseMs = 10_000;

/** What a RouteGate's status has to say. @param pods of its namespace @param held those of them that this RouteGate holds */
export function gateStatus(
  digest: RouteGateDigest,
  pods: readonly PodDigest[],
  held: readonly PodDigest[],
  now: number,
): GateStatus {
  const { spec, generation } = digest;
  const nothing = { pods: 0, waiting: 0, ready: 0, longestWaitSeconds: 0, observedGeneration: generation };
  if ('invalid' in spec)
    return { ...nothing, valid: { status: 'False', reason: 'InvalidSpec', message: spec.invalid } };
  const isReady = ({ conditions }: PodDigest) => conditions[spec.conditionType] === 'True';
  const gated = held.filter(
    ({ deleting, readinessGates }) => !deleting && readinessGates.includes(spec.conditionType),
  );
  const waiting = gated.filter((pod) => !isReady(pod));
  const waits = waiting.map(({ createdAt }) => Math.floor(Math.max(0, now - createdAt) / 1000));
  const selected = pods.filter(
    ({ labels }) => labels[spec.group.podLabel] !== undefined && selects(spec.podSelector, labels),
  );
  const others = selected.length - held.length;
  const message =
    others > 0
      ? `${others} of the selected Pods are held by an older RouteGate`
      : 'the specification is in use';
  return {
    pods: gated.length,
    waiting: waiting.length,
    ready: gated.length - waiting.length,
    longestWaitSeconds: Math.max(0, ...waits),
    observedGeneration: generation,
    valid: { status: 'True', reason: others > 0 ? 'Overlaps' : 'InUse', message },
  };
}

export class GateStatusKeeper {
  readonly #parts: GateStatusParts;
  readonly #due = new Map<string, { readonly at: number; readonly timer: Timer }>();
  readonly #written = new Map<string, string>();
  #abort: AbortController | null = null;

  constructor(parts: GateStatusParts) {
    this.#parts = parts;
    parts.world.onChange((entry, before) => this.#onChange(entry.namespace, entry.digest ?? before));
  }

  start(): void {
    this.#abort = new AbortController();
    for (const { namespace, name } of this.#parts.world.entries('routegates'))
      this.#soon(`${namespace}/${name}`, 0);
  }

  stop(): void {
    this.#abort?.abort(new Error('stopped'));
    this.#abort = null;
    for (const { timer } of this.#due.values()) timer.cancel();
    this.#due.clear();
    this.#written.clear();
  }

  #onChange(namespace: string, digest: AnyDigest | null): void {
    if (this.#abort === null || (digest?.kind !== 'pods' && digest?.kind !== 'routegates')) return;
    for (const entry of this.#parts.world.entries('routegates')) {
      if (entry.namespace === namespace) this.#soon(`${namespace}/${entry.name}`, pauseMs);
    }
  }

  /** Sees to it that the status is written after `delayMs` at the latest. */
  #soon(key: string, delayMs: number): void {
    const { clock } = this.#parts;
    const at = clock.monotonic() + delayMs;
    const known = this.#due.get(key);
    if (known && known.at <= at) return;
    known?.timer.cancel();
    this.#due.set(key, { at, timer: clock.after(delayMs, () => void this.#write(key)) });
  }

  async #write(key: string): Promise<void> {
    const signal = this.#abort?.signal;
    this.#due.delete(key);
    if (!signal) return;
    try {
      const isWaiting = await this.#writeOne(key, signal);
      if (isWaiting && !signal.aborted) this.#soon(key, waitingPauseMs);
    } catch (thrown) {
      if (signal.aborted || hasCode(thrown, 'KUBE_NOT_FOUND')) return;
      this.#parts.log.warn(
        { routegate: key, error: asError(thrown).message },
        'the status of a RouteGate was not written',
      );
      this.#soon(key, retryPauseMs);
    }
  }

  /** @returns whether Pods wait */
  async #writeOne(key: string, signal: AbortSignal): Promise<boolean> {
    const { kube, world, podsOfGate, warn, clock } = this.#parts;
    const [namespace = '', name = ''] = key.split('/');
    const digest = asDigest<RouteGateDigest>(world.get('routegates', namespace, name), 'routegates');
    if (digest === null) return false;
    const pods = [...world.entries('pods')].flatMap((entry) =>
      entry.namespace === namespace ? (asDigest<PodDigest>(entry.digest, 'pods') ?? []) : [],
    );
    const status = gateStatus(digest, pods, podsOfGate(namespace, name), clock.now());
    const text = JSON.stringify(status);
    if (this.#written.get(key) === text) return status.waiting > 0;
    const current = await kube.get(routeGates, namespace, name, signal);
    const { valid, ...counts } = status;
    const { observedGeneration } = status;
    const conditions = [dated(current, { type: 'Valid', ...valid, observedGeneration }, clock.now())];
    const body = { metadata: { uid: digest.uid }, status: { ...counts, conditions } };
    await kube.patch(routeGates, { namespace, name, subresource: 'status', type: 'merge', body }, signal);
    this.#written.set(key, text);
    if (valid.status === 'False') {
      // One Event for each generation of the object, whoever writes it.
      const key = `routegate/${digest.uid}/${digest.generation}`;
      await warn(
        { namespace, name, uid: digest.uid, reason: valid.reason, note: valid.message, key },
        signal,
      );
    }
    return status.waiting > 0;
  }
}
