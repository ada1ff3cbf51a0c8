/** A shard of large records is read in pieces, between which everything else in the replica has its turn. */
import { expect, test } from 'vitest';
import { type ActorRecord, packRecord } from '../../../src/actors/host/records.ts';
import { createShardReader } from '../../../src/actors/shards/shard-reading.ts';
import { createShardRun } from '../../../src/actors/shards/shard-run.ts';
import { loadShard } from '../../../src/actors/shards/shard-store.ts';
import type { ActorId } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/log-port.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');

const record = (chars: number): ActorRecord => ({
  ...{ format: 1, machine: 'unit', version: 1, rev: 1, fence: 1, at: 0, since: 0, world: 0, mail: 0 },
  ...{ timers: [], outbox: [], feed: [], recentIds: [], lastError: null, gone: false },
  snapshot: { value: 'idle', context: { text: 'x'.repeat(chars) } },
});

/** @returns how often others had their turn until all was read */
async function turnsWhileLoading(count: number, chars: number): Promise<number> {
  let turns = 0;
  class Counting extends VirtualClock {
    override after(delayMs: number, fn: () => void) {
      if (delayMs === 0) turns++;
      return super.after(delayMs, fn);
    }
  }
  const clock = new Counting();
  const bus = memoryHub({ clock, cluster: 'test' }).connect('a');
  for (let n = 0; n < count; n++) {
    const id: ActorId = `unit/shop/u${n}`;
    await bus.append(subjects.state(5, id), packRecord(record(chars)));
  }
  const { sequence } = await bus.append(subjects.fence(5), new TextEncoder().encode('{}'));
  const run = createShardRun(5, sequence);
  const metrics = { transition() {}, stepSeconds() {}, effect() {}, deadLetter() {} };
  const parts = { bus, subjects, clock, random: seededRandom(1), log: silentLog, metrics };
  turns = 0;
  const gathering = new VirtualClock();
  const readShard = createShardReader({ bus, subjects, clock: gathering });
  const loading = loadShard(
    { ...parts, readShard, steppers: new Map(), earlierHeardAt: () => 0 },
    run,
    new AbortController().signal,
  );
  await gathering.advance(0);
  await settle();
  await clock.advance(0);
  await loading;
  expect(run.cells.size).toBe(count);
  return turns;
}

test('24 records of 400 KB leave others their turn after each five or six', async () => {
  expect(await turnsWhileLoading(24, 400 * 1024)).toBe(4);
});

test('usual records are read at once', async () => {
  expect(await turnsWhileLoading(200, 1_000)).toBe(0);
});
