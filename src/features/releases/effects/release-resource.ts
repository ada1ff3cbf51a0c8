/**
 * Effect `release-resource.write`: writes the status of a bundle's Release resource, and Events about it.
 *
 * The resource is for people; its specification is empty, and Orrery creates it if it is missing. Writes are
 * sequential, so an older status never replaces a newer one. Without its definition nothing is written, and
 * nothing else depends on it.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode } from '../../../base/errors.ts';
import type { KubeObject, KubePort } from '../../../base/kube-port.ts';
import { kubeTime } from '../../../base/kube-time.ts';
import type { Log } from '../../../base/log-port.ts';
import { unlessGone } from '../../../kube/api/absent.ts';
import { dated } from '../../../kube/api/conditions.ts';
import type { KubeEventWrite } from '../../../machines/effects.ts';
import type { ReleaseResourceWrite } from '../../../machines/release/release-effects.ts';
import { releases } from '../resources.ts';

/**
 * Outcome effect.settled, with an error if it cannot be written, which the log says once for each reason.
 *
 * @throws temporary errors; the host then tells the actor
 */
export function writeReleaseResource(
  kube: KubePort,
  writeEvent: EffectRunner<KubeEventWrite>,
  log: Log,
): EffectRunner<ReleaseResourceWrite> {
  let before: Promise<unknown> = Promise.resolve();
  let said: string | null = null;
  const refused = (bundle: string, error: string) => {
    if (error !== said) log.warn({ release: `release/_/${bundle}`, error }, unwritten);
    said = error;
    return settled(error);
  };
  return async (effect, context) => {
    const turn = before.then(() => context.signal.throwIfAborted());
    const written = turn.then(() => write(kube, effect, context.signal));
    before = written.catch(() => {});
    try {
      const object = await written;
      const { note, bundle, at } = effect;
      if (note !== null) {
        const regarding = { ...kindOfRelease, namespace: '', name: bundle, uid: object.metadata.uid ?? '' };
        const { eventType, reason, text } = note;
        await writeEvent({ type: 'kube-event.write', regarding, eventType, reason, note: text, at }, context);
      }
      said = null;
      return settled(null);
    } catch (thrown) {
      if (hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_REFUSED')) return refused(effect.bundle, thrown.message);
      throw thrown;
    }
  };
}

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
