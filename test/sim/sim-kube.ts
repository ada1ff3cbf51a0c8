/**
 * The simulated Kubernetes API: the objects, as digests, with uids and versions; changes are told to
 * listeners at once.
 *
 * A replica reaches it by `portFor`, over a network that takes time and fails as drawn: a request may be lost
 * before or after it was served, and one that its caller gave up may still be served.
 */

import type { SimProcess } from '../../packages/testing/replicas/process.ts';
import type { Chance } from '../../packages/testing/time/chance.ts';
import type { SimClock } from '../../packages/testing/time/sim-clock.ts';
import { OrreryError } from '../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../src/base/kube-port.ts';
import type { PodDigest } from '../../src/features/routes/digests.ts';
import type { Digest } from './digest.ts';

export interface KubeEntry {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly digest: Digest | null;
}

export interface KubeWeather {
  /** One direction, ms. */
  latencyMs(): number;
  /** How long a late request waits at the API server, ms. */
  lateMs(): number;
  fate(): KubeFate;
  /** Requests that nobody will answer, and whose callers still wait. */
  hanging: number;
}

/**
 * What happens to a request. `reset`: the connection breaks; `lost`: silence; each before or after it was
 * served. `late`: it is served when the API server gets to it.
 */
export type KubeFate =
  | 'served'
  | 'late'
  | 'lost'
  | 'answerLost'
  | 'reset'
  | 'answerReset'
  | 'refused'
  | 'conflict'
  | 'throttled';

export interface Patched {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly status: string;
}

export class SimKube {
  readonly #objects = new Map<string, KubeEntry>();
  readonly #listeners: Array<(entry: KubeEntry, before: Digest | null) => void> = [];
  readonly #clock: SimClock;
  /** Kubernetes Events by name, with how often each was requested. */
  readonly events = new Map<string, number>();
  #version = 0;

  constructor(clock: SimClock) {
    this.#clock = clock;
  }

  onChange(listener: (entry: KubeEntry, before: Digest | null) => void): void {
    this.#listeners.push(listener);
  }

  /** Creates or changes an object; fills in the version and, for a new object, the creation time. */
  put<D extends Digest>(
    resource: string,
    namespace: string,
    name: string,
    digest: Omit<D, 'resourceVersion' | 'createdAt'>,
  ): void {
    const key = keyOf(resource, namespace, name);
    const before = this.#objects.get(key)?.digest ?? null;
    const isSame = before !== null && 'uid' in before && 'uid' in digest && before.uid === digest.uid;
    const createdAt = isSame ? (before as PodDigest).createdAt : this.#clock.now();
    const full = { ...digest, createdAt, resourceVersion: `${++this.#version}` } as unknown as Digest;
    this.#set({ resource, namespace, name, digest: full }, before);
  }

  remove(resource: string, namespace: string, name: string): void {
    const before = this.get(resource, namespace, name);
    if (before !== null) this.#set({ resource, namespace, name, digest: null }, before);
  }

  /**
   * Remembers everything as it is now, versions included. What was replaced since is not brought back: an
   * actor that was refused for that reason looks again only after five minutes, which is longer than a run
   * waits.
   *
   * @returns a function that restores it
   */
  backup(): () => void {
    const objects = new Map(this.#objects);
    const version = this.#version;
    return () => {
      this.#version = version;
      for (const entry of this.all()) {
        if (!objects.has(keyOf(entry.resource, entry.namespace, entry.name)))
          this.remove(entry.resource, entry.namespace, entry.name);
      }
      for (const [key, entry] of objects) {
        const before = this.#objects.get(key)?.digest ?? null;
        if (before !== entry.digest && !isReplaced(entry.digest, before)) this.#set(entry, before);
      }
    };
  }

  get(resource: string, namespace: string, name: string): Digest | null {
    return this.#objects.get(keyOf(resource, namespace, name))?.digest ?? null;
  }

  pod(namespace: string, name: string): PodDigest | null {
    const found = this.get('pods', namespace, name);
    return found?.kind === 'pods' ? found : null;
  }

  all(): KubeEntry[] {
    return [...this.#objects.values()].filter(({ digest }) => digest !== null);
  }

  entries<K extends Digest['kind']>(
    kind: K,
  ): Array<KubeEntry & { readonly digest: Extract<Digest, { kind: K }> }> {
    return this.all().filter(
      (entry): entry is KubeEntry & { readonly digest: Extract<Digest, { kind: K }> } =>
        entry.digest?.kind === kind,
    );
  }

  /** The part of the port that effects use, as one run of an effect in one process reaches it. */
  portFor(
    process: SimProcess,
    weather: KubeWeather,
    onPatched: (patched: Patched) => void,
  ): Pick<KubePort, 'patch' | 'get' | 'create'> {
    const call = <T>(serve: () => T, signal: AbortSignal) => this.#call(process, weather, serve, signal);
    return {
      patch: (_resource, { namespace = '', name, body }, signal) =>
        call(() => this.#patch(namespace, name, body as PatchBody, onPatched), signal),
      get: (resource, namespace = '', name, signal) =>
        call(() => this.#read(resource.plural, namespace, name), signal),
      create: (_resource, object, signal) => call(() => this.#event(object), signal),
    };
  }

  #set(entry: KubeEntry, before: Digest | null): void {
    this.#objects.set(keyOf(entry.resource, entry.namespace, entry.name), entry);
    for (const listener of this.#listeners) listener(entry, before);
  }

  #call<T>(
    process: SimProcess,
    { latencyMs, lateMs, fate }: KubeWeather,
    serve: () => T,
    signal: AbortSignal,
  ): Promise<T> {
    const served = new Promise<T>((resolve, reject) => {
      const chosen = fate();
      const fail = (error: OrreryError) => void this.#clock.after(latencyMs(), () => reject(error));
      this.#clock.after(latencyMs() + (chosen === 'late' ? lateMs() : 0), () => {
        // The caller finds out when its patience ends.
        if (chosen === 'lost') return;
        const error = errors[chosen];
        if (error) return fail(new OrreryError(...error));
        try {
          const answer = serve();
          if (chosen === 'served' || chosen === 'late') this.#clock.after(latencyMs(), () => resolve(answer));
        } catch (refusal) {
          this.#clock.after(latencyMs(), () => reject(refusal));
        }
        if (chosen === 'answerReset')
          fail(new OrreryError('KUBE_UNREACHABLE', 'simulated: connection reset'));
      });
    });
    // A caller that has given up does not hear of it.
    served.catch(() => {});
    return process.gate(
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        served.then(resolve, reject);
      }),
    );
  }

  #patch(
    namespace: string,
    name: string,
    body: PatchBody,
    onPatched: (patched: Patched) => void,
  ): KubeObject {
    const pod = this.pod(namespace, name);
    if (pod === null) throw new OrreryError('KUBE_NOT_FOUND', `there is no Pod ${name}`);
    const { uid = pod.uid } = body.metadata;
    if (pod.uid !== uid) throw new OrreryError('KUBE_CONFLICT', `the uid is ${pod.uid}, not ${uid}`);
    const conditions = { ...pod.conditions };
    for (const { type, status } of body.status.conditions) {
      if (pod.readinessGates.includes(type)) conditions[type] = status;
      onPatched({ namespace, name, uid, status });
    }
    const isSame = Object.entries(conditions).every(([type, status]) => pod.conditions[type] === status);
    // If nothing changes there is no new version, as in the API server.
    if (!isSame) this.put<PodDigest>('pods', namespace, name, { ...pod, conditions });
    return { metadata: { name, namespace, uid } };
  }

  #read(resource: string, namespace: string, name: string): KubeObject {
    const digest = this.get(resource, namespace, name);
    if (digest === null || !('uid' in digest))
      throw new OrreryError('KUBE_NOT_FOUND', `there is no ${resource} ${name}`);
    return { metadata: { name, namespace, uid: digest.uid } };
  }

  #event(object: KubeObject): KubeObject {
    const { name } = object.metadata;
    const times = this.events.get(name) ?? 0;
    this.events.set(name, times + 1);
    if (times > 0) throw new OrreryError('KUBE_CONFLICT', `the Event ${name} is there already`);
    return object;
  }
}

const uidOf = (digest: Digest | null) => (digest !== null && 'uid' in digest ? digest.uid : null);

const isReplaced = (then: Digest | null, now: Digest | null) => now !== null && uidOf(then) !== uidOf(now);

interface PatchBody {
  /** The precondition, if there is one. */
  readonly metadata: { readonly uid?: string };
  readonly status: {
    readonly conditions: ReadonlyArray<{ readonly type: string; readonly status: 'True' | 'False' }>;
  };
}

const keyOf = (resource: string, namespace: string, name: string) => `${resource}/${namespace}/${name}`;

/** The answers instead of serving. */
export const errors: Partial<Record<KubeFate, ConstructorParameters<typeof OrreryError>>> = {
  reset: ['KUBE_UNREACHABLE', 'simulated: connection reset'],
  refused: ['KUBE_SERVER', 'simulated: 500'],
  throttled: ['KUBE_THROTTLED', 'simulated: 429'],
  conflict: ['KUBE_CONFLICT', 'simulated: 409'],
};
const fates: readonly KubeFate[] = [
  'lost',
  'answerLost',
  'late',
  ...(['reset', 'answerReset', 'refused', 'conflict', 'throttled'] as const).flatMap((fate) => [fate, fate]),
];

/** The API's weather of one seed. */
export function kubeWeather(chance: Chance, errorShare: () => number): KubeWeather {
  return {
    latencyMs: () => chance.seldomLong(0.5, 40),
    lateMs: () => chance.between(100, 8_000),
    fate: () => (chance.happens(errorShare()) ? (chance.pick(fates) ?? 'served') : 'served'),
    hanging: 0,
  };
}
