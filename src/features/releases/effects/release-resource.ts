/**
 * Effect `release-resource.write`: writes the status of a bundle's Release resource, and Events about it.
 *
 * The resource is for people; its specification is empty, and Orrery creates it if it is missing. Writes of
 * one are sequential, so an older status never replaces a newer one. Without its definition nothing is
 * written, and nothing else depends on it.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { type Clock, sleep } from '../../../base/clock.ts';
import { asError, hasCode, OrreryError } from '../../../base/errors.ts';
import type { KubeObject, KubePort } from '../../../base/kube-port.ts';
import { kubeTime } from '../../../base/kube-time.ts';
import { limits } from '../../../base/limits.ts';
import type { Log } from '../../../base/log-port.ts';
import { createLanes } from '../../../base/promises/lanes.ts';
import { unlessGone } from '../../../kube/api/absent.ts';
import { dated } from '../../../kube/api/conditions.ts';
import type { KubeEventWrite } from '../../../machines/effects.ts';
import { type ReleaseResourceWrite, retiredReason } from '../../../machines/release/release-effects.ts';
import { releases } from '../resources.ts';

interface WriteParts {
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Outcome effect.settled, with an error if it cannot be written, which the log says once for each reason. The
 * last status of a retired release is tried for as long as the effect may take, because its actor is over,
 * and nobody writes it again.
 *
 * @throws temporary errors; the host then tells the actor
 */
export function writeReleaseResource(
  { kube, clock, log }: WriteParts,
  writeEvent: EffectRunner<KubeEventWrite>,
): EffectRunner<ReleaseResourceWrite> {
  const inTurn = createLanes();
  const said = new Map<string, string>();
  const tell = ({ bundle }: ReleaseResourceWrite, error: string, message: string) =>
    log.warn({ release: `release/_/${bundle}`, error }, message);
  const failed = (effect: ReleaseResourceWrite, signal: AbortSignal, thrown: unknown) => {
    const error = asError(thrown).message;
    const isRefused = hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_REFUSED');
    if (isLast(effect)) {
      if (isLost(thrown, signal)) tell(effect, error, outdated);
    } else if (isRefused) {
      if (error !== said.get(effect.bundle)) tell(effect, error, unwritten);
      said.set(effect.bundle, error);
    }
    if (!isRefused) throw thrown;
    return settled(error);
  };
  return async (effect, context) => {
    const { note, bundle, at } = effect;
    const { signal } = context;
    const attempt = async () => {
      signal.throwIfAborted();
      return write(kube, effect, signal);
    };
    try {
      const object = await inTurn(bundle, () =>
        isLast(effect) ? persistently(attempt, clock, signal) : attempt(),
      );
      if (note !== null) {
        const regarding = { ...kindOfRelease, namespace: '', name: bundle, uid: object.metadata.uid ?? '' };
        const { eventType, reason, text } = note;
        await writeEvent({ type: 'kube-event.write', regarding, eventType, reason, note: text, at }, context);
      }
      said.delete(bundle);
      return settled(null);
    } catch (thrown) {
      return failed(effect, signal, thrown);
    }
  };
}

const isLast = ({ conditions }: ReleaseResourceWrite) =>
  conditions.some(({ reason }) => reason === retiredReason);

/** Not if the shard's next owner writes it, nor if there is no Release that could show anything else. */
const isLost = (thrown: unknown, { reason }: AbortSignal) =>
  !hasCode(reason, 'NOT_OWNER') && !hasCode(thrown, 'KUBE_NOT_FOUND');

const againMs = 2_000;
/** Less than the effect may take, or nobody would hear why it failed, ms. */
const persistMs = limits.effectTimeoutMs - 5_000;

async function persistently<T>(attempt: () => Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  const end = clock.monotonic() + persistMs;
  for (;;) {
    try {
      return await attempt();
    } catch (thrown) {
      const mayPass = thrown instanceof OrreryError && thrown.kind === 'transient';
      if (!mayPass || clock.monotonic() >= end) throw thrown;
      await sleep(clock, againMs, signal);
    }
  }
}

const outdated =
  'the last status of a release that no replica carries any more could not be written: it goes on showing an earlier one. Delete that Release, unless its bundle comes back';
const unwritten =
  'the Release could not be written: kubectl shows it as it was, or not at all; each round tries it again';
const kindOfRelease = { apiVersion: 'orrery.dev/v1alpha1', kind: 'Release' } as const;
const settled = (error: string | null) =>
  ({ type: 'effect.settled', effect: 'release-resource.write', error }) as const;

async function write(kube: KubePort, effect: ReleaseResourceWrite, signal: AbortSignal): Promise<KubeObject> {
  const { bundle: name, status, conditions, at } = effect;
  const current = await ensure(kube, name, signal);
  const observedGeneration = current.metadata.generation ?? 0;
  const body = {
    metadata: { uid: current.metadata.uid },
    status: {
      ...status,
      lastApplied: status.lastApplied === null ? null : kubeTime(status.lastApplied),
      changes: (status.changes ?? []).map((one) => ({ ...one, at: kubeTime(one.at) })),
      observedGeneration,
      conditions: conditions.map((one) => dated(current, { ...one, observedGeneration }, at)),
    },
  };
  return kube.patch(releases, { name, subresource: 'status', type: 'merge', body }, signal);
}

async function ensure(kube: KubePort, name: string, signal: AbortSignal): Promise<KubeObject> {
  const there = await unlessGone(kube.get(releases, undefined, name, signal));
  if (there !== null) return there;
  try {
    return await kube.create(releases, { metadata: { name } }, signal);
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
    return kube.get(releases, undefined, name, signal);
  }
}
