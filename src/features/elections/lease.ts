/**
 * Leases as elections need them: read, create, replace on condition of their version, release. No policy.
 *
 * Promises: fields outside the election (labels, annotations, owners) stay; a write after its `notAfter` is
 * not sent, whatever delayed it; times are MicroTime with six digits. A holder that must be respected is not
 * replaced before this process has seen its record unchanged for the required time, by a clock that cannot be
 * set (§1.2, §1.3). A process has one store: it keeps the last seen objects, so a renewal is one request.
 */

import type { FeatureParts } from '../../actors/feature.ts';
import { leaseClock } from '../../actors/time/lease-clock.ts';
import type { Clock } from '../../base/clock.ts';
import { equal } from '../../base/equal.ts';
import { hasCode, OrreryError } from '../../base/errors.ts';
import type { KubeObject, KubePort } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import { unlessGone } from '../../kube/api/absent.ts';
import type { LeasePlace, LeaseRecord } from '../../machines/election/lease-record.ts';
import { leases } from './resources.ts';

export interface SeenLease {
  readonly record: LeaseRecord;
  readonly resourceVersion: string;
}

export interface LeaseStore {
  /** null: the Lease does not exist. @throws OrreryError of the port */
  read(place: LeasePlace, signal: AbortSignal): Promise<SeenLease | null>;
  /** The Lease was seen by other means than this store. */
  sighted(place: LeasePlace, record: LeaseRecord | null): void;
  /**
   * @throws OrreryError LEASE_HELD (its holder must still be respected), KUBE_CONFLICT (another version, or
   *   unexpectedly missing or present), LEASE_LATE, others of the port
   */
  write(place: LeasePlace, write: LeaseWriting, signal: AbortSignal): Promise<SeenLease>;
  /**
   * Changes whenever something is written or about to be: what was read around it may be older than it seems.
   */
  writesOf(place: LeasePlace): number;
}

export interface LeaseWriting {
  readonly record: LeaseRecord;
  /** null: to be created. */
  readonly resourceVersion: string | null;
  /** By the clock of the store, milliseconds. */
  readonly notAfter: number;
  /**
   * Another holder's record must have been seen unchanged for this long; absent: there is no holder to
   * respect.
   */
  readonly respectMs?: number;
}

/** @param parts.clock the clock by which callers count their deadlines */
export function createLeaseStore({ kube, clock }: Pick<FeatureParts, 'kube' | 'clock'>): LeaseStore {
  const objects = new Map<string, KubeObject>();
  const writes = new Map<string, number>();
  const sightings = createSightings(leaseClock(clock));

  const keep = (place: LeasePlace, object: KubeObject): SeenLease => {
    const key = keyOf(place);
    objects.delete(key);
    objects.set(key, object);
    for (const oldest of objects.keys()) {
      if (objects.size <= limits.leasesKept) break;
      objects.delete(oldest);
      writes.delete(oldest);
      sightings.forget(oldest);
    }
    const record = leaseRecordOf(object);
    sightings.note(key, record);
    return { record, resourceVersion: versionOf(object) };
  };
  const baseOf = async (place: LeasePlace, version: string, signal: AbortSignal): Promise<KubeObject> => {
    const known = objects.get(keyOf(place));
    const base = known && versionOf(known) === version ? known : await getLease(kube, place, signal);
    if (base === null || versionOf(base) !== version) throw otherVersion(place);
    sightings.note(keyOf(place), leaseRecordOf(base));
    return base;
  };
  const count = (place: LeasePlace) => writes.set(keyOf(place), (writes.get(keyOf(place)) ?? 0) + 1);

  return {
    async read(place, signal) {
      const object = await getLease(kube, place, signal);
      return object === null ? null : keep(place, object);
    },
    sighted: (place, record) => sightings.note(keyOf(place), record),
    async write(place, { record, resourceVersion, notAfter, respectMs = 0 }, signal) {
      const base = resourceVersion === null ? newLease(place) : await baseOf(place, resourceVersion, signal);
      sightings.checkMayReplace(place, respectMs);
      checkInTime(clock, place, notAfter);
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

const getLease = (kube: KubePort, { namespace, name }: LeasePlace, signal: AbortSignal) =>
  unlessGone(kube.get(leases, namespace, name, signal));

/** @throws OrreryError LEASE_LATE */
function checkInTime(clock: Clock, place: LeasePlace, notAfter: number): void {
  if (clock.now() <= notAfter) return;
  throw new OrreryError('LEASE_LATE', `it is too late to write the Lease ${keyOf(place)}`);
}

/** Since when the record of each Lease has been seen unchanged. */
function createSightings(clock: Clock) {
  const sightings = new Map<string, { readonly record: LeaseRecord; readonly since: number }>();
  return {
    note(key: string, record: LeaseRecord | null): void {
      if (record === null) sightings.delete(key);
      else if (!equal(sightings.get(key)?.record, record)) sightings.set(key, { record, since: clock.now() });
    },
    forget: (key: string) => sightings.delete(key),
    /** @throws OrreryError LEASE_HELD */
    checkMayReplace(place: LeasePlace, respectMs: number): void {
      const now = clock.now();
      const leftMs = respectMs - (now - (sightings.get(keyOf(place))?.since ?? now));
      if (leftMs <= 0) return;
      const message = `the Lease ${keyOf(place)} is held for another ${leftMs} ms`;
      throw new OrreryError('LEASE_HELD', message, { facts: { leftMs } });
    },
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
  return new OrreryError('KUBE_CONFLICT', `the Lease ${keyOf(place)} has changed meanwhile`);
}
