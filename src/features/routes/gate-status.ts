/**
 * Keeps the status of RouteGates: how many Pods each holds, how many wait and for how long, and whether it can be used at all.
 *
 * Runs in the replica that mirrors RouteGates. The status is computed from the world picture alone, so whoever runs it writes the
 * same; a write that changes nothing costs no new version. Writes of one RouteGate are a second apart.
 */
import type { World } from '../../actors/world/world.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { type AnyDigest, asDigest, selects } from '../../base/digests.ts';
import { asError, hasCode } from '../../base/errors.ts';
import type { KubePort } from '../../base/kube-port.ts';
import type { Log } from '../../base/log-port.ts';
import { dated } from '../../kube/api/conditions.ts';
import type { PodDigest, RouteGateDigest, RouteGateSpec } from './digests.ts';
import { gateBounds, type Refusal } from './gate-bounds.ts';
import { deadlocksOf, type Judgement, largeGroups, verifyingOf } from './gate-verdict.ts';
import { type Group, objectOf } from './groups.ts';
import { routeGates } from './resources.ts';

export interface GateStatusParts {
  readonly kube: KubePort;
  readonly world: Pick<World, 'entries' | 'get' | 'onChange' | 'onStatement'>;
  /** The Pods that a RouteGate holds, and their Services. */
  readonly groupsOfGate: (namespace: string, name: string) => readonly Group[];
  /** Everything that it asks for was listed. */
  readonly isComplete: (namespace: string, name: string) => boolean;
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
  /** Selected Pods that do not list the condition type: nothing holds them back. */
  readonly ungated: number;
  /** Ready Pods for which at least one Service was verified, and such for which none was. */
  readonly verified: number;
  readonly unverified: number;
  readonly longestWaitSeconds: number;
  /** The Pod that has waited so long. */
  readonly longestWaiting: string | null;
  readonly observedGeneration: number;
  readonly valid: Judgement;
  readonly verifying: Judgement;
  /** What is to be told beside the conditions, once for each generation and reason. */
  readonly warnings: ReadonlyArray<{ readonly reason: string; readonly message: string }>;
}

const kindsThatTell = ['pods', 'services', 'routegates'] as const;
/** Between two writes of one RouteGate's status. */
const pauseMs = 1_000;
const retryPauseMs = 5_000;
/** While Pods wait, their longest wait is told anew this often. */
const waitingPauseMs = 10_000;

/** What a RouteGate's status has to say. @param pods of its namespace @param groups its own @param isComplete everything was listed that it asks for */
export function gateStatus(
  digest: RouteGateDigest,
  pods: readonly PodDigest[],
  groups: readonly Group[],
  {
    now,
    isComplete,
    refusal = null,
  }: { readonly now: number; readonly isComplete: boolean; readonly refusal?: Refusal | null },
): GateStatus {
  const { spec, generation: observedGeneration } = digest;
  if ('invalid' in spec)
    return { ...nothing, observedGeneration, ...unusable({ reason: 'InvalidSpec', message: spec.invalid }) };
  if (refusal !== null) return { ...nothing, observedGeneration, ...unusable(refusal) };
  const selected = pods.filter(
    ({ labels, deleting, finished }) =>
      !deleting &&
      !finished &&
      labels[spec.group.podLabel] !== undefined &&
      selects(spec.podSelector, labels),
  );
  const names = new Map(
    groups.flatMap((group) => [...group.pods].map(([name, pod]) => [pod, objectOf(name)] as const)),
  );
  const held = [...names.keys()];
  const isGated = ({ readinessGates }: PodDigest) => readinessGates.includes(spec.conditionType);
  const gated = held.filter((pod) => !pod.deleting && !pod.finished && isGated(pod));
  const waiting = gated.filter(({ conditions }) => conditions[spec.conditionType] !== 'True');
  const ready = gated.length - waiting.length;
  const [first] = [...waiting].sort((a, b) => a.createdAt - b.createdAt);
  const ungated = selected.filter((pod) => !isGated(pod)).length;
  const others = selected.length - ungated - gated.length;
  const verified = gated.filter(({ reasons }) => reasons?.[spec.conditionType] === 'RoutesVerified').length;
  const unverified = gated.filter(({ reasons }) =>
    unverifiedReasons.has(reasons?.[spec.conditionType] ?? ''),
  ).length;
  const deadlocks = deadlocksOf(groups);
  return {
    pods: gated.length,
    waiting: waiting.length,
    ready,
    ungated,
    verified,
    unverified,
    longestWaitSeconds: first ? Math.floor(Math.max(0, now - first.createdAt) / 1000) : 0,
    longestWaiting: first ? (names.get(first) ?? null) : null,
    observedGeneration,
    valid: usable(others),
    verifying: isComplete ? verifyingOf(groups, unverified, deadlocks) : notListed,
    warnings: [
      ...deadlocks.map((message) => ({ reason: 'Deadlock', message })),
      ...ungatedWarning(ungated, spec),
      ...largeGroups(groups).map((message) => ({ reason: 'GroupTooLarge', message })),
    ],
  };
}

/** @param others selected Pods that another gate holds */
function usable(others: number): Judgement {
  if (others === 0) return { status: 'True', reason: 'InUse', message: 'the specification is in use' };
  const message = `${others} of the selected Pods are held by an older RouteGate of the same condition type`;
  return { status: 'True', reason: 'Overlaps', message };
}

function ungatedWarning(ungated: number, { conditionType }: RouteGateSpec): GateStatus['warnings'] {
  if (ungated === 0) return [];
  const message = `${ungated} of the selected Pods do not list ${conditionType} in spec.readinessGates; nothing holds them back`;
  return [{ reason: 'PodsUngated', message }];
}

/** What is merely not listed yet must not look like something that does not exist. */
const notListed: Judgement = {
  status: 'Unknown',
  reason: 'NotListed',
  message: 'not every object that the RouteGate asks for was listed yet',
};
const unverifiedReasons = new Set(['Unverified', 'NothingToVerify']);
const nothing = {
  pods: 0,
  waiting: 0,
  ready: 0,
  ungated: 0,
  verified: 0,
  unverified: 0,
  longestWaitSeconds: 0,
  longestWaiting: null,
  warnings: [],
};

function unusable({ reason, message }: Pick<Judgement, 'reason' | 'message'>) {
  const judgement = { status: 'False', reason, message } as const;
  return { valid: judgement, verifying: judgement };
}

export class GateStatusKeeper {
  readonly #parts: GateStatusParts;
  readonly #due = new Map<string, { readonly at: number; readonly timer: Timer }>();
  readonly #written = new Map<string, string>();
  /** Gates beyond the bounds. */
  readonly #refused = new Set<string>();
  #abort: AbortController | null = null;

  constructor(parts: GateStatusParts) {
    this.#parts = parts;
    parts.world.onChange((entry, before) => this.#onChange(entry.namespace, entry.digest ?? before));
    parts.world.onStatement(() => this.#all(pauseMs));
  }

  start(): void {
    this.#abort = new AbortController();
    this.#all(0);
  }

  stop(): void {
    this.#abort?.abort(new Error('stopped'));
    this.#abort = null;
    for (const { timer } of this.#due.values()) timer.cancel();
    this.#due.clear();
    this.#written.clear();
    this.#refused.clear();
  }

  #onChange(namespace: string, digest: AnyDigest | null): void {
    if (this.#abort === null || !(kindsThatTell as readonly string[]).includes(digest?.kind ?? '')) return;
    for (const entry of this.#parts.world.entries('routegates')) {
      // A gate that goes may leave its place to one elsewhere.
      const key = `${entry.namespace}/${entry.name}`;
      const mayGetPlace = digest?.kind === 'routegates' && this.#refused.has(key);
      if (entry.namespace === namespace || mayGetPlace) this.#soon(key, pauseMs);
    }
  }

  #all(delayMs: number): void {
    if (this.#abort === null) return;
    for (const { namespace, name } of this.#parts.world.entries('routegates'))
      this.#soon(`${namespace}/${name}`, delayMs);
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
    const { kube, world, groupsOfGate, isComplete, warn, clock } = this.#parts;
    const [namespace = '', name = ''] = key.split('/');
    const digest = asDigest<RouteGateDigest>(world.get('routegates', namespace, name), 'routegates');
    this.#refused.delete(key);
    if (digest === null) {
      this.#written.delete(key);
      return false;
    }
    const refusal = gateBounds(world.entries('routegates')).refusalOf(namespace, name);
    if (refusal !== null) this.#refused.add(key);
    const pods = [...world.entries('pods')].flatMap((entry) =>
      entry.namespace === namespace ? (asDigest<PodDigest>(entry.digest, 'pods') ?? []) : [],
    );
    const status = gateStatus(digest, pods, groupsOfGate(namespace, name), {
      now: clock.now(),
      isComplete: isComplete(namespace, name),
      refusal,
    });
    const text = JSON.stringify(status);
    if (this.#written.get(key) === text) return status.waiting > 0;
    const current = await kube.get(routeGates, namespace, name, signal);
    const { valid, verifying, warnings, ...counts } = status;
    const { observedGeneration } = status;
    const conditions = Object.entries({ Valid: valid, Verifying: verifying }).map(([type, judgement]) =>
      dated(current, { type, ...judgement, observedGeneration }, clock.now()),
    );
    const body = { metadata: { uid: digest.uid }, status: { ...counts, conditions } };
    await kube.patch(routeGates, { namespace, name, subresource: 'status', type: 'merge', body }, signal);
    this.#written.set(key, text);
    const wrong = [valid, verifying].filter((one) => one.status === 'False' && one.reason !== 'Deadlock');
    const told = new Set<string>();
    for (const { reason, message: note } of [...wrong, ...warnings]) {
      // One Event for each generation of the object and reason, whoever writes it; of an invalid one, one.
      const eventKey = `routegate/${digest.uid}/${digest.generation}/${reason}`;
      if (told.has(eventKey)) continue;
      told.add(eventKey);
      await warn({ namespace, name, uid: digest.uid, reason, note, key: eventKey }, signal);
    }
    return status.waiting > 0;
  }
}
