/**
 * What a feature may do to Kubernetes: the calls, each as one function of what it needs.
 *
 * Promises of all of them: they reject with an OrreryError (KUBE_NOT_FOUND, KUBE_CONFLICT, KUBE_THROTTLED,
 * KUBE_SERVER, KUBE_UNREACHABLE, KUBE_REFUSED); with a `uid` they touch that very object and no other of its
 * name; done twice they change nothing the second time. Which resource a kind is is looked up in the cluster
 * once.
 */
import type { KubeList, KubeObject, ListOptions } from '../../base/kube-port.ts';
import type { Changed, ObjectAt, StatusFields } from '../../kube/effects/object-edit.ts';
import type { KindName, NamedResource } from '../kind-name.ts';

/** An object that owns another: it is in the same namespace, or of the whole cluster. */
export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** An object to be applied: its name, and the fields that it shall have. */
export interface AppliedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export interface ApplyParams {
  readonly object: AppliedObject;
  readonly owner?: Owner;
}

export interface ApplyOptions {
  /** Who owns the fields that are applied; `orrery-<feature>` if absent. */
  readonly fieldManager?: string;
  /** Takes over fields of other managers; absent: they are a conflict (KUBE_CONFLICT). */
  readonly force?: boolean;
}

/** What stands in the cluster after a write. */
export interface Written {
  readonly uid: string;
  readonly resourceVersion: string;
  /** 0 where the resource counts none. */
  readonly generation: number;
}

export interface PatchParams extends ObjectAt {
  /** Precondition: the object must be in this version. */
  readonly resourceVersion?: string;
  /** A JSON merge patch: null removes a field, lists are replaced whole. */
  readonly patch: Readonly<Record<string, unknown>>;
}

export interface StatusParams extends ObjectAt, StatusFields {}

export interface EventParams {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly eventType: 'Normal' | 'Warning';
  /** CamelCase, for machines. */
  readonly reason: string;
  /** For people, at most 1 KiB. */
  readonly note: string;
}

export interface DeleteParams extends ObjectAt {
  /** Precondition: the object must be in this version. */
  readonly resourceVersion?: string;
  readonly gracePeriodSeconds?: number;
}

export interface EvictParams {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
  readonly gracePeriodSeconds?: number;
}

export interface Evicted {
  /** `blocked`: a PodDisruptionBudget allows it not now; `gone`: there is no such Pod (any more). */
  readonly outcome: 'evicted' | 'gone' | 'blocked';
  /** How long the API server asks to wait; null: it says nothing. */
  readonly retryAfterMs: number | null;
  /** Its words; empty if it was evicted. */
  readonly message: string;
}

type Kind = KindName | NamedResource;

export interface KubernetesTools {
  /** @throws OrreryError KUBE_NOT_FOUND */
  get(kind: Kind, at: ObjectAt): Promise<KubeObject>;
  list(kind: Kind, options?: ListOptions): Promise<KubeList>;
  /** Makes it. @throws OrreryError KUBE_CONFLICT if there is one of that name */
  create(kind: Kind, object: AppliedObject): Promise<KubeObject>;
  /** Server-side apply: makes the object, or the fields so. */
  apply(kind: Kind, params: ApplyParams, options?: ApplyOptions): Promise<Written>;
  patch(kind: Kind, params: PatchParams): Promise<Written>;
  status(kind: Kind, params: StatusParams): Promise<Changed>;
  /** Writes an Event about an object; the same again is counted. */
  event(params: EventParams): Promise<void>;
  addFinalizer(kind: Kind, finalizer: string, at: ObjectAt): Promise<Changed>;
  removeFinalizer(kind: Kind, finalizer: string, at: ObjectAt): Promise<Changed>;
  /** Adds an owner reference. */
  own(kind: Kind, owner: Owner, at: ObjectAt): Promise<Changed>;
  /** @returns whether there was such an object. @throws OrreryError KUBE_CONFLICT if it is another one */
  delete(kind: Kind, params: DeleteParams): Promise<{ readonly existed: boolean }>;
  /** Asks for a Pod to be evicted, as its budgets allow. */
  evict(params: EvictParams): Promise<Evicted>;
}
