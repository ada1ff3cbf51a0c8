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

function needOf({ resource }: OnResource, type: string, verbs: readonly string[], part = ''): Need {
  const named = readKindName(resource);
  return {
    apiGroup: groupOf(named),
    resources: [`${pluralOf(named)}${part}`],
    verbs,
    why: `the effect ${type}`,
  };
}

/** `kubernetes.apply('greeting.write', { resource: 'v1/ConfigMap' })`: an effect of that name. */
export const kubernetes = {
  /** Server-side apply. */
  apply: <const T extends string>(
    type: T,
    { resource, ...options }: OnResource & ApplyOptions,
  ): Effect<T, ApplyParams, Written> =>
    effect(type, {
      needs: [needOf({ resource }, type, ['create', 'patch'])],
      run: (params: ApplyParams, tools) => tools.kubernetes.apply(resource, params, options),
    }),
  /** JSON merge patch. */
  patch: <const T extends string>(type: T, { resource }: OnResource): Effect<T, PatchParams, Written> =>
    effect(type, {
      needs: [needOf({ resource }, type, ['patch'])],
      run: (params: PatchParams, tools) => tools.kubernetes.patch(resource, params),
    }),
  /** Conditions, `observedGeneration` and further fields of the status. */
  status: <const T extends string>(type: T, { resource }: OnResource): Effect<T, StatusParams, Changed> =>
    effect(type, {
      needs: [needOf({ resource }, type, ['get']), needOf({ resource }, type, ['patch'], '/status')],
      run: (params: StatusParams, tools) => tools.kubernetes.status(resource, params),
    }),
  /** An Event about an object; every replica has the permission. */
  event: <const T extends string>(type: T): Effect<T, EventParams, void> =>
    effect(type, { run: (params: EventParams, tools) => tools.kubernetes.event(params) }),
  addFinalizer: <const T extends string>(
    type: T,
    { resource, finalizer }: OfFinalizer,
  ): Effect<T, ObjectAt, Changed> =>
    effect(type, {
      needs: [needOf({ resource }, type, ['get', 'patch'])],
      run: (params: ObjectAt, tools) => tools.kubernetes.addFinalizer(resource, finalizer, params),
    }),
  /** Succeeds if the object is gone. */
  removeFinalizer: <const T extends string>(
    type: T,
    { resource, finalizer }: OfFinalizer,
  ): Effect<T, ObjectAt, Changed> =>
    effect(type, {
      needs: [needOf({ resource }, type, ['get', 'patch'])],
      run: (params: ObjectAt, tools) => tools.kubernetes.removeFinalizer(resource, finalizer, params),
    }),
  /** Adds an owner reference. */
  own: <const T extends string>(
    type: T,
    { resource }: OnResource,
  ): Effect<T, ObjectAt & { readonly owner: Owner }, Changed> =>
    effect(type, {
      needs: [needOf({ resource }, type, ['get', 'patch'])],
      run: ({ owner, ...at }: ObjectAt & { readonly owner: Owner }, tools) =>
        tools.kubernetes.own(resource, owner, at),
    }),
  /** Deletes with preconditions; succeeds if the object is gone. */
  delete: <const T extends string>(
    type: T,
    { resource }: OnResource,
  ): Effect<T, DeleteParams, { readonly existed: boolean }> =>
    effect(type, {
      needs: [needOf({ resource }, type, ['delete'])],
      run: (params: DeleteParams, tools) => tools.kubernetes.delete(resource, params),
    }),
  /** Evicts a Pod if its disruption budgets allow it. */
  evict: <const T extends string>(type: T): Effect<T, EvictParams, Evicted> =>
    effect(type, {
      needs: [{ apiGroup: '', resources: ['pods/eviction'], verbs: ['create'], why: `the effect ${type}` }],
      run: (params: EvictParams, tools) => tools.kubernetes.evict(params),
    }),
} as const;
