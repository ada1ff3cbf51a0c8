/**
 * Effect `release-status.write`: writes which releases a bundle's objects are compatible with, which only the
 * leader may.
 *
 * Conditional on the fence of the leadership and, if nodes matter, on their epoch too, in one atomic batch
 * that moves the epoch: a replica that read the nodes before has to read them again. A repetition under one
 * leadership writes the same (I5); under a later one it is refused.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { FeatureParts } from '../../../actors/feature.ts';
import { asError, hasCode } from '../../../base/errors.ts';
import { ledShard } from '../../../base/limits.ts';
import type { ReleaseStatusWrite } from '../../../machines/release/release-effects.ts';
import type { StatusRefused } from '../../../machines/release/release-events.ts';

const utf8 = new TextEncoder();
const bytesOf = (value: unknown) => utf8.encode(JSON.stringify(value));

/** Outcome status.written, status.refused, or status.unknown if the write's outcome is unknown. */
export function writeReleaseStatus(
  parts: Pick<FeatureParts, 'bus' | 'subjects' | 'clock'>,
): EffectRunner<ReleaseStatusWrite> {
  const { bus, subjects, clock } = parts;
  const leadership = (fence: number) => ({ subject: subjects.fence(ledShard), sequence: fence });

  const write = async (effect: ReleaseStatusWrite): Promise<number> => {
    const { bundle, fence, epoch, status } = effect;
    const subject = subjects.releaseStatus(bundle);
    const data = bytesOf({ ...status, at: clock.now() });
    const guard = leadership(fence);
    if (epoch === null) return (await bus.append(subject, data, { guard })).sequence;
    const nodes = {
      subject: subjects.nodesEpoch,
      data: bytesOf({ at: clock.now(), because: `status of ${bundle}` }),
      guard: { subject: subjects.nodesEpoch, sequence: epoch },
    };
    // A batch's messages are contiguous, and the answer names the last.
    return (await bus.appendAll([{ subject, data, guard }, nodes])).sequence - 1;
  };
  /** The store reports that a condition failed, not which. */
  const refused = async ({ fence }: ReleaseStatusWrite): Promise<StatusRefused> => {
    const last = await bus.last('state', subjects.fence(ledShard));
    return { type: 'status.refused', fence, by: last?.sequence === fence ? 'nodes' : 'leadership' };
  };

  return async (effect) => {
    const { fence, status } = effect;
    try {
      return { type: 'status.written', fence, status, sequence: await write(effect) };
    } catch (thrown) {
      if (hasCode(thrown, 'BUS_CONFLICT')) return refused(effect);
      return { type: 'status.unknown', fence, message: asError(thrown).message };
    }
  };
}
