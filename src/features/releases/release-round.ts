/**
 * One round over a bundle: apply every object, delete what no bundle has any more.
 *
 * Promises: namespaces and definitions come first; one object's error does not stop the others, and is in the summary; a kind that the
 * cluster does not know (yet) is an error of its objects alone. Only an aborted signal ends a round early.
 */

import { asError, hasCode } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { KubeObject, KubePort, KubeResource } from '../../kube/api/port.ts';
import type { RoundSummary } from '../../machines/release/release-events.ts';
import type { KindName } from '../../machines/release/release-table.ts';
import { type Bundle, type BundleObject, objectName } from './bundle.ts';
import { applyObject, placeOf } from './release-apply.ts';
import { pruneKind } from './release-prune.ts';

export interface RoundParts {
  readonly kube: KubePort;
  readonly bundle: Bundle;
  /** Told of each object that stands as the bundle has it. */
  readonly onApplied: (manifest: BundleObject, resource: KubeResource, object: KubeObject) => void;
}

/** @param kinds further kinds in which an older bundle may have left objects */
export async function releaseRound(
  { kube, bundle, onApplied }: RoundParts,
  kinds: readonly KindName[],
  signal: AbortSignal,
): Promise<RoundSummary> {
  const problems = problemList();
  const resolve = resolver(kube, signal);
  const counts = { applied: 0, pruned: 0, replaced: 0 };
  const applyOne = async (manifest: BundleObject) => {
    try {
      const resource = await resolve(manifest);
      const { object, isReplaced } = await applyObject(kube, resource, manifest, signal);
      counts.applied++;
      if (isReplaced) counts.replaced++;
      onApplied(manifest, resource, object);
    } catch (thrown) {
      signal.throwIfAborted();
      problems.add(objectName(manifest), thrown);
    }
  };
  for (const tier of tiers(bundle.objects)) await atOnce(tier, applyOne);
  for (const kind of distinctKinds([...bundle.kinds, ...kinds])) {
    signal.throwIfAborted();
    try {
      const resource = await resolve(kind);
      const onError = (object: KubeObject, error: unknown) =>
        problems.add(`${kind.kind} ${object.metadata.name}, to be deleted`, error);
      counts.pruned += await pruneKind(kube, resource, wantedIn(bundle, resource), onError, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      // A kind that is gone from the cluster has no objects; one of the bundle was told of above.
      if (!hasCode(thrown, 'KUBE_NOT_FOUND')) problems.add(`the list of ${kind.kind}`, thrown);
    }
  }
  return { ...counts, ...problems.summary() };
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

/** Looks each kind up once in a round; what was not found is looked up again, since the bundle may define it. */
function resolver(kube: KubePort, signal: AbortSignal) {
  const known = new Map<string, KubeResource>();
  return async ({ apiVersion, kind }: KindName): Promise<KubeResource> => {
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
  run: (object: BundleObject) => Promise<void>,
): Promise<void> {
  const left = objects.values();
  const worker = async () => {
    for (const object of left) await run(object);
  };
  await Promise.all(Array.from({ length: limits.releaseAppliesInFlight }, worker));
}

/** One version of a group is enough: every object is listed under each. */
function distinctKinds(kinds: readonly KindName[]): readonly KindName[] {
  const distinct = new Map<string, KindName>();
  for (const one of kinds) {
    const key = `${groupOf(one.apiVersion)} ${one.kind}`;
    if (!distinct.has(key)) distinct.set(key, one);
  }
  return [...distinct.values()];
}

const groupOf = (apiVersion: string) =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';

/** Whether the bundle has an object of the resource, by its name and namespace. */
export function wantedIn(bundle: Bundle, resource: KubeResource): (object: KubeObject) => boolean {
  const wanted = new Set(
    bundle.objects
      .filter(({ apiVersion, kind }) => groupOf(apiVersion) === resource.group && kind === resource.kind)
      .map((manifest) => {
        const { name, namespace = '' } = placeOf(resource, manifest);
        return `${namespace}/${name}`;
      }),
  );
  return ({ metadata }) => wanted.has(`${metadata.namespace ?? ''}/${metadata.name}`);
}
