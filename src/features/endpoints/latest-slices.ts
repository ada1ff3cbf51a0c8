/**
 * The latest version of each EndpointSlice: from the picture, and from this replica's own writes and reads
 * that the picture does not show yet.
 *
 * Promises: the newer of two versions counts. A removed slice stays removed, however late an answer comes. A
 * write that the picture never shows lapses after a while, because somebody removed the slice, or took it
 * over, first.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { compareVersions } from '../../base/resource-version.ts';
import type { EndpointSliceDigest } from './digests.ts';

interface Own {
  /** null: we deleted it. */
  readonly digest: EndpointSliceDigest | null;
  readonly uid: string;
  /** Monotonic ms. */
  readonly at: number;
}

export interface LatestSlices {
  /** @param key `<ns>/<name>`, here and below */
  get(key: string): EndpointSliceDigest | null;
  /** Whether the picture shows it. */
  isShown(key: string): boolean;
  /**
   * Takes what the world says.
   * @returns what it said before
   */
  setWorld(key: string, digest: EndpointSliceDigest | null): EndpointSliceDigest | null;
  /**
   * Takes what this replica wrote or read.
   * @returns whether that is the latest
   */
  put(key: string, digest: EndpointSliceDigest): boolean;
  remove(key: string, uid: string): void;
  /** Nothing lapses any more. */
  stop(): void;
}

/** @param onLapsed hears of each write that lapses, with the slice as it was written or would have gone */
export function createLatestSlices(
  clock: Clock,
  onLapsed: (key: string, slice: EndpointSliceDigest) => void = () => {},
): LatestSlices {
  const world = new Map<string, EndpointSliceDigest>();
  const buried = createBuried();
  const own = createOwn(clock, (key, { digest }) => {
    const slice = digest ?? world.get(key);
    if (slice !== undefined) onLapsed(key, slice);
  });

  const get = (key: string): EndpointSliceDigest | null => {
    const shown = world.get(key) ?? null;
    const ours = own.get(key);
    if (ours === undefined) return shown;
    if (ours.digest === null) return shown?.uid === ours.uid ? null : shown;
    return shown === null || isLater(ours.digest, shown, true) ? ours.digest : shown;
  };
  return {
    get,
    isShown: (key) => world.has(key),
    setWorld(key, digest) {
      const before = world.get(key) ?? null;
      if (digest === null) {
        world.delete(key);
        if (before !== null) buried.add(before.uid);
        if (before !== null && own.get(key)?.uid === before.uid) own.delete(key);
      } else {
        // The picture may be cleared and read again.
        buried.delete(digest.uid);
        world.set(key, digest);
        const ours = own.get(key);
        if (ours?.digest && !isLater(ours.digest, digest, false)) own.delete(key);
      }
      return before;
    },
    put(key, digest) {
      if (buried.has(digest.uid)) return false;
      const shown = get(key);
      if (shown !== null && !isLater(digest, shown, true)) return false;
      own.set(key, { digest, uid: digest.uid });
      return true;
    },
    remove(key, uid) {
      buried.add(uid);
      if (world.get(key)?.uid === uid) own.set(key, { digest: null, uid });
      else if (own.get(key)?.uid === uid) own.delete(key);
    },
    stop: own.stop,
  };
}

/** What this replica wrote, until the picture shows it or it lapses. */
function createOwn(clock: Clock, onLapsed: (key: string, own: Own) => void) {
  /** The oldest comes first. */
  const own = new Map<string, Own>();
  let timer: Timer | null = null;
  const lapseAfter = (ms: number) => {
    timer ??= clock.after(ms + 1, lapse);
  };
  const lapse = () => {
    timer = null;
    for (const [key, ours] of own) {
      const leftMs = ours.at + limits.sliceEchoMs - clock.monotonic();
      if (leftMs >= 0) return lapseAfter(leftMs);
      own.delete(key);
      onLapsed(key, ours);
    }
  };
  return {
    get: (key: string) => own.get(key),
    set(key: string, ours: Omit<Own, 'at'>): void {
      own.delete(key);
      own.set(key, { ...ours, at: clock.monotonic() });
      lapseAfter(limits.sliceEchoMs);
    },
    delete: (key: string) => own.delete(key),
    stop: () => timer?.cancel(),
  };
}

/** The uids of slices that are gone for good; remembers the latest. */
function createBuried() {
  const uids = new Set<string>();
  return {
    has: (uid: string) => uids.has(uid),
    delete: (uid: string) => uids.delete(uid),
    add(uid: string) {
      uids.add(uid);
      if (uids.size <= limits.slicesBuried) return;
      const [oldest] = uids;
      if (oldest !== undefined) uids.delete(oldest);
    },
  };
}

/**
 * Whether `a` is a later version than `b`, or another slice that came later: versions can be compared between
 * objects of one kind.
 *
 * @param heardLater whether this replica heard of `a` after `b`; decides where versions cannot
 */
function isLater(a: EndpointSliceDigest, b: EndpointSliceDigest, heardLater: boolean): boolean {
  const order = compareVersions(a.resourceVersion, b.resourceVersion);
  return order === undefined ? heardLater : order > 0;
}
