/**
 * Saving: the one conditional write of each step.
 *
 * Promises: resolves only when the record is certainly stored under the shard's fence (I1, I3). Rejects with
 * NOT_OWNER when another replica owns the shard, with BUS_UNKNOWN_OUTCOME when it is unknown whether the
 * record is stored, with the abort reason when the shard was given up, and with MESSAGE_TOO_LARGE when the
 * server does not accept the size. While NATS is certainly unreachable, it waits as long as necessary.
 *
 * An unknown outcome is not resolved by reading, because the write may still be in transit and be stored
 * after the read. The caller gives the shard up and claims it again: the new fence refuses late writes, and
 * loading shows what was stored (docs/decisions/0001). The same holds if the process was suspended between
 * the write and its acknowledgement: an answer that is read so late does not show who owns the shard now.
 */

import { backOffMs } from '../../base/back-off.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { hasCode, OrreryError } from '../../base/errors.ts';
import type { ShardName } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { jittered, type Random } from '../../base/random.ts';
import type { Appended, AppendOptions, Bus } from '../../bus/bus.ts';
import { leaseClock } from '../time/lease-clock.ts';
import type { ShardRun } from './owned.ts';

export interface Saver {
  /** @returns the sequence of the stored message */
  save(run: ShardRun, subject: string, bytes: Uint8Array, how?: Saving): Promise<number>;
}

export interface Saving {
  readonly ttlSeconds?: number | undefined;
  /** Called with the sequence before the save counts as finished, so that no checkpoint misses both. */
  readonly onStored?: (sequence: number) => void;
  /** Called when the save is over, however it ended. */
  readonly onOver?: () => void;
}

export function createSaver(parts: {
  readonly bus: Bus;
  readonly fenceSubject: (shard: ShardName) => string;
  readonly clock: Clock;
  readonly random: Random;
}): Saver {
  const { bus, fenceSubject, clock, random } = parts;
  const passed = leaseClock(clock);
  return {
    async save(run, subject, bytes, { ttlSeconds, onStored, onOver } = {}) {
      const guard = { subject: fenceSubject(run.shard), sequence: run.fence };
      const options: AppendOptions = ttlSeconds === undefined ? { guard } : { guard, ttlSeconds };
      const flight = { after: run.feed.begun };
      run.saving.add(flight);
      try {
        for (let attempt = 0; ; attempt++) {
          run.abort.signal.throwIfAborted();
          const sentAt = passed.now();
          let appended: Appended | null;
          try {
            appended = await bus.append(subject, bytes, options);
          } catch (error) {
            appended = notStored(error, bytes);
          }
          checkInTime(passed.now() - sentAt);
          if (appended !== null) {
            onStored?.(appended.sequence);
            return appended.sequence;
          }
          await sleep(clock, jittered(backOffMs(attempt, 50, 2_000), 0.3, random), run.abort.signal);
        }
      } finally {
        run.saving.delete(flight);
        onOver?.();
      }
    },
  };
}

/**
 * An answer that a process reads after a suspension (SIGSTOP, a suspended machine) is as old as the
 * suspension was long, whatever monotonic time did and whoever set the wall clock meanwhile. Where all clocks
 * stood still (a virtual machine that was paused) nothing tells; what starts late there is in the record, and
 * changes nothing when it runs twice.
 */
function checkInTime(tookMs: number): void {
  if (tookMs <= limits.appendTimeoutMs) return;
  throw new OrreryError('BUS_UNKNOWN_OUTCOME', `the acknowledgement was read ${Math.round(tookMs)} ms late`);
}

/** @returns null: certainly not stored, try again */
function notStored(error: unknown, bytes: Uint8Array): null {
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
