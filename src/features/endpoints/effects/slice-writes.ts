/**
 * Performs the writes of one plan: each after those that it depends on, several at a time, deletes last.
 *
 * Promises: after a failed write only those that depend on it are skipped. A 429 is waited out as the API
 * server says. The scene learns what was written and what was read again.
 */

import { createTurnstile } from '../../../actors/host/turnstile.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import type { Labels } from '../../../base/digests.ts';
import { asError, hasCode, type OrreryError, retryAfterOf } from '../../../base/errors.ts';
import type { KubeObject, KubePort } from '../../../base/kube-port.ts';
import { limits } from '../../../base/limits.ts';
import { endpointSlices } from '../../../kube/api/resources.ts';
import { sliceDigest } from '../digest.ts';
import type { EndpointSliceDigest } from '../digests.ts';
import type { PlannedWrite } from '../packing/order.ts';
import type { EndpointsScene } from '../packing/scene.ts';
import { newSlice, slicePatch } from '../packing/slice-bodies.ts';
import type { SliceFrame } from '../packing/slices.ts';

/** The ends of the names of new slices, by position of the write. */
export interface NewNames {
  of(at: number): string;
  /** A slice that is not this Service's has the name. */
  pass(at: number): void;
}

export interface WriteParts {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly scene: EndpointsScene;
  readonly namespace: string;
  readonly frame: SliceFrame;
  readonly triggeredAt: number | null;
  readonly names: NewNames;
  readonly onWrite: (operation: PlannedWrite['operation']) => void;
  /** Whether the plan has waited for long, and something else is wanted by now. */
  readonly isOutdated: () => boolean;
  readonly signal: AbortSignal;
}

/**
 * `written`: it succeeded. `stale`: the slice has another version or is gone, or the plan is outdated.
 * `closed`: the namespace is being deleted or gone, nothing can be created there. `skipped`: a write that it
 * depends on did not succeed.
 */
export type WriteResult = 'written' | 'stale' | 'closed' | 'skipped' | Error;

/** How often one pass waits out a 429; after that the Service waits as a whole. */
const throttledMax = 3;
const throttledMs = 1_000;
/** How many names of others one write passes over. */
const takenMax = 30;

export async function makeWrites(writes: readonly PlannedWrite[], parts: WriteParts): Promise<WriteResult[]> {
  const turnstile = createTurnstile(limits.sliceWritesAtOnce);
  const results: Array<Promise<WriteResult>> = [];
  for (const [at, write] of writes.entries()) {
    const before = write.after.flatMap((place) => results[place] ?? []);
    // A delete waits for every other write, also for those that it does not depend on.
    const all = write.operation === 'delete' ? results.slice(0, firstDelete(writes)) : before;
    const make = async (): Promise<WriteResult> => {
      await Promise.all(all);
      if ((await Promise.all(before)).some((result) => result !== 'written')) return 'skipped';
      await turnstile.enter();
      return tryOne(write, at, parts).finally(() => turnstile.leave());
    };
    results.push(make());
  }
  return Promise.all(results);
}

function firstDelete(writes: readonly PlannedWrite[]): number {
  const at = writes.findIndex(({ operation }) => operation === 'delete');
  return at < 0 ? writes.length : at;
}

async function tryOne(write: PlannedWrite, at: number, parts: WriteParts): Promise<WriteResult> {
  let throttled = 0;
  for (let taken = 0; ; ) {
    if (parts.isOutdated()) return 'stale';
    try {
      await makeOne(write, at, parts);
      parts.onWrite(write.operation);
      return 'written';
    } catch (thrown) {
      if (parts.signal.aborted) return asError(thrown);
      if (hasCode(thrown, 'KUBE_CONFLICT', 'KUBE_NOT_FOUND')) {
        const found = await readAgain(write, at, parts, thrown);
        if (found !== 'taken') return found;
        if (taken++ >= takenMax) return 'stale';
        parts.names.pass(at);
        continue;
      }
      if (isClosed(thrown)) return 'closed';
      if (!hasCode(thrown, 'KUBE_THROTTLED') || throttled++ >= throttledMax) return asError(thrown);
      await sleep(parts.clock, retryAfterOf(thrown) ?? throttledMs, parts.signal);
    }
  }
}

async function makeOne(write: PlannedWrite, at: number, parts: WriteParts): Promise<void> {
  const { kube, scene, namespace, frame, triggeredAt, signal } = parts;
  if (write.operation === 'delete') {
    const { name, uid, resourceVersion } = write.slice;
    await kube.delete(endpointSlices, namespace, name, { uid, resourceVersion }, signal);
    scene.remove(namespace, name, uid);
    return;
  }
  const object =
    write.operation === 'create'
      ? await kube.create(
          endpointSlices,
          newSlice(frame, write, { namespace, suffix: parts.names.of(at), triggeredAt }),
          signal,
        )
      : await kube.patch(
          endpointSlices,
          {
            ...{ namespace, name: write.slice.name, type: 'json', isRepeatable: true },
            body: slicePatch(frame, write, triggeredAt),
          },
          signal,
        );
  putInScene(scene, namespace, object, frame.labels);
}

/**
 * The slice has another version than expected, or is gone: reads it for the next plan. `taken`: a new slice
 * cannot have the name.
 */
async function readAgain(
  write: PlannedWrite,
  at: number,
  { kube, scene, namespace, frame, names, signal }: WriteParts,
  refusal: OrreryError,
): Promise<WriteResult | 'taken'> {
  // A create finds nothing only if its namespace does not exist.
  if (write.operation === 'create' && refusal.code === 'KUBE_NOT_FOUND') return 'closed';
  const name = write.operation === 'create' ? `orrery-${frame.owner.name}-${names.of(at)}` : write.slice.name;
  try {
    putInScene(scene, namespace, await kube.get(endpointSlices, namespace, name, signal));
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_NOT_FOUND')) return asError(thrown);
    if (write.operation !== 'create') scene.remove(namespace, name, write.slice.uid);
    return 'stale';
  }
  if (write.operation !== 'create') return 'stale';
  const now = scene.read(namespace, frame.owner.name);
  return now === null || now.slices.some((slice) => slice.name === name) ? 'stale' : 'taken';
}

export function putInScene(
  scene: EndpointsScene,
  namespace: string,
  object: KubeObject,
  asked?: Labels,
): EndpointSliceDigest {
  const digest = sliceDigest(object);
  scene.put(namespace, object.metadata.name, digest, asked);
  return digest;
}

/** The namespace is being deleted: nothing new can, or has to, be created in it. */
function isClosed(thrown: unknown): boolean {
  return (
    hasCode(thrown, 'KUBE_REFUSED') &&
    thrown.facts.status === 403 &&
    thrown.message.includes('because it is being terminated')
  );
}
