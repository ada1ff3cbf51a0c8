/** The tools for Kubernetes in one replica, over its port (tools.ts says what they promise). */
import { runs } from '../../actors/effect-runner.ts';
import { equal } from '../../base/equal.ts';
import { hasCode, OrreryError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import type { KubeObject, KubePort, KubeResource } from '../../base/kube-port.ts';
import { withCondition } from '../../kube/api/conditions.ts';
import { record } from '../../kube/api/fields.ts';
import { writeKubeEvent } from '../../kube/effects/kube-event.ts';
import { kubeEventWrite } from '../../machines/effects.ts';
import { type KindName, type NamedResource, readKindName } from '../kind-name.ts';
import type { Changed, Evicted, KubernetesTools, ObjectAt, StatusParams, Written } from './tools.ts';

export interface Kinds {
  resolve(kind: KindName | NamedResource, signal: AbortSignal): Promise<KubeResource>;
}

/** Looks kinds up once for all effects of a replica. */
export function createKinds(kube: Pick<KubePort, 'resolve'>): Kinds {
  const known = new Map<string, KubeResource>();
  return {
    async resolve(name, signal) {
      const { apiVersion, kind } = readKindName(name);
      const key = `${apiVersion}/${kind}`;
      const resource = known.get(key) ?? (await kube.resolve(apiVersion, kind, signal));
      known.set(key, resource);
      return resource;
    },
  };
}

export interface CallParts {
  readonly kube: KubePort;
  readonly kinds: Kinds;
  readonly signal: AbortSignal;
  /** Of the effect. */
  readonly key: string;
  readonly actor: ActorId;
  readonly replica: string;
  readonly fieldManager: string;
  readonly now: () => number;
}

/** Somebody else may write in between so often. */
const triesMax = 4;
const pods: KubeResource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };

export function kubernetesTools(parts: CallParts): KubernetesTools {
  const { kube, kinds, signal } = parts;
  const resolve = (kind: KindName | NamedResource) => kinds.resolve(kind, signal);
  const change = async (kind: KindName | NamedResource, at: ObjectAt, edit: Edit) =>
    editObject(kube, await resolve(kind), at, edit, signal);
  return {
    get: async (kind, at) => sameAs(at, await kube.get(await resolve(kind), at.namespace, at.name, signal)),
    list: async (kind, options = {}) => kube.list(await resolve(kind), options, signal),
    create: async (kind, object) => kube.create(await resolve(kind), object as KubeObject, signal),
    async apply(kind, { object, owner }, { fieldManager = parts.fieldManager, force } = {}) {
      const { name, namespace } = object.metadata;
      const metadata = { ...object.metadata, ...(owner ? { ownerReferences: [owner] } : {}) };
      const patch = { ...place({ namespace, name }), type: 'apply', fieldManager } as const;
      const body = { ...object, metadata };
      return written(
        await kube.patch(await resolve(kind), { ...patch, body, ...(force ? { force } : {}) }, signal),
      );
    },
    async patch(kind, { patch, resourceVersion, uid, ...at }) {
      const metadata = { ...record(patch.metadata), ...preconditions({ uid, resourceVersion }) };
      const body = Object.keys(metadata).length === 0 ? patch : { ...patch, metadata };
      const resource = await resolve(kind);
      try {
        return written(await kube.patch(resource, { ...place(at), type: 'merge', body }, signal));
      } catch (thrown) {
        // Of another uid the server says that it cannot be changed; the feature asks whether it is that
        // object.
        const isAsked = uid !== undefined && hasCode(thrown, 'KUBE_REFUSED');
        if (isAsked) sameAs({ ...at, uid }, await kube.get(resource, at.namespace, at.name, signal));
        throw thrown;
      }
    },
    status: async (kind, params) => {
      const edit = (object: KubeObject) => statusEdit(object, params, parts.now());
      return editObject(kube, await resolve(kind), params, edit, signal, 'status');
    },
    event: (params) => writeEvent(parts, params),
    ...metadataTools(change),
    async delete(kind, { namespace, name, ...options }) {
      try {
        await kube.delete(await resolve(kind), namespace, name, options, signal);
        return { existed: true };
      } catch (thrown) {
        if (hasCode(thrown, 'KUBE_NOT_FOUND')) return { existed: false };
        throw thrown;
      }
    },
    evict: (params) => evict(kube, params, signal),
  };
}

type Change = (kind: KindName | NamedResource, at: ObjectAt, edit: Edit) => Promise<Changed>;

function metadataTools(change: Change): Pick<KubernetesTools, 'addFinalizer' | 'removeFinalizer' | 'own'> {
  return {
    addFinalizer: (kind, finalizer, at) =>
      change(kind, at, ({ metadata: { finalizers = [] } }) =>
        finalizers.includes(finalizer) ? null : { metadata: { finalizers: [...finalizers, finalizer] } },
      ),
    removeFinalizer: (kind, finalizer, at) =>
      unlessGone(
        change(kind, at, ({ metadata: { finalizers = [] } }) =>
          finalizers.includes(finalizer)
            ? { metadata: { finalizers: finalizers.filter((one) => one !== finalizer) } }
            : null,
        ),
      ),
    own: (kind, owner, at) =>
      change(kind, at, ({ metadata: { ownerReferences = [] } }) =>
        ownerReferences.some(({ uid }) => uid === owner.uid)
          ? null
          : { metadata: { ownerReferences: [...ownerReferences, owner] } },
      ),
  };
}

async function writeEvent(
  parts: CallParts,
  { regarding, ...said }: Parameters<KubernetesTools['event']>[0],
): Promise<void> {
  const { run } = runs(kubeEventWrite, writeKubeEvent(parts.kube, { replica: parts.replica }));
  const asked = { ...said, regarding: { ...regarding, namespace: regarding.namespace ?? '' } };
  const effect = { ...asked, type: 'kube-event.write', at: parts.now() };
  const { error } = await run(effect, { ...parts, emit: () => {} });
  if (typeof error === 'string') throw new OrreryError('KUBE_REFUSED', error);
}

/** A merge patch that makes the object as it shall be; null: it is so. */
type Edit = (object: KubeObject) => { readonly metadata?: object; readonly [field: string]: unknown } | null;

/** Reads, changes, and writes if nobody else did meanwhile. */
async function editObject(
  kube: KubePort,
  resource: KubeResource,
  at: ObjectAt,
  edit: Edit,
  signal: AbortSignal,
  subresource?: 'status',
): Promise<Changed> {
  for (let tries = 1; ; tries++) {
    const object = sameAs(at, await kube.get(resource, at.namespace, at.name, signal));
    const patch = edit(object);
    if (patch === null) return { changed: false };
    const { uid, resourceVersion } = object.metadata;
    const body = { ...patch, metadata: { ...patch.metadata, ...preconditions({ uid, resourceVersion }) } };
    const where = { ...place(at), type: 'merge', ...(subresource ? { subresource } : {}) } as const;
    try {
      await kube.patch(resource, { ...where, body }, signal);
      return { changed: true };
    } catch (thrown) {
      if (tries >= triesMax || !hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
    }
  }
}

function statusEdit(
  object: KubeObject,
  { observedGeneration, conditions = [], fields = {} }: StatusParams,
  at: number,
): { readonly status: object } | null {
  const generation = observedGeneration === undefined ? {} : { observedGeneration };
  const before = record(object.status);
  let now = object;
  for (const condition of conditions) {
    const all = withCondition(now, { ...condition, ...generation }, at);
    now = { ...now, status: { ...record(now.status), conditions: inPlace(now, all) } };
  }
  const status = { ...record(now.status), ...fields, ...generation };
  if (equal(status, before)) return null;
  const listed = conditions.length === 0 ? {} : { conditions: record(now.status).conditions };
  return { status: { ...fields, ...generation, ...listed } };
}

/** Conditions keep their order: a status that says the same is the same. */
function inPlace(object: KubeObject, all: readonly Readonly<Record<string, unknown>>[]) {
  const types = ((record(object.status).conditions ?? []) as readonly unknown[]).map(
    (one) => record(one).type,
  );
  const rank = ({ type }: Readonly<Record<string, unknown>>) => {
    const at = types.indexOf(type);
    return at < 0 ? types.length : at;
  };
  return [...all].sort((a, b) => rank(a) - rank(b));
}

async function evict(
  kube: KubePort,
  { namespace, name, uid, gracePeriodSeconds }: Parameters<KubernetesTools['evict']>[0],
  signal: AbortSignal,
): Promise<Evicted> {
  const deleteOptions = {
    ...(uid === undefined ? {} : { preconditions: { uid } }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  };
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name }, deleteOptions };
  try {
    await kube.create(pods, body, signal, 'eviction');
    return { outcome: 'evicted', retryAfterMs: null, message: '' };
  } catch (thrown) {
    // A conflict: another Pod of that name stands there now.
    if (hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_CONFLICT'))
      return { outcome: 'gone', retryAfterMs: null, message: thrown.message };
    if (!hasCode(thrown, 'KUBE_THROTTLED')) throw thrown;
    const { retryAfterMs } = thrown.facts;
    const waitMs = typeof retryAfterMs === 'number' ? retryAfterMs : null;
    return { outcome: 'blocked', retryAfterMs: waitMs, message: thrown.message };
  }
}

/** @throws OrreryError KUBE_NOT_FOUND if it is another one of that name */
function sameAs({ uid, name }: ObjectAt, object: KubeObject): KubeObject {
  if (uid === undefined || object.metadata.uid === uid) return object;
  throw new OrreryError('KUBE_NOT_FOUND', `${name} is another object now than the one of uid ${uid}`);
}

async function unlessGone(changing: Promise<Changed>): Promise<Changed> {
  try {
    return await changing;
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_NOT_FOUND')) return { changed: false };
    throw thrown;
  }
}

const place = ({ namespace, name }: { readonly namespace?: string | undefined; readonly name: string }) =>
  namespace === undefined ? { name } : { namespace, name };

const preconditions = (wanted: {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}) => Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));

function written({ metadata: { uid = '', resourceVersion = '', generation = 0 } }: KubeObject): Written {
  return { uid, resourceVersion, generation };
}
