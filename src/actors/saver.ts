/**
 * Saving: the one conditional write of each step.
 *
 * Promises: resolves only when the record is surely stored under the fence of the shard (I1, I3); rejects with NOT_OWNER when
 * another replica owns the shard, and with the abort reason when the shard was given up. In between it waits for NATS as long as
 * it takes. An outcome that is unknown is read back from the stream's leader before anything else is decided.
 */

import type { AppendOptions, Bus, StoredMessage } from '../bus/bus.ts';
import { type Clock, sleep } from '../clock.ts';
import { hasCode, OrreryError } from '../errors.ts';
import { jittered, type Random } from '../random.ts';
import type { ShardRun } from './shard-run.ts';

export interface Saver {
  /**
   * @returns the sequence of the stored record
   * @param isStored whether a message found on the subject is the one that was to be stored
   */
  save(
    run: ShardRun,
    subject: string,
    bytes: Uint8Array,
    isStored: (found: StoredMessage) => boolean,
    ttlSeconds?: number,
  ): Promise<number>;
}

export function createSaver(ports: {
  readonly bus: Bus;
  readonly fenceSubject: (shard: number) => string;
  readonly clock: Clock;
  readonly random: Random;
}): Saver {
  const { bus, fenceSubject, clock, random } = ports;
  return {
    async save(run, subject, bytes, isStored, ttlSeconds) {
      const guard = { subject: fenceSubject(run.shard), sequence: run.fence };
      const options: AppendOptions = ttlSeconds === undefined ? { guard } : { guard, ttlSeconds };
      const flight = { after: run.feed.begun };
      run.saving.add(flight);
      try {
        for (let attempt = 0; ; attempt++) {
          run.abort.signal.throwIfAborted();
          const sequence = await tryAppend(bus, subject, bytes, options, isStored);
          if (sequence !== null) return sequence;
          await sleep(clock, jittered(Math.min(50 * 2 ** attempt, 2_000), 0.3, random), run.abort.signal);
        }
      } finally {
        run.saving.delete(flight);
      }
    },
  };
}

async function tryAppend(
  bus: Bus,
  subject: string,
  bytes: Uint8Array,
  options: AppendOptions,
  isStored: (found: StoredMessage) => boolean,
): Promise<number | null> {
  try {
    const { sequence } = await bus.append(subject, bytes, options);
    return sequence;
  } catch (error) {
    if (hasCode(error, 'BUS_CONFLICT')) {
      throw new OrreryError('NOT_OWNER', 'another replica owns the shard now', { cause: error });
    }
    if (hasCode(error, 'BUS_UNREACHABLE')) return null;
    if (hasCode(error, 'BUS_UNKNOWN_OUTCOME')) return await storedAs(bus, subject, isStored);
    throw error;
  }
}

async function storedAs(
  bus: Bus,
  subject: string,
  isStored: (found: StoredMessage) => boolean,
): Promise<number | null> {
  try {
    const found = await bus.last('state', subject);
    return found !== undefined && isStored(found) ? found.sequence : null;
  } catch (error) {
    if (hasCode(error, 'BUS_UNREACHABLE', 'BUS_UNKNOWN_OUTCOME')) return null;
    throw error;
  }
}
