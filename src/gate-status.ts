/**
 * Keeps the status of RouteGates: how many Pods each holds, how many wait and for how long, and whether it can be used at all.
 *
 * Runs in the replica that mirrors RouteGates. The status is computed from the world picture alone, so whoever runs it writes the
 * same; a write that changes nothing costs no new version. Writes of one RouteGate are a second apart.
 */
import type { Groups } from './actors/groups.ts';
import type { World } from './actors/world.ts';
import { type Clock, type Timer, timestamp } from './clock.ts';
import type { Digest, PodDigest, RouteGateDigest } from './digests.ts';
import { selects } from './digests.ts';
import { kubeEventWrite } from './effects/kube-event.ts';
import { asError, hasCode } from './errors.ts';
import type { KubeLog } from './kube/log.ts';
import type { KubeObject, KubePort } from './kube/port.ts';
import { routeGates } from './kube/resources.ts';

export interface GateStatusParts {
  readonly kube: KubePort;
  readonly world: World;
  readonly groups: Groups;
  readonly clock: Clock;
  readonly log: KubeLog;
  readonly replica: string;
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

  #onChange(namespace: string, digest: Digest | null): void {
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
    const { kube, world, groups, clock } = this.#parts;
    const [namespace = '', name = ''] = key.split('/');
    const digest = world.get('routegates', namespace, name);
    if (digest?.kind !== 'routegates') return false;
    const pods = [...world.entries('pods')].flatMap((entry) =>
      entry.namespace === namespace && entry.digest?.kind === 'pods' ? [entry.digest] : [],
    );
    const status = gateStatus(digest, pods, groups.podsOfGate(namespace, name), clock.now());
    const text = JSON.stringify(status);
    if (this.#written.get(key) === text) return status.waiting > 0;
    const current = await kube.get(routeGates, namespace, name, signal);
    const { valid, ...counts } = status;
    const conditions = [conditionOf(current, valid, status.observedGeneration, clock.now())];
    const body = { metadata: { uid: digest.uid }, status: { ...counts, conditions } };
    await kube.patch(routeGates, { namespace, name, subresource: 'status', type: 'merge', body }, signal);
    this.#written.set(key, text);
    if (valid.status === 'False') await this.#warn(namespace, name, digest, valid.message, signal);
    return status.waiting > 0;
  }

  async #warn(
    namespace: string,
    name: string,
    digest: RouteGateDigest,
    message: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { kube, replica, clock } = this.#parts;
    const regarding = {
      apiVersion: 'orrery.dev/v1alpha1',
      kind: 'RouteGate',
      namespace,
      name,
      uid: digest.uid,
    };
    const effect = {
      type: 'kube-event.write',
      regarding,
      eventType: 'Warning',
      reason: 'InvalidSpec',
      note: message,
      at: clock.now(),
    } as const;
    // One Event for each generation of the object, whoever writes it.
    const key = `routegate/${digest.uid}/${digest.generation}`;
    await kubeEventWrite(kube, { replica })(effect, { key, actor: 'pod/_/_', signal, emit: () => {} });
  }
}

/** The condition in the Kubernetes form; its transition time changes only with its status. */
function conditionOf(
  current: KubeObject,
  valid: GateStatus['valid'],
  observedGeneration: number,
  now: number,
) {
  const { conditions = [] } = (current.status ?? {}) as { conditions?: Array<Record<string, unknown>> };
  const before = conditions.find(({ type }) => type === 'Valid');
  const isSame = before?.status === valid.status && typeof before.lastTransitionTime === 'string';
  const lastTransitionTime = isSame ? before.lastTransitionTime : timestamp(now).replace(/\.\d+Z$/, 'Z');
  return { type: 'Valid', ...valid, observedGeneration, lastTransitionTime };
}
