/** The Kubernetes tools in one replica, over its port (tools.ts states the promises). */
import { runs } from '../../actors/effect-runner.ts';
import type { Clock } from '../../base/clock.ts';
import { hasCode, OrreryError, retryAfterOf } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import type { KubeObject, KubePort, KubeResource } from '../../base/kube-port.ts';
import { unlessGone } from '../../kube/api/absent.ts';
import { record } from '../../kube/api/fields.ts';
import { coreResource } from '../../kube/api/resources.ts';
import { writeKubeEvent } from '../../kube/effects/kube-event.ts';
import {
  type Changed,
  type Edit,
  editObject,
  type ObjectAt,
  placeOf,
  preconditions,
  sameAs,
  writeStatus,
} from '../../kube/effects/object-edit.ts';
import { kubeEventWrite } from '../../machines/effects.ts';
import { type KindName, type NamedResource, readKindName } from '../kind-name.ts';
import type { Evicted, KubernetesTools, Written } from './tools.ts';

export interface Kinds {
  resolve(kind: KindName | NamedResource, signal: AbortSignal): Promise<KubeResource>;
}

/** Somebody may delete a definition and make it again, with another plural or scope. */
const knownForMs = 300_000;

/**
 * Looks a kind up for all effects of a replica, and again now and then; while the API server does not say
 * what it is, what it was holds.
 */
export function createKinds(kube: Pick<KubePort, 'resolve'>, clock: Pick<Clock, 'monotonic'>): Kinds {
  const known = new Map<string, { readonly resource: KubeResource; at: number }>();
  return {
    async resolve(name, signal) {
      const { apiVersion, kind } = readKindName(name);
      const key = `${apiVersion}/${kind}`;
      const before = known.get(key);
      const now = clock.monotonic();
      if (before !== undefined && now - before.at < knownForMs) return before.resource;
      // One looks; others that come meanwhile do not wait for it.
      if (before !== undefined) before.at = now;
      try {
        const resource = await kube.resolve(apiVersion, kind, signal);
        known.set(key, { resource, at: now });
        return resource;
      } catch (thrown) {
        const isGone = hasCode(thrown, 'KUBE_NOT_FOUND');
        if (isGone) known.delete(key);
        if (isGone || before === undefined) throw thrown;
        return before.resource;
      }
    },
  };
}

export interface CallParts {
  readonly kube: KubePort;
  readonly kinds: Kinds;
  readonly signal: AbortSignal;
  /** The effect's key. */
  readonly key: string;
  readonly actor: ActorId;
  readonly replica: string;
  readonly fieldManager: string;
  readonly now: () => number;
}

const pods = coreResource('pods', 'Pod');

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
      const patch = { ...placeOf({ namespace, name }), type: 'apply', fieldManager } as const;
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
        return written(await kube.patch(resource, { ...placeOf(at), type: 'merge', body }, signal));
      } catch (thrown) {
        // For an object with another uid, the server answers that the uid cannot be changed; the feature
        // asked for that object only.
        const isAsked = uid !== undefined && hasCode(thrown, 'KUBE_REFUSED');
        if (isAsked) sameAs({ ...at, uid }, await kube.get(resource, at.namespace, at.name, signal));
        throw thrown;
      }
    },
    status: async (kind, status) =>
      writeStatus(kube, await resolve(kind), { ...status, at: status, now: parts.now() }, signal),
    event: (params) => writeEvent(parts, params),
    ...metadataTools(change),
    async delete(kind, { namespace, name, ...options }) {
      const deleting = resolve(kind).then((found) => kube.delete(found, namespace, name, options, signal));
      return { existed: (await unlessGone(deleting.then(() => true))) ?? false };
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
    removeFinalizer: async (kind, finalizer, at) => {
      const edit: Edit = ({ metadata: { finalizers = [] } }) =>
        finalizers.includes(finalizer)
          ? { metadata: { finalizers: finalizers.filter((one) => one !== finalizer) } }
          : null;
      return (await unlessGone(change(kind, at, edit))) ?? { changed: false };
    },
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
    // A conflict: another Pod has that name now.
    if (hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_CONFLICT'))
      return { outcome: 'gone', retryAfterMs: null, message: thrown.message };
    if (!hasCode(thrown, 'KUBE_THROTTLED')) throw thrown;
    return { outcome: 'blocked', retryAfterMs: retryAfterOf(thrown), message: thrown.message };
  }
}

function written({ metadata: { uid = '', resourceVersion = '', generation = 0 } }: KubeObject): Written {
  return { uid, resourceVersion, generation };
}
