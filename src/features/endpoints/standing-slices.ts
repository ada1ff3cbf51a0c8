/**
 * The EndpointSlices that are ours, as they stand: the world picture, and what this replica wrote or read itself and the picture does not show
 * yet. So a Service's next pass builds on its last one at once, and the echo of an own write is no news.
 *
 * Promises: of two versions of a slice the newer one counts; what is gone stays gone, whatever answer comes late; what the picture never
 * shows is forgotten after a while, for then it was taken away before it could.
 */

import { hash } from '../../actors/shards/rendezvous.ts';
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { compareVersions } from '../../base/resource-version.ts';
import type { EndpointSliceDigest } from './digests.ts';
import { canonical, type StandingSlice } from './packing/slices.ts';

interface Own {
  /** null: we deleted it. */
  readonly digest: EndpointSliceDigest | null;
  readonly uid: string;
  /** Monotonic ms. */
  readonly at: number;
}

export interface StandingSlices {
  /** Takes what the world says. @returns the names of the Services that it concerns */
  setWorld(namespace: string, name: string, digest: EndpointSliceDigest | null): string[];
  /** Takes what this replica wrote or read. */
  put(namespace: string, name: string, digest: EndpointSliceDigest): void;
  remove(namespace: string, name: string, uid: string): void;
  /** Slices of a Service that are ours and stay. */
  of(namespace: string, service: string): StandingSlice[];
  /** Whether there are any, leaving ones included. */
  has(namespace: string, service: string): boolean;
  /** The same for the same slices with the same content. */
  token(namespace: string, service: string): string;
}

export function createStandingSlices(clock: Clock): StandingSlices {
  const world = new Map<string, EndpointSliceDigest>();
  const own = new Map<string, Own>();
  /** Names of slices, by Service. */
  const names = new Map<string, Set<string>>();
  /** uids that are gone for good, the last ones. */
  const dead = new Set<string>();

  const bury = (uid: string) => {
    dead.add(uid);
    if (dead.size <= limits.slicesBuried) return;
    const [oldest] = dead;
    if (oldest !== undefined) dead.delete(oldest);
  };
  const current = (key: string): EndpointSliceDigest | null => {
    const shown = world.get(key) ?? null;
    const ours = own.get(key);
    if (ours === undefined) return shown;
    if (clock.monotonic() - ours.at > limits.sliceEchoMs) {
      own.delete(key);
      return shown;
    }
    if (ours.digest === null) return shown?.uid === ours.uid ? null : shown;
    return shown === null || isLater(ours.digest, shown, true) ? ours.digest : shown;
  };
  const link = (namespace: string, name: string, digest: EndpointSliceDigest) => {
    const service = `${namespace}/${serviceOf(digest)}`;
    names.set(service, (names.get(service) ?? new Set()).add(name));
  };
  /** Slices by name; a name that leads nowhere is forgotten on the way. */
  const list = (namespace: string, service: string): Array<[string, EndpointSliceDigest]> => {
    const key = `${namespace}/${service}`;
    const found: Array<[string, EndpointSliceDigest]> = [];
    for (const name of names.get(key) ?? []) {
      const digest = current(`${namespace}/${name}`);
      if (digest?.managed !== undefined && serviceOf(digest) === service) found.push([name, digest]);
      else if (digest === null && !world.has(`${namespace}/${name}`)) names.get(key)?.delete(name);
    }
    if (names.get(key)?.size === 0) names.delete(key);
    return found;
  };
  const staying = (namespace: string, service: string) =>
    list(namespace, service).filter(([, { deleting }]) => !deleting);

  return {
    setWorld(namespace, name, digest) {
      const key = `${namespace}/${name}`;
      const before = world.get(key);
      const services = [before, digest].flatMap((one) =>
        one?.managed === undefined ? [] : [serviceOf(one)],
      );
      if (digest === null) {
        world.delete(key);
        if (before !== undefined) bury(before.uid);
        if (before !== undefined && own.get(key)?.uid === before.uid) own.delete(key);
      } else {
        // The picture may forget everything and be told it again.
        dead.delete(digest.uid);
        world.set(key, digest);
        const ours = own.get(key);
        if (ours?.digest && !isLater(ours.digest, digest, false)) own.delete(key);
        if (digest.managed !== undefined) link(namespace, name, digest);
      }
      return services;
    },
    put(namespace, name, digest) {
      if (dead.has(digest.uid)) return;
      const key = `${namespace}/${name}`;
      const shown = current(key);
      if (shown !== null && !isLater(digest, shown, true)) return;
      own.set(key, { digest, uid: digest.uid, at: clock.monotonic() });
      if (digest.managed !== undefined) link(namespace, name, digest);
    },
    remove(namespace, name, uid) {
      bury(uid);
      const key = `${namespace}/${name}`;
      if (world.get(key)?.uid === uid) own.set(key, { digest: null, uid, at: clock.monotonic() });
      else if (own.get(key)?.uid === uid) own.delete(key);
    },
    of: (namespace, service) =>
      staying(namespace, service).flatMap(([name, { uid, resourceVersion, labels, managed }]) =>
        managed === undefined ? [] : [{ name, uid, resourceVersion, labels, content: managed }],
      ),
    has: (namespace, service) => list(namespace, service).length > 0,
    token(namespace, service) {
      let sum = 0;
      let other = 0;
      for (const [name, digest] of staying(namespace, service)) {
        const [first, second] = sliceHash(name, digest);
        sum = (sum + first) >>> 0;
        other = (other + second) >>> 0;
      }
      return `${sum.toString(36)}.${other.toString(36)}`;
    },
  };
}

/** Whose it is: a slice that somebody gave another label still has its owner. */
function serviceOf({ managed, service }: EndpointSliceDigest): string {
  const owner = managed?.ownerReferences.find(({ kind }) => kind === 'Service')?.name;
  return typeof owner === 'string' ? owner : service;
}

/**
 * Whether `a` is a later version than `b`, or another slice that came later: versions of one kind of object can be compared.
 *
 * @param heardLater whether this replica heard of `a` after `b`; that decides where versions do not
 */
function isLater(a: EndpointSliceDigest, b: EndpointSliceDigest, heardLater: boolean): boolean {
  const order = compareVersions(a.resourceVersion, b.resourceVersion);
  return order === undefined ? heardLater : order > 0;
}

const hashes = new WeakMap<EndpointSliceDigest, readonly [number, number]>();

function sliceHash(name: string, digest: EndpointSliceDigest): readonly [number, number] {
  const known = hashes.get(digest);
  if (known !== undefined) return known;
  const text = `${name}/${digest.uid}/${canonical(digest.labels)}/${canonical(digest.managed)}`;
  const made = [hash(text), hash(`~${text}`)] as const;
  hashes.set(digest, made);
  return made;
}
