/**
 * A process that was stopped (SIGSTOP, a suspended machine) goes on with what it reads from before: it must
 * not act on it.
 */
import { expect, test } from 'vitest';
import { createSaver } from '../../../src/actors/host/saver.ts';
import { createShardRun } from '../../../src/actors/shards/shard-run.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { limits } from '../../../src/base/limits.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';

/** A save whose acknowledgement is read after the process was stopped for so long. */
async function savedAfterStop(stopMs: number, asProcessSees: (clock: Clock) => Clock): Promise<unknown> {
  const clock = new VirtualClock();
  const subjects = subjectsOf('test');
  const bus = memoryHub({ clock, cluster: 'test' }).connect();
  const { sequence: fence } = await bus.append(subjects.fence(7), new Uint8Array([1]));
  let isStopped = true;
  const saver = createSaver({
    bus: {
      ...bus,
      append: async (...args) => {
        const stored = await bus.append(...args);
        if (isStopped) await clock.advance(stopMs);
        isStopped = false;
        return stored;
      },
    },
    clock: asProcessSees(clock),
    random: seededRandom(1),
    fenceSubject: subjects.fence,
  });
  return saver.save(createShardRun(7, fence), subjects.checkpoint(7), new Uint8Array([2]));
}

const awake = (clock: Clock) => clock;
/** The whole machine slept: monotonic time stood still. */
const asleep = (clock: Clock): Clock => ({ ...clock, now: () => clock.now(), monotonic: () => 0 });

test('I3: an acknowledgement that is read after the patience for it tells nothing: the shard is to be claimed anew', async () => {
  const late = limits.appendTimeoutMs + 1;
  await expect(savedAfterStop(late, awake)).rejects.toMatchObject({ code: 'BUS_UNKNOWN_OUTCOME' });
  await expect(savedAfterStop(late, asleep)).rejects.toMatchObject({ code: 'BUS_UNKNOWN_OUTCOME' });
});

test('one that is read in time counts', async () => {
  await expect(savedAfterStop(limits.appendTimeoutMs, awake)).resolves.toBe(2);
});
