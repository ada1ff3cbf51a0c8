/**
 * The port to the Kubernetes API server: the calls that Orrery makes. `kube/api/rest.ts` implements it, with
 * the authentication of the Kubernetes client library.
 *
 * Every call rejects with an OrreryError: KUBE_NOT_FOUND, KUBE_CONFLICT, KUBE_EXPIRED, KUBE_THROTTLED (fact
 * `retryAfterMs`), KUBE_SERVER, KUBE_UNREACHABLE, KUBE_REFUSED (facts `status`, `reason`).
 */

/** A resource as the API server addresses it. */
export interface KubeResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Lower-case plural, as in the URL. */
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface KubeMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly generateName?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: ReadonlyArray<Readonly<Record<string, unknown>>>;
  readonly finalizers?: readonly string[];
  /** Who applied or wrote which of its fields. */
  readonly managedFields?: ReadonlyArray<{
    readonly manager?: string;
    readonly operation?: string;
    readonly time?: string;
    readonly subresource?: string;
    readonly fieldsV1?: Readonly<Record<string, unknown>>;
  }>;
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMeta;
  readonly [field: string]: unknown;
}

export interface KubeList {
  readonly resourceVersion: string;
  /** Token for the next page; empty on the last page. */
  readonly continue: string;
  readonly items: readonly KubeObject[];
}

export type KubeWatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
}

export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion: string;
  /** The server ends the watch after this many seconds. */
  readonly timeoutSeconds: number;
  /** Called once when the server has accepted the watch, before the first event. */
  readonly onOpen?: () => void;
}

export type PatchType = 'merge' | 'strategic' | 'json' | 'apply';

export interface PatchOptions {
  readonly namespace?: string;
  readonly name: string;
  readonly subresource?: 'status' | 'scale';
  readonly type: PatchType;
  readonly body: unknown;
  /** Needed for `apply`. */
  readonly fieldManager?: string;
  readonly force?: boolean;
  /** Of a JSON patch: repeating it changes nothing more. Any other patch is repeatable. */
  readonly isRepeatable?: boolean;
}

export interface KubePort {
  list(resource: KubeResource, options: ListOptions, signal: AbortSignal): Promise<KubeList>;
  /**
   * Calls back for each event in order; resolves when the server ends the watch cleanly, rejects
   * otherwise (KUBE_EXPIRED for 410, KUBE_UNREACHABLE for a broken or silent connection).
   */
  watch(
    resource: KubeResource,
    options: WatchOptions,
    onEvent: (event: KubeWatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void>;
  get(
    resource: KubeResource,
    namespace: string | undefined,
    name: string,
    signal: AbortSignal,
  ): Promise<KubeObject>;
  /**
   * @param subresource of the object that `metadata` names: `token` of a ServiceAccount takes a TokenRequest,
   *   `eviction` of a Pod takes an Eviction
   */
  create(
    resource: KubeResource,
    object: KubeObject,
    signal: AbortSignal,
    subresource?: 'token' | 'eviction',
  ): Promise<KubeObject>;
  /**
   * Posts a request that creates no object, such as a SubjectAccessReview, and returns the answer unchanged.
   *
   * @param resource where to post it; the body states its own type
   */
  ask(
    resource: KubeResource,
    question: Readonly<Record<string, unknown>>,
    options: { readonly timeoutMs: number },
    signal: AbortSignal,
  ): Promise<unknown>;
  /** Replaces the object (PUT). If metadata.resourceVersion is set, only that version is replaced. */
  replace(
    resource: KubeResource,
    object: KubeObject,
    signal: AbortSignal,
    subresource?: 'status',
  ): Promise<KubeObject>;
  patch(resource: KubeResource, options: PatchOptions, signal: AbortSignal): Promise<KubeObject>;
  /** What the object owns is deleted after it. */
  delete(
    resource: KubeResource,
    namespace: string | undefined,
    name: string,
    options: {
      readonly uid?: string;
      readonly resourceVersion?: string;
      readonly gracePeriodSeconds?: number;
    },
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Finds plural, version and scope of a kind by discovery.
   *
   * @throws OrreryError KUBE_NOT_FOUND if the cluster does not have the kind
   */
  resolve(apiVersion: string, kind: string, signal: AbortSignal): Promise<KubeResource>;
}
