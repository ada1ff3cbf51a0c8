/**
 * How objects and namespaces end: a finalizer lets go of them, and of a namespace that is deleted everything
 * goes, in any order. For a simulated API only: a real one deletes namespaces by itself.
 */
import type { Chance } from '../../../packages/testing/time/chance.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import type { ActedStage } from './seen-api.ts';

type Api = ActedStage['api'];

/** What the API server answers to whoever creates something in a namespace that is being deleted. */
export const terminating = (namespace: string): OrreryError =>
  new OrreryError('KUBE_REFUSED', `namespace ${namespace} is being terminated`, {
    facts: { status: 403, reason: 'Forbidden' },
  });

export function setFinalizers(
  api: Api,
  resource: KubeResource,
  { metadata }: KubeObject,
  finalizers: readonly string[],
): void {
  const { namespace, name } = metadata;
  const at = namespace === undefined ? { name } : { namespace, name };
  api.patch(resource, { ...at, type: 'merge', body: { metadata: { finalizers } } });
}

/** It goes now, if it is still the same object. */
export function end(api: Api, resource: KubeResource, { metadata }: KubeObject): void {
  const present = api.find(resource, metadata.namespace, metadata.name);
  if (present === null || present.metadata.uid !== metadata.uid) return;
  if ((present.metadata.finalizers ?? []).length > 0) setFinalizers(api, resource, present, []);
  const left = api.find(resource, metadata.namespace, metadata.name);
  if (left?.metadata.uid === metadata.uid) api.remove(resource, metadata.namespace, metadata.name);
}

/**
 * All objects of these kinds that `isIn` chooses go within some seconds, and what others made meanwhile at
 * the end.
 * @returns how long that takes, ms
 */
export function endAll(
  { api, clock }: ActedStage,
  chance: Chance,
  kinds: readonly KubeResource[],
  isIn: (object: KubeObject) => boolean = () => true,
): number {
  const goneMs = chance.between(500, 6_000);
  const those = () =>
    kinds.flatMap((kind) =>
      api
        .all(kind)
        .filter(isIn)
        .map((object) => [kind, object] as const),
    );
  for (const [kind, object] of those())
    clock.after(chance.between(0, goneMs - 100), () => end(api, kind, object));
  clock.after(goneMs, () => {
    for (const [kind, object] of those()) end(api, kind, object);
  });
  return goneMs;
}
