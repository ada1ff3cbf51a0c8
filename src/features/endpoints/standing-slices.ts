/**
 * The present EndpointSlices of each Service that are ours, or that we take over from another controller. A
 * Service's next pass builds on its last one at once, and the echo of our own write is no news
 * (latest-slices.ts).
 */

import { hash } from '../../actors/shards/rendezvous.ts';
import type { Clock } from '../../base/clock.ts';
import type { Labels } from '../../base/digests.ts';
import type { EndpointSliceDigest } from './digests.ts';
import { createLatestSlices, type LatestSlices } from './latest-slices.ts';
import { canonical, type StandingSlice } from './packing/slices.ts';
import { isOfWorkloads, putIn, serviceOf } from './selection.ts';

export interface StandingSlices {
  /**
   * Takes what the world says.
   * @returns names of the Services that it concerns
   */
  setWorld(namespace: string, name: string, digest: EndpointSliceDigest | null): string[];
  /** Takes what this replica wrote or read; `asked`: with these labels. */
  put(namespace: string, name: string, digest: EndpointSliceDigest, asked?: Labels): void;
  remove(namespace: string, name: string, uid: string): void;
  /** The Service's slices that are ours and not being deleted. */
  of(namespace: string, service: string): StandingSlice[];
  /** Whether there are any, those being deleted included. */
  has(namespace: string, service: string): boolean;
  /** The other controller with slices of the Service that are not being deleted; '' if there is none. */
  otherWriter(namespace: string, service: string): string;
  /** Equal for the same slices with the same content. */
  token(namespace: string, service: string): string;
  stop(): void;
}

/**
 * @param takeOver the controller whose slices count as ours; null: none
 * @param onLapsed hears of a Service, as `<ns>/<name>`, with a write that the world never showed
 */
export function createStandingSlices(
  clock: Clock,
  takeOver: string | null,
  onLapsed: (service: string) => void = () => {},
): StandingSlices {
  const latest = createLatestSlices(clock, (key, slice) =>
    onLapsed(`${key.slice(0, key.indexOf('/'))}/${serviceOf(slice)}`),
  );
  const { link, listAll } = sliceNames(latest);
  const admitted = createAdmitted();
  const contentOf = (digest: EndpointSliceDigest) => ownContent(digest, takeOver);
  const list = (namespace: string, service: string) =>
    listAll(namespace, service).filter(([, digest]) => contentOf(digest) !== undefined);
  const staying = (namespace: string, service: string) =>
    list(namespace, service).filter(([, { deleting }]) => !deleting);

  return {
    setWorld(namespace, name, digest) {
      const before = latest.setWorld(`${namespace}/${name}`, digest);
      if (digest === null && before !== null) admitted.forget(before.uid);
      const slices = [before, digest].filter((one) => one !== null).filter(isOfWorkloads);
      if (digest !== null && isOfWorkloads(digest)) link(namespace, name, digest);
      return slices.map(serviceOf);
    },
    put(namespace, name, digest, asked) {
      const isLatest = latest.put(`${namespace}/${name}`, digest);
      if (isLatest && asked !== undefined) admitted.note(digest, asked);
      if (isLatest && isOfWorkloads(digest)) link(namespace, name, digest);
    },
    remove: (namespace, name, uid) => latest.remove(`${namespace}/${name}`, uid),
    of: (namespace, service) =>
      staying(namespace, service).flatMap(([name, digest]) => {
        const { uid, resourceVersion, annotations, editor } = digest;
        const content = contentOf(digest);
        const labels = admitted.labelsOf(digest);
        if (content === undefined) return [];
        return [{ name, uid, resourceVersion, labels, annotations, editor, content }];
      }),
    otherWriter(namespace, service) {
      const others = listAll(namespace, service).filter(
        ([, digest]) => !digest.deleting && contentOf(digest) === undefined,
      );
      return others[0]?.[1].foreign?.writer ?? '';
    },
    has: (namespace, service) => list(namespace, service).length > 0,
    token: (namespace, service) => tokenOf(staying(namespace, service)),
    stop: latest.stop,
  };
}

/** The names of slices, by Service. */
function sliceNames(latest: LatestSlices) {
  const names = new Map<string, Set<string>>();
  return {
    link(namespace: string, name: string, digest: EndpointSliceDigest): void {
      putIn(names, `${namespace}/${serviceOf(digest)}`, name);
    },
    /** Slices by name, other controllers' included. Forgets names that lead nowhere. */
    listAll(namespace: string, service: string): Array<[string, EndpointSliceDigest]> {
      const key = `${namespace}/${service}`;
      const found: Array<[string, EndpointSliceDigest]> = [];
      for (const name of names.get(key) ?? []) {
        const digest = latest.get(`${namespace}/${name}`);
        if (digest !== null && isOfWorkloads(digest) && serviceOf(digest) === service)
          found.push([name, digest]);
        else if (digest === null && !latest.isShown(`${namespace}/${name}`)) names.get(key)?.delete(name);
      }
      if (names.get(key)?.size === 0) names.delete(key);
      return found;
    },
  };
}

/** The content of a slice that is ours or adopted. */
const ownContent = ({ managed, foreign }: EndpointSliceDigest, takeOver: string | null) =>
  managed ?? (foreign?.writer === takeOver ? foreign?.content : undefined);

/** Slices to which admission gives other labels than are asked for, by uid. */
function createAdmitted() {
  const altered = new Map<string, { readonly asked: Labels; readonly answered: string }>();
  return {
    /** @param asked the labels that were written; the digest has those of the answer */
    note({ uid, labels }: EndpointSliceDigest, asked: Labels): void {
      const answered = canonical(labels);
      if (canonical(asked) === answered) altered.delete(uid);
      else altered.set(uid, { asked, answered });
    },
    forget: (uid: string) => altered.delete(uid),
    /** Those that were asked for, as long as the slice has what was made of them. */
    labelsOf({ uid, labels }: EndpointSliceDigest): Labels {
      const known = altered.get(uid);
      return known?.answered === canonical(labels) ? known.asked : labels;
    },
  };
}

function tokenOf(slices: ReadonlyArray<[string, EndpointSliceDigest]>): string {
  let sum = 0;
  let other = 0;
  for (const [name, digest] of slices) {
    const [first, second] = sliceHash(name, digest);
    sum = (sum + first) >>> 0;
    other = (other + second) >>> 0;
  }
  return `${sum.toString(36)}.${other.toString(36)}`;
}

const hashes = new WeakMap<EndpointSliceDigest, readonly [number, number]>();

function sliceHash(name: string, digest: EndpointSliceDigest): readonly [number, number] {
  const known = hashes.get(digest);
  if (known !== undefined) return known;
  const text = `${name}/${digest.uid}/${canonical(digest.labels)}/${canonical(digest.managed ?? digest.foreign)}`;
  const made = [hash(text), hash(`~${text}`)] as const;
  hashes.set(digest, made);
  return made;
}
