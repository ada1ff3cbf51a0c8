/**
 * One round over a bundle: applies every object and, if all succeed, deletes what the bundle no longer
 * contains.
 *
 * Promises: nothing is deleted after a failure (docs/features/releases.md §3.7); namespaces and definitions
 * come first; one object's error does not stop the others, and is in the summary; a kind that the cluster
 * does not have (yet) is an error of its objects only. Only an aborted signal, or the end of its time, ends a
 * round early; it goes on where it stopped.
 */

import { groupOf } from '../../api/kind-name.ts';
import { asError, hasCode } from '../../base/errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import type { ChangedObject, RoundSummary } from '../../machines/release/release-events.ts';
import type { KindName } from '../../machines/release/release-table.ts';
import { type Bundle, type BundleObject, objectName } from './bundle.ts';
import { changesOf } from './object-changes.ts';
import { type AppliedObject, type ApplyParts, applyObject, placeOf } from './release-apply.ts';
import { pruneKind } from './release-prune.ts';

export interface RoundParts extends ApplyParts {
  /** Whether the time is over: nothing more is begun. */
  readonly isOver: () => boolean;
  /** Called for each object that matches the bundle. */
  readonly onApplied: (manifest: BundleObject, resource: KubeResource, object: KubeObject) => void;
  /** Called for each object that was deleted, because the bundle no longer has it. */
  readonly onPruned?: (resource: KubeResource, object: KubeObject) => void;
}

/** A round: not begun, or stopped because its time was over. */
export class BundleRound {
  readonly #bundle: Bundle;
  readonly #problems = problemList();
  readonly #changes = changeList();
  readonly #counts = { applied: 0, replaced: 0 };
  readonly #left = new Set<string>();
  /** Objects that were applied, or could not be. */
  readonly #done = new Set<BundleObject>();

  constructor(bundle: Bundle) {
    this.#bundle = bundle;
  }

  /**
   * Goes on where the round stopped.
   *
   * @param kinds further kinds that may have objects of an older bundle
   * @returns what was done so far; with `toGo` if the time was over
   */
  async goOn(parts: RoundParts, kinds: readonly KindName[], signal: AbortSignal): Promise<RoundSummary> {
    const resolve = resolver(parts.kube, signal);
    const { objects } = this.#bundle;
    for (const tier of tiers(objects)) {
      const undone = tier.filter((manifest) => !this.#done.has(manifest));
      await atOnce(undone, parts.isOver, (manifest) => this.#apply(manifest, parts, resolve, signal));
    }
    if (this.#done.size < objects.length) return this.#summary(true);
    // After a failure, too little is known of the cluster, and of our permissions there, to delete.
    const isFailed = this.#problems.summary().failed > 0;
    for (const kind of isFailed ? [] : distinctKinds([...this.#bundle.kinds, ...kinds])) {
      signal.throwIfAborted();
      if (!(await this.#prune(kind, parts, resolve, signal))) return this.#summary(true);
    }
    return this.#summary(false);
  }

  /** The object differs from its manifest again. */
  forget(manifest: BundleObject): void {
    this.#done.delete(manifest);
  }

  async #apply(
    manifest: BundleObject,
    parts: RoundParts,
    resolve: Resolve,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const resource = await resolve(manifest);
      const outcome = await applyObject(parts, resource, manifest, signal);
      const { object, isReplaced } = outcome;
      this.#counts.applied++;
      if (isReplaced) this.#counts.replaced++;
      this.#changes.applied(objectName(manifest), outcome);
      parts.onApplied(manifest, resource, object);
    } catch (thrown) {
      signal.throwIfAborted();
      this.#problems.add(objectName(manifest), thrown);
    }
    this.#done.add(manifest);
  }

  /** @returns false: the time was over before all of the kind that has to go was gone */
  async #prune(
    kind: KindName,
    { kube, isOver, onPruned: told }: RoundParts,
    resolve: Resolve,
    signal: AbortSignal,
  ): Promise<boolean> {
    const bundle = this.#bundle;
    try {
      const resource = await resolve(kind);
      const onError = (object: KubeObject, error: unknown) =>
        this.#problems.add(`${nameOf(kind, object)}, to be deleted`, error);
      const onPruned = (object: KubeObject) => {
        this.#changes.pruned(nameOf(kind, object));
        told?.(resource, object);
      };
      const onLeft = (object: KubeObject) => void this.#left.add(nameOf(kind, object));
      return await pruneKind(
        { kube, bundle, isOver, isWanted: wantedIn(bundle, resource), onPruned, onLeft, onError },
        resource,
        signal,
      );
    } catch (thrown) {
      signal.throwIfAborted();
      // A kind that the cluster no longer has has no objects; errors of the bundle's kinds are already
      // reported.
      if (!hasCode(thrown, 'KUBE_NOT_FOUND')) this.#problems.add(`the list of ${kind.kind}`, thrown);
      return true;
    }
  }

  #summary(isCut: boolean): RoundSummary {
    const left = [...this.#left].slice(0, limits.releaseNamesTold);
    return {
      ...this.#counts,
      ...this.#changes.summary(),
      ...this.#problems.summary(),
      ...(left.length === 0 ? {} : { left }),
      ...(isCut ? { toGo: this.#bundle.objects.length - this.#done.size } : {}),
    };
  }
}

const nameOf = ({ kind }: KindName, { metadata }: KubeObject) =>
  `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;

/** What the round created, changed and deleted, by name; a limited number of each sort. */
function changeList() {
  const [made, changed, pruned]: [string[], ChangedObject[], string[]] = [[], [], []];
  let all = 0;
  let prunedAll = 0;
  const note = <T>(list: T[], one: T) => {
    all++;
    if (list.length < limits.releaseNamesTold) list.push(one);
  };
  return {
    applied(name: string, { before, object, isReplaced }: AppliedObject) {
      if (before === null) return note(made, name);
      const fields = changesOf(before, object);
      const told = changed.length < limits.releaseObjectsTold ? fields : [];
      if (fields.length > 0 || isReplaced) note(changed, { object: name, fields: told });
    },
    pruned(name: string) {
      prunedAll++;
      note(pruned, name);
    },
    summary() {
      const more = all - made.length - changed.length - pruned.length;
      return { pruned: prunedAll, ...(all === 0 ? {} : { changes: { made, changed, pruned, more } }) };
    },
  };
}

function problemList() {
  const errors: string[] = [];
  let failed = 0;
  return {
    add(what: string, thrown: unknown) {
      failed++;
      if (errors.length < limits.releaseErrors) errors.push(`${what}: ${asError(thrown).message}`);
    },
    summary: () => ({ errors, failed }),
  };
}

type Resolve = (kind: KindName) => Promise<KubeResource>;

/** Looks each kind up once in a round; a missing one again, because the bundle may define it. */
function resolver(kube: KubePort, signal: AbortSignal): Resolve {
  const known = new Map<string, KubeResource>();
  return async ({ apiVersion, kind }) => {
    const key = `${apiVersion} ${kind}`;
    const resource = known.get(key) ?? (await kube.resolve(apiVersion, kind, signal));
    known.set(key, resource);
    return resource;
  };
}

const firstKinds = ['Namespace', 'CustomResourceDefinition'];

function tiers(objects: readonly BundleObject[]): BundleObject[][] {
  const rest = objects.filter(({ kind }) => !firstKinds.includes(kind));
  return [...firstKinds.map((first) => objects.filter(({ kind }) => kind === first)), rest];
}

async function atOnce(
  objects: readonly BundleObject[],
  isOver: () => boolean,
  run: (object: BundleObject) => Promise<void>,
): Promise<void> {
  const left = objects.values();
  const worker = async () => {
    while (!isOver()) {
      const next = left.next();
      if (next.done) return;
      await run(next.value);
    }
  };
  await Promise.all(Array.from({ length: limits.releaseAppliesInFlight }, worker));
}

/** One version of a group is enough, because every object is listed under each. */
function distinctKinds(kinds: readonly KindName[]): readonly KindName[] {
  const distinct = new Map<string, KindName>();
  for (const one of kinds) {
    const key = `${groupOf(one)} ${one.kind}`;
    if (!distinct.has(key)) distinct.set(key, one);
  }
  return [...distinct.values()];
}

/** Whether the bundle has the resource's object with that name and namespace. */
export function wantedIn(bundle: Bundle, resource: KubeResource): (object: KubeObject) => boolean {
  const wanted = new Set(
    bundle.objects
      .filter((one) => groupOf(one) === resource.group && one.kind === resource.kind)
      .map((manifest) => {
        const { name, namespace = '' } = placeOf(resource, manifest);
        return `${namespace}/${name}`;
      }),
  );
  return ({ metadata }) => wanted.has(`${metadata.namespace ?? ''}/${metadata.name}`);
}
