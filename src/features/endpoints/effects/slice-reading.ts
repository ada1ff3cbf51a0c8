/**
 * Reads the EndpointSlices of a namespace for passes that know only older ones than an earlier pass has left
 * (docs/features/endpoints.md §6.5).
 *
 * Promises: one read of a namespace serves every Service that asks before it begins, and reads of one
 * namespace never overlap. A read is made in pages, each in its turn. If every Service that asked has caught
 * up by then, nothing is read.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { limits } from '../../../base/limits.ts';
import { createLanes } from '../../../base/promises/lanes.ts';
import { unlessAborted } from '../../../base/promises/unless-aborted.ts';
import { isOlderVersion } from '../../../base/resource-version.ts';
import { endpointSlices } from '../../../kube/api/resources.ts';
import type { EndpointsScene } from '../packing/scene.ts';
import { managedBy, managedByLabel } from '../slice-labels.ts';
import { putInScene } from './slice-writes.ts';

export interface SliceReading {
  /**
   * Puts the Service's present slices into the scene, unless it has caught up by then. Rejects with the
   * signal.
   */
  read(service: ReadService, isBehind: () => boolean, signal: AbortSignal): Promise<void>;
}

interface ReadService {
  readonly namespace: string;
  readonly name: string;
}

interface Listed {
  readonly uids: ReadonlySet<string>;
  readonly resourceVersion: string;
}

/** A read that has not begun yet. */
interface Waiting {
  readonly asking: Array<() => boolean>;
  /** null if nobody needed it any more. */
  readonly listed: Promise<Listed | null>;
}

export function createSliceReading(parts: {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly scene: () => EndpointsScene;
  readonly takeOver: string | null;
}): SliceReading {
  const turns = createReadTurns(parts.clock, {
    perSecond: limits.sliceReadsPerSecond,
    atOnce: limits.sliceReadsAtOnce,
  });
  const waiting = new Map<string, Waiting>();
  const oneByOne = createLanes();
  // The read is shared: no caller's signal may end it. The Kubernetes port bounds each page in time.
  const { signal: shared } = new AbortController();

  const writers = [managedBy, ...(parts.takeOver === null ? [] : [parts.takeOver])];
  const list = async (namespace: string): Promise<Listed> => {
    const uids = new Set<string>();
    const options = {
      namespace,
      labelSelector: `${managedByLabel} in (${writers.join(',')})`,
      limit: limits.kubePageObjects,
    };
    for (let page = ''; ; ) {
      const read = await parts.kube.list(
        endpointSlices,
        page === '' ? options : { ...options, continue: page },
        shared,
      );
      for (const object of read.items) uids.add(putInScene(parts.scene(), namespace, object).uid);
      page = read.continue;
      if (page === '') return { uids, resourceVersion: read.resourceVersion };
      await turns.take(shared);
    }
  };
  const begin = (namespace: string): Waiting => {
    const asking: Waiting['asking'] = [];
    const listed = oneByOne(namespace, async () => {
      await turns.take(shared);
      waiting.delete(namespace);
      return asking.some((isBehind) => isBehind()) ? list(namespace) : null;
    });
    return { asking, listed };
  };

  return {
    async read({ namespace, name }, isBehind, signal) {
      const read = waiting.get(namespace) ?? begin(namespace);
      waiting.set(namespace, read);
      read.asking.push(() => !signal.aborted && isBehind());
      const listed = await unlessAborted(read.listed, signal);
      if (listed === null) return;
      const scene = parts.scene();
      for (const slice of scene.read(namespace, name)?.slices ?? []) {
        const isLater = isOlderVersion(listed.resourceVersion, slice.resourceVersion);
        if (!listed.uids.has(slice.uid) && !isLater) scene.remove(namespace, slice.name, slice.uid);
      }
    },
  };
}

/**
 * Limits reads: a burst, then a rate, first come, first served. Kubernetes' own controllers bound their work
 * queues in the same way. A thousand Services that fail together then cost the API server no more than a few.
 */
export function createReadTurns(
  clock: Clock,
  { perSecond, atOnce }: { readonly perSecond: number; readonly atOnce: number },
) {
  const everyMs = 1_000 / perSecond;
  /** When the next turn is due at the steady rate, monotonic ms; up to a burst in the past. */
  let next = Number.NEGATIVE_INFINITY;
  return {
    /** Resolves at the caller's turn; rejects with the signal. */
    async take(signal: AbortSignal): Promise<void> {
      const now = clock.monotonic();
      next = Math.max(next, now - (atOnce - 1) * everyMs);
      const at = next;
      next += everyMs;
      if (at > now) await sleep(clock, at - now, signal);
    },
  };
}
