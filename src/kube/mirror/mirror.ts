/**
 * Mirrors one resource into the world stream: what it sees of Kubernetes becomes digests, and of those only
 * the differences from what the world already holds are published.
 *
 * Runs in one replica at a time: the one that has won the fence of the resource. Promises:
 * - Every message is guarded by that fence; when it is refused, nothing more is published and `onLost` is
 *   told.
 * - The world holds what features ask for (mirror-interest.ts) and nothing else; it may lag, never lie (I10):
 *   a new uid under an old name is a new digest, and the version of an object never goes back.
 * - Once it has listed everything, and after each change of what is asked for, it states at
 *   `world._synced._.<name>` with whom in mind it has mirrored everything; the statement follows everything
 *   that it speaks of. Each reign makes its own: that of an earlier one counts for nothing
 *   (actors/world/statements.ts). Absent: the election of the one replica, and joins (both in actors/).
 */

import type { InterestChange } from '../../actors/world/watch-declaration.ts';
import type { WorldEntry } from '../../base/digests.ts';
import { asError, invariant, OrreryError } from '../../base/errors.ts';
import type { KubePort, KubeResource } from '../../base/kube-port.ts';
import type { Ambient } from '../../base/log-port.ts';
import { Inventory } from './inventory.ts';
import { type MergedWatch, resourceName } from './merged-watch.ts';
import { createInterest, type MirrorInterest } from './mirror-interest.ts';
import { Publisher, type StoreBus } from './publisher.ts';
import { type Scope, startScope } from './scope.ts';
import { takeBack } from './take-back.ts';

/** What the mirror reads of this replica's world picture (actors/world/world.ts). */
export interface WorldReader {
  /** Existing entries. */
  entries(resource: string): Iterable<WorldEntry>;
  onChange(callback: (entry: WorldEntry) => void): void;
  /** Resolves once the picture includes the world stream up to this sequence. */
  ready(resource: string, sequence: number): Promise<void>;
}

/** What the replica's metrics hear of a mirror (docs/reference/metrics.md). */
export interface MirrorMetrics {
  /** orrery_watch_restarts_total{resource} */
  watchRestarts(resource: string): void;
  /** orrery_world_lag_seconds{resource} */
  worldLag(resource: string, seconds: number): void;
  /** The resource is no longer mirrored: removes its metrics. */
  forget?(resource: string): void;
}

export interface MirrorSubjects {
  world(resource: string, namespace: string, name: string): string;
  worldFence(resource: string): string;
}

export interface MirrorParts extends Ambient {
  /** What features declare about the resource. */
  readonly watch: MergedWatch;
  /** An empty `plural` means that the cluster does not have the kind (optional-mirror.ts). */
  readonly resource: KubeResource;
  readonly kube: KubePort;
  readonly bus: StoreBus;
  readonly subjects: MirrorSubjects;
  /** bus/codec.ts */
  readonly encode: (value: unknown) => Uint8Array;
  readonly world: WorldReader;
  /** Only these namespaces; absent or null: all. */
  readonly namespaces?: readonly string[] | null;
  readonly metrics: MirrorMetrics;
  /** NATS refuses what would be kept of an object. Called each time that the object changes. */
  readonly onLeftOut?: (object: LeftOut) => void;
  /** The fence was refused: another replica mirrors the resource now. */
  readonly onLost: (error: OrreryError) => void;
}

/** An object that the world does not show as it is now. */
export interface LeftOut {
  readonly resource: KubeResource;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly why: string;
}

export interface MirrorStatus {
  /** 0: it does not run. */
  readonly fence: number;
  /** Everything has been listed at least once. */
  readonly synced: boolean;
  /** Number of objects followed, wanted by the world or not. */
  readonly objects: number;
  /** Digests that are not in the world yet. */
  readonly pending: number;
  /** Since when the oldest of them waits, ms since the epoch; null: none waits. */
  readonly oldestSince: number | null;
  readonly leftOut: readonly LeftOut[];
  readonly watches: ReadonlyArray<{
    readonly namespace: string | null;
    readonly state: string;
    readonly context: unknown;
  }>;
}

export type Mirror = ReturnType<typeof createMirror>;

export function createMirror(parts: MirrorParts) {
  const name = parts.watch.mirror;
  let run: Run | undefined;
  parts.world.onChange((entry) => run?.onWorldChange(entry));
  const stop = () => run?.end(new OrreryError('NOT_OWNER', `the mirror of ${name} was stopped`));
  return {
    /** The name of its fence and of its statement: one that a feature gives it, or `<apiVersion>/<kind>`. */
    name,
    /**
     * Starts to mirror as the holder of the fence. Resolves when everything was listed and the differences
     * are in the world.
     *
     * @param fence sequence of the fence that was won
     * @throws OrreryError BUS_CONFLICT if the fence was lost meanwhile, NOT_OWNER if it was stopped
     */
    async start(fence: number): Promise<void> {
      invariant(run === undefined, 'a mirror is started once at a time', { name });
      const current = new Run(parts, fence, () => {
        if (run === current) run = undefined;
      });
      run = current;
      await current.begun;
    },
    /** Stops following and publishing. It can be started again with another fence. */
    stop,
    /**
     * Stops because nobody wants the resource any more, and removes it from the world.
     *
     * @param fence the held fence; 0: another replica holds it, and only the resource's metrics are removed
     */
    async retire(fence: number): Promise<void> {
      stop();
      const resource = measuredName(parts);
      if (fence !== 0) await takeBack(parts, { mirror: name, resource, fence });
      parts.metrics.forget?.(resource);
    },
    status: (): MirrorStatus => run?.status() ?? idle,
  };
}

/** The status of a mirror that does not run. */
export const idle: MirrorStatus = {
  fence: 0,
  synced: false,
  objects: 0,
  pending: 0,
  oldestSince: null,
  leftOut: [],
  watches: [],
};

/** The name in metrics: the one in the world, if there is one. */
function measuredName({ watch, resource }: Pick<MirrorParts, 'watch' | 'resource'>): string {
  return resource.plural === '' ? watch.mirror : (watch.name ?? resourceName(resource));
}

/** One term: from a won fence until it is lost or given back. */
class Run {
  readonly begun: Promise<void>;
  readonly #begin = Promise.withResolvers<void>();
  readonly #parts: MirrorParts;
  readonly #fence: number;
  readonly #onEnd: () => void;
  readonly #interest: MirrorInterest;
  readonly #inventory: Inventory;
  readonly #publisher: Publisher;
  readonly #state = createRepeated(
    () => this.#tell(),
    (error) => this.#lose(error),
  );
  #scopes: readonly Scope[] = [];
  #phase: 'beginning' | 'running' | 'ended' = 'beginning';

  constructor(parts: MirrorParts, fence: number, onEnd: () => void) {
    const { watch, resource, subjects, encode, metrics } = parts;
    this.#parts = parts;
    this.#fence = fence;
    this.#onEnd = onEnd;
    this.begun = this.#begin.promise;
    // A caller that does not await it learns of a loss from onLost.
    this.begun.catch(() => {});
    this.#interest = createInterest(watch, resource);
    this.#inventory = new Inventory({
      resource: this.#interest.resource,
      name: watch.mirror,
      subjectOf: subjects.world,
      encode,
      interest: this.#interest,
      isListed: (namespace) => isListed(this.#scopes, namespace),
      onDirty: (key) => this.#publisher.offer(key),
    });
    const measured = measuredName(parts);
    this.#publisher = new Publisher({
      ...parts,
      guard: { subject: subjects.worldFence(watch.mirror), sequence: fence },
      take: (key) => this.#inventory.take(key),
      onLag: (seconds) => metrics.worldLag(measured, seconds),
      onLeftOut: (key, why) => this.#leftOut(key, why).forEach((one) => void parts.onLeftOut?.(one)),
      onLost: (error) => this.#lose(error),
    });
    void this.#run().catch((thrown) => this.end(invariantOf(thrown)));
  }

  #lose(error: OrreryError): void {
    this.end(error);
    this.#parts.onLost(error);
  }

  end(reason: OrreryError): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.#publisher.stop();
    for (const scope of this.#scopes) scope.stop();
    this.#onEnd();
    this.#begin.reject(reason);
  }

  onWorldChange(entry: WorldEntry): void {
    // Before it starts, it will read the world as a whole.
    if (this.#phase !== 'running') return;
    if (entry.resource === this.#interest.resource) this.#inventory.share(entry);
    const namespace = this.#parts.resource.namespaced ? entry.namespace : null;
    this.#onInterest(namespace, this.#interest.fold(entry));
  }

  /** @param namespace null: all, or objects without one */
  #onInterest(namespace: string | null, change: InterestChange): void {
    if (this.#phase !== 'running' || change === 'nothing') return;
    if (typeof change === 'object') return void this.#inventory.reconsider(namespace, change);
    if (change === 'digests') for (const scope of this.#scopes) if (covers(scope, namespace)) scope.relist();
    this.#inventory.reconsider(namespace);
    this.#state.again();
  }

  status(): MirrorStatus {
    const scopes = this.#scopes;
    return {
      fence: this.#fence,
      synced: scopes.length > 0 && scopes.every((scope) => scope.isListed),
      objects: this.#inventory.size,
      pending: this.#publisher.pending,
      oldestSince: this.#publisher.oldestSince,
      leftOut: [...this.#publisher.leftOut].flatMap(([key, why]) => this.#leftOut(key, why)),
      watches: scopes.map((scope) => scope.status()),
    };
  }

  #leftOut(key: string, why: string): LeftOut[] {
    const { resource } = this.#parts;
    const seen = this.#inventory.seen(key);
    if (seen === null) return [];
    const { namespace, name, digest } = seen;
    return [{ resource, namespace, name, uid: digest.uid, why }];
  }

  async #run(): Promise<void> {
    const { world, watch, metrics } = this.#parts;
    const interest = this.#interest;
    const inventory = this.#inventory;
    await world.ready(interest.resource, this.#fence);
    if (this.#phase === 'ended') return;
    this.#phase = 'running';
    interest.onAgain((namespace, change) => this.#onInterest(namespace, change));
    for (const teller of interest.tellers) for (const entry of world.entries(teller)) interest.fold(entry);
    inventory.adopt(world.entries(interest.resource));
    const measured = measuredName(this.#parts);
    const scope = {
      ...this.#parts,
      interest,
      inventory,
      isOptional: !('plural' in watch.resource),
      onListed: () => this.#state.again(),
      onRestart: () => metrics.watchRestarts(measured),
    };
    this.#scopes = namespacesOf(scope).map((namespace) => startScope({ ...scope, namespace }));
    // What is in the world and no longer followed must be removed.
    inventory.offerKnown(null);
  }

  /** States for which requests everything is in the world, once it is. */
  async #tell(): Promise<void> {
    if (this.#scopes.length === 0 || !this.#scopes.every((scope) => scope.isCurrent)) return;
    const gates = this.#interest.versions();
    await this.#publisher.settled();
    const isThere = this.#parts.resource.plural !== '';
    this.#inventory.state({ kind: 'synced', gates, resource: isThere ? this.#interest.resource : null });
    await this.#publisher.settled();
    this.#begin.resolve();
  }
}

function namespacesOf({ resource, namespaces }: Pick<MirrorParts, 'resource' | 'namespaces'>) {
  return resource.namespaced && namespaces ? [...new Set(namespaces)] : [null];
}

/** @param namespace null: any */
function covers(scope: Scope, namespace: string | null): boolean {
  return scope.namespace === null || namespace === null || scope.namespace === namespace;
}

/** A namespace that is not followed has nothing that the world should contain. */
function isListed(scopes: readonly Scope[], namespace: string): boolean {
  return scopes.length > 0 && scopes.every((scope) => scope.isListed || !covers(scope, namespace));
}

const invariantOf = (thrown: unknown) =>
  new OrreryError('INVARIANT', asError(thrown).message, { cause: thrown });

/** Runs work once more if it was requested during a run, and never concurrently. */
function createRepeated(work: () => Promise<void>, onFailure: (error: OrreryError) => void) {
  let isWorking = false;
  let isWanted = false;
  return {
    again() {
      isWanted = true;
      if (isWorking) return;
      isWorking = true;
      void (async () => {
        while (isWanted) {
          isWanted = false;
          await work().catch((thrown) => onFailure(invariantOf(thrown)));
        }
        isWorking = false;
      })();
    },
  };
}
