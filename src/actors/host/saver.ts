/**
 * Saving: the one conditional write of each step.
 *
 * Promises: resolves only when the record is surely stored under the fence of the shard (I1, I3); rejects
 * with NOT_OWNER when another replica owns the shard, with BUS_UNKNOWN_OUTCOME when it cannot be known
 * whether the record is stored, and with the abort reason when the shard was given up; with MESSAGE_TOO_LARGE
 * when the server takes nothing so large. While NATS is surely not reached it waits, as long as it takes.
 *
 * An unknown outcome is not read back: the write may still be on its way and land after the reading. Whoever
 * gets it gives the shard up and claims it again; the new fence refuses whatever is late, and loading tells
 * what was stored (docs/decisions/0001). So does whoever was stopped between the write and its
 * acknowledgement: what is read so late says nothing of who owns the shard by now.
 */

import { backOffMs } from '../../base/back-off.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { hasCode, OrreryError } from '../../base/errors.ts';
import type { ShardName } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { jittered, type Random } from '../../base/random.ts';
import type { AppendOptions, Bus } from '../../bus/bus.ts';
import type { ShardRun } from './owned.ts';

export interface Saver {
  /** @returns the sequence of the stored message */
  save(run: ShardRun, subject: string, bytes: Uint8Array, how?: Saving): Promise<number>;
}

export interface Saving {
  readonly ttlSeconds?: number | undefined;
  /**
   * Called with the sequence before the save counts as over, so that no checkpoint is written that knows of
   * neither.
   */
  readonly onStored?: (sequence: number) => void;
}

export function createSaver(parts: {
  readonly bus: Bus;
  readonly fenceSubject: (shard: ShardName) => string;
  readonly clock: Clock;
  readonly random: Random;
}): Saver {
  const { bus, fenceSubject, clock, random } = parts;
  return {
    async save(run, subject, bytes, { ttlSeconds, onStored } = {}) {
      const guard = { subject: fenceSubject(run.shard), sequence: run.fence };
      const options: AppendOptions = ttlSeconds === undefined ? { guard } : { guard, ttlSeconds };
      const flight = { after: run.feed.begun };
      run.saving.add(flight);
      try {
        for (let attempt = 0; ; attempt++) {
          run.abort.signal.throwIfAborted();
          const [wall, monotonic] = [clock.now(), clock.monotonic()];
          const sequence = await tryAppend(bus, subject, bytes, options);
          checkInTime(Math.max(clock.now() - wall, clock.monotonic() - monotonic));
          if (sequence !== null) {
            onStored?.(sequence);
            return sequence;
          }
          await sleep(clock, jittered(backOffMs(attempt, 50, 2_000), 0.3, random), run.abort.signal);
        }
      } finally {
        run.saving.delete(flight);
      }
    },
  };
}

/**
 * What a process reads after it was stopped (SIGSTOP, a suspended machine) is as old as the stop was long;
 * monotonic time may have stood still meanwhile, so both clocks are asked. A wall clock that is put forward
 * costs a claim, no more.
 */
function checkInTime(tookMs: number): void {
  if (tookMs <= limits.appendTimeoutMs) return;
  throw new OrreryError('BUS_UNKNOWN_OUTCOME', `the acknowledgement was read ${Math.round(tookMs)} ms late`);
}

/** @returns null: surely not stored, try again */
async function tryAppend(
  bus: Bus,
  subject: string,
  bytes: Uint8Array,
  options: AppendOptions,
): Promise<number | null> {
  try {
    const { sequence } = await bus.append(subject, bytes, options);
    return sequence;
  } catch (error) {
    if (hasCode(error, 'BUS_CONFLICT')) {
      throw new OrreryError('NOT_OWNER', 'another replica owns the shard now', { cause: error });
    }
    if (hasCode(error, 'BUS_REFUSED') && error.facts.tooLarge === true) {
      const text = `a record of ${bytes.byteLength} bytes is more than NATS takes`;
      throw new OrreryError('MESSAGE_TOO_LARGE', text, { cause: error });
    }
    if (hasCode(error, 'BUS_UNREACHABLE', 'BUS_REFUSED')) return null;
    throw error;
  }
}
