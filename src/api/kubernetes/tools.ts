/**
 * The Kubernetes calls available to a feature, each as one function with exactly the fields it needs.
 *
 * All of them reject with an OrreryError (KUBE_NOT_FOUND, KUBE_CONFLICT, KUBE_THROTTLED, KUBE_SERVER,
 * KUBE_UNREACHABLE, KUBE_REFUSED); with a `uid` they change only that object, and no other of its name; a
 * repeated call changes nothing. A kind's resource is looked up in the cluster at its first use, and again
 * every five minutes.
 */
import type { KubeList, KubeObject, ListOptions } from '../../base/kube-port.ts';
import type { Changed, ObjectAt, StatusFields } from '../../kube/effects/object-edit.ts';
import type { KindName, NamedResource } from '../kind-name.ts';

/** The owner of another object; it is in the same namespace, or cluster-scoped. */
export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** An object to apply: its name and the desired fields. */
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
  /** The owner of the applied fields; default `orrery-<feature>`. */
  readonly fieldManager?: string;
  /** Takes fields over from other managers; absent: they are a conflict (KUBE_CONFLICT). */
  readonly force?: boolean;
}

/** The object's identity after a write. */
export interface Written {
  readonly uid: string;
  readonly resourceVersion: string;
  /** 0 if the resource has no generation. */
  readonly generation: number;
}

export interface PatchParams extends ObjectAt {
  /** Precondition: the object's present version. */
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
  /** CamelCase, machine-readable. */
  readonly reason: string;
  /** For people, at most 1 KiB. */
  readonly note: string;
}

export interface DeleteParams extends ObjectAt {
  /** Precondition: the object's present version. */
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
  /** `blocked`: a PodDisruptionBudget does not allow it now; `gone`: there is no such Pod. */
  readonly outcome: 'evicted' | 'gone' | 'blocked';
  /** How long the API server asks to wait; null: it does not say. */
  readonly retryAfterMs: number | null;
  /** The server's message; empty if the Pod was evicted. */
  readonly message: string;
}

type Kind = KindName | NamedResource;

export interface KubernetesTools {
  /** @throws OrreryError KUBE_NOT_FOUND */
  get(kind: Kind, at: ObjectAt): Promise<KubeObject>;
  list(kind: Kind, options?: ListOptions): Promise<KubeList>;
  /** Creates the object. @throws OrreryError KUBE_CONFLICT if one of that name exists */
  create(kind: Kind, object: AppliedObject): Promise<KubeObject>;
  /** Server-side apply: creates the object, or sets its fields. */
  apply(kind: Kind, params: ApplyParams, options?: ApplyOptions): Promise<Written>;
  patch(kind: Kind, params: PatchParams): Promise<Written>;
  status(kind: Kind, params: StatusParams): Promise<Changed>;
  /** Writes an Event about an object; a repetition is counted in the same Event. */
  event(params: EventParams): Promise<void>;
  addFinalizer(kind: Kind, finalizer: string, at: ObjectAt): Promise<Changed>;
  removeFinalizer(kind: Kind, finalizer: string, at: ObjectAt): Promise<Changed>;
  /** Adds an owner reference. */
  own(kind: Kind, owner: Owner, at: ObjectAt): Promise<Changed>;
  /** @returns whether the object existed. @throws OrreryError KUBE_CONFLICT if it is another one */
  delete(kind: Kind, params: DeleteParams): Promise<{ readonly existed: boolean }>;
  /** Evicts a Pod if its disruption budgets allow it. */
  evict(params: EvictParams): Promise<Evicted>;
}
