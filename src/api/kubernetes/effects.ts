/**
 * Ready-made effects on Kubernetes. Each is created under a name of the feature's own, so two of them never
 * share an outcome, and contains the permissions it needs.
 */

import type { Need } from '../../actors/need.ts';
import type { Changed, ObjectAt } from '../../kube/effects/object-edit.ts';
import { type Effect, effect } from '../effect.ts';
import { groupOf, type KindName, type NamedResource, pluralOf, readKindName } from '../kind-name.ts';
import type {
  ApplyOptions,
  ApplyParams,
  DeleteParams,
  EventParams,
  Evicted,
  EvictParams,
  KubernetesTools,
  Owner,
  PatchParams,
  StatusParams,
  Written,
} from './tools.ts';

export interface OnResource {
  readonly resource: KindName | NamedResource;
}

export interface OfFinalizer extends OnResource {
  /** `example.com/drain` */
  readonly finalizer: string;
}

function needOf(resource: OnResource['resource'], type: string, verbs: readonly string[], part = ''): Need {
  const named = readKindName(resource);
  return {
    apiGroup: groupOf(named),
    resources: [`${pluralOf(named)}${part}`],
    verbs,
    why: `the effect ${type}`,
  };
}

const may =
  (resource: OnResource['resource'], ...verbs: readonly string[]) =>
  (type: string): readonly Need[] => [needOf(resource, type, verbs)];

/** An effect of that name that calls one of the tools, with these permissions. */
const made = <const T extends string, P extends object, R>(
  type: T,
  needs: (type: string) => readonly Need[],
  run: (kubernetes: KubernetesTools, params: P) => Promise<R>,
): Effect<T, P, R> =>
  effect(type, { needs: needs(type), run: (params: P, tools) => run(tools.kubernetes, params) });

const evicting = { apiGroup: '', resources: ['pods/eviction'], verbs: ['create'] };

/** `kubernetes.apply('greeting.write', { resource: 'v1/ConfigMap' })`: an effect of that name. */
export const kubernetes = {
  /** Server-side apply. */
  apply: <const T extends string>(
    type: T,
    { resource, ...options }: OnResource & ApplyOptions,
  ): Effect<T, ApplyParams, Written> =>
    made(type, may(resource, 'create', 'patch'), (on, params) => on.apply(resource, params, options)),
  /** JSON merge patch. */
  patch: <const T extends string>(type: T, { resource }: OnResource): Effect<T, PatchParams, Written> =>
    made(type, may(resource, 'patch'), (on, params) => on.patch(resource, params)),
  /** Conditions, `observedGeneration` and further fields of the status. */
  status: <const T extends string>(type: T, { resource }: OnResource): Effect<T, StatusParams, Changed> =>
    made(
      type,
      (why) => [needOf(resource, why, ['get']), needOf(resource, why, ['patch'], '/status')],
      (on, params) => on.status(resource, params),
    ),
  /** An Event about an object; every replica has the permission. */
  event: <const T extends string>(type: T): Effect<T, EventParams, void> =>
    made(
      type,
      () => [],
      (on, params) => on.event(params),
    ),
  addFinalizer: <const T extends string>(
    type: T,
    { resource, finalizer }: OfFinalizer,
  ): Effect<T, ObjectAt, Changed> =>
    made(type, may(resource, 'get', 'patch'), (on, at) => on.addFinalizer(resource, finalizer, at)),
  /** Succeeds if the object is gone. */
  removeFinalizer: <const T extends string>(
    type: T,
    { resource, finalizer }: OfFinalizer,
  ): Effect<T, ObjectAt, Changed> =>
    made(type, may(resource, 'get', 'patch'), (on, at) => on.removeFinalizer(resource, finalizer, at)),
  /** Adds an owner reference. */
  own: <const T extends string>(
    type: T,
    { resource }: OnResource,
  ): Effect<T, ObjectAt & { readonly owner: Owner }, Changed> =>
    made(type, may(resource, 'get', 'patch'), (on, { owner, ...at }) => on.own(resource, owner, at)),
  /** Deletes with preconditions; succeeds if the object is gone. */
  delete: <const T extends string>(
    type: T,
    { resource }: OnResource,
  ): Effect<T, DeleteParams, { readonly existed: boolean }> =>
    made(type, may(resource, 'delete'), (on, params) => on.delete(resource, params)),
  /** Evicts a Pod if its disruption budgets allow it. */
  evict: <const T extends string>(type: T): Effect<T, EvictParams, Evicted> =>
    made(
      type,
      (name) => [{ ...evicting, why: `the effect ${name}` }],
      (on, params) => on.evict(params),
    ),
} as const;
