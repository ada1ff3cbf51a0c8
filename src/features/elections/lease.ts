/**
 * Leases as elections need them: read, made, replaced on condition of their version, given back. No policy.
 *
 * Promises: what a Lease has beside the fields of an election (labels, annotations, owners) stays; a write that would come after
 * `notAfter` is not sent, whatever happened between its being asked for and now; times are MicroTime with six digits.
 * One store for a process: it keeps the objects that it saw last, so that a renewal is one request.
 */
import type { Clock } from '../../base/clock.ts';
import { hasCode, OrreryError } from '../../base/errors.ts';
import type { KubeObject, KubePort } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import type { LeasePlace, LeaseRecord } from '../../machines/election/lease-record.ts';
import { leases } from './resources.ts';

export interface SeenLease {
  readonly record: LeaseRecord;
  readonly resourceVersion: string;
}

export interface LeaseStore {
  /** null: there is none. @throws OrreryError of the port */
  read(place: LeasePlace, signal: AbortSignal): Promise<SeenLease | null>;
  /** @throws OrreryError KUBE_CONFLICT (another version, or there is none, or one where none was thought), LEASE_LATE, others of the port */
  write(place: LeasePlace, write: LeaseWriting, signal: AbortSignal): Promise<SeenLease>;
  /** Changes whenever something is written or is about to be: what was read around it may be older than it seems. */
  writesOf(place: LeasePlace): number;
}

export interface LeaseWriting {
  readonly record: LeaseRecord;
  /** null: to be made. */
  readonly resourceVersion: string | null;
  /** By the clock of the store, milliseconds. */
  readonly notAfter: number;
}

/** @param parts.clock the one by which those who ask count their deadlines */
export function createLeaseStore({
  kube,
  clock,
}: {
  readonly kube: KubePort;
  readonly clock: Clock;
}): LeaseStore {
  const objects = new Map<string, KubeObject>();
  const writes = new Map<string, number>();

  const keep = (place: LeasePlace, object: KubeObject): SeenLease => {
    const key = keyOf(place);
    objects.delete(key);
    objects.set(key, object);
    for (const oldest of objects.keys()) {
      if (objects.size <= limits.leasesKept) break;
      objects.delete(oldest);
      writes.delete(oldest);
    }
    return { record: leaseRecordOf(object), resourceVersion: versionOf(object) };
  };
  const get = async (place: LeasePlace, signal: AbortSignal): Promise<KubeObject | null> => {
    try {
      return await kube.get(leases, place.namespace, place.name, signal);
    } catch (thrown) {
      if (hasCode(thrown, 'KUBE_NOT_FOUND')) return null;
      throw thrown;
    }
  };
  const baseOf = async (place: LeasePlace, version: string, signal: AbortSignal): Promise<KubeObject> => {
    const known = objects.get(keyOf(place));
    const base = known && versionOf(known) === version ? known : await get(place, signal);
    if (base === null || versionOf(base) !== version) throw otherVersion(place);
    return base;
  };
  const count = (place: LeasePlace) => writes.set(keyOf(place), (writes.get(keyOf(place)) ?? 0) + 1);

  return {
    async read(place, signal) {
      const object = await get(place, signal);
      return object === null ? null : keep(place, object);
    },
    async write(place, { record, resourceVersion, notAfter }, signal) {
      const base = resourceVersion === null ? newLease(place) : await baseOf(place, resourceVersion, signal);
      if (clock.now() > notAfter) {
        throw new OrreryError('LEASE_LATE', `it is too late to write the Lease ${keyOf(place)}`);
      }
      count(place);
      try {
        const object = { ...base, spec: specOf(base, record) };
        const write = resourceVersion === null ? kube.create : kube.replace;
        return keep(place, await write(leases, object, signal));
      } catch (thrown) {
        if (resourceVersion !== null && hasCode(thrown, 'KUBE_NOT_FOUND')) throw otherVersion(place);
        throw thrown;
      } finally {
        count(place);
      }
    },
    writesOf: (place) => writes.get(keyOf(place)) ?? 0,
  };
}

export function leaseRecordOf({ spec }: KubeObject): LeaseRecord {
  const fields = (spec ?? {}) as Readonly<Record<string, unknown>>;
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : '');
  const count = (name: string) => (typeof fields[name] === 'number' ? fields[name] : 0);
  return {
    holder: text('holderIdentity'),
    durationSeconds: count('leaseDurationSeconds'),
    acquireTime: text('acquireTime'),
    renewTime: text('renewTime'),
    transitions: count('leaseTransitions'),
    strategy: text('strategy'),
    preferredHolder: text('preferredHolder'),
  };
}

function specOf({ spec }: KubeObject, record: LeaseRecord): Record<string, unknown> {
  const { strategy: _, preferredHolder: __, ...others } = (spec ?? {}) as Record<string, unknown>;
  return {
    ...others,
    holderIdentity: record.holder,
    leaseDurationSeconds: record.durationSeconds,
    acquireTime: record.acquireTime,
    renewTime: record.renewTime,
    leaseTransitions: record.transitions,
    ...(record.strategy === '' ? {} : { strategy: record.strategy }),
    ...(record.preferredHolder === '' ? {} : { preferredHolder: record.preferredHolder }),
  };
}

const keyOf = ({ namespace, name }: LeasePlace) => `${namespace}/${name}`;
const newLease = ({ namespace, name }: LeasePlace): KubeObject => ({ metadata: { namespace, name } });
const versionOf = ({ metadata }: KubeObject) => metadata.resourceVersion ?? '';

function otherVersion(place: LeasePlace): OrreryError {
  return new OrreryError('KUBE_CONFLICT', `the Lease ${keyOf(place)} is another than it was`);
}
