/**
 * Changes an object depending on its present content: reads it, and writes on condition that it has not
 * changed since, so that no other writer's change is lost.
 *
 * Promises: with a `uid`, only that object is changed, and no other of its name; an object that is already as
 * desired is not written; a repetition writes nothing (I5).
 */
import { equal } from '../../base/equal.ts';
import { hasCode, OrreryError } from '../../base/errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../../base/kube-port.ts';
import { withCondition } from '../api/conditions.ts';
import { list, record } from '../api/fields.ts';

/** An object by its name. */
export interface ObjectAt {
  /** Absent: a cluster-scoped object. */
  readonly namespace?: string;
  readonly name: string;
  /** Precondition: the object's uid. */
  readonly uid?: string;
}

export interface Changed {
  /** false: it was already as desired, or the object is gone. */
  readonly changed: boolean;
}

export interface StatusCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase, machine-readable. */
  readonly reason: string;
  readonly message: string;
}

export interface StatusFields {
  /** Written to the status and to each condition; absent: not written. */
  readonly observedGeneration?: number;
  /** Replace those of the same types; the others stay. Transition times follow Kubernetes' rule. */
  readonly conditions?: readonly StatusCondition[];
  /** Further fields of the status. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A merge patch that makes the object as desired; null: it already is. */
export type Edit = (
  object: KubeObject,
) => { readonly metadata?: object; readonly [field: string]: unknown } | null;

/** How often another writer may interfere. */
const triesMax = 5;

/**
 * Reads, edits, and writes if nobody else did meanwhile.
 *
 * @throws OrreryError KUBE_NOT_FOUND for an object that is gone or replaced; KUBE_CONFLICT for one that
 *   others keep changing
 */
export async function editObject(
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
    const where = { ...placeOf(at), type: 'merge', ...(subresource ? { subresource } : {}) } as const;
    try {
      await kube.patch(resource, { ...where, body }, signal);
      return { changed: true };
    } catch (thrown) {
      if (tries >= triesMax || !hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
    }
  }
}

/** Writes the status of an object. @param now when it was found, ms since the epoch */
export function writeStatus(
  kube: KubePort,
  resource: KubeResource,
  { at, now, ...fields }: StatusFields & { readonly at: ObjectAt; readonly now: number },
  signal: AbortSignal,
): Promise<Changed> {
  return editObject(kube, resource, at, (object) => statusEdit(object, fields, now), signal, 'status');
}

function statusEdit(
  object: KubeObject,
  { observedGeneration, conditions = [], fields = {} }: StatusFields,
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

/** Conditions keep their order, so an unchanged status compares as equal. */
function inPlace(object: KubeObject, all: readonly Readonly<Record<string, unknown>>[]) {
  const types = list(record(object.status).conditions).map((one) => record(one).type);
  const rank = ({ type }: Readonly<Record<string, unknown>>) => {
    const at = types.indexOf(type);
    return at < 0 ? types.length : at;
  };
  return [...all].sort((a, b) => rank(a) - rank(b));
}

/** @throws OrreryError KUBE_NOT_FOUND if another object has that name */
export function sameAs({ uid, name }: ObjectAt, object: KubeObject): KubeObject {
  if (uid === undefined || object.metadata.uid === uid) return object;
  throw new OrreryError('KUBE_NOT_FOUND', `${name} no longer has the uid ${uid}`);
}

export const placeOf = ({
  namespace,
  name,
}: {
  readonly namespace?: string | undefined;
  readonly name: string;
}) => (namespace === undefined ? { name } : { namespace, name });

/** Optional fields are left out rather than undefined. */
export const preconditions = ({
  uid,
  resourceVersion,
}: {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}) => ({
  ...(uid === undefined ? {} : { uid }),
  ...(resourceVersion === undefined ? {} : { resourceVersion }),
});
