/** A store that takes nothing fails every claim for one reason, and is told of once. */
import { expect, test } from 'vitest';
import type { Directory } from '../../../src/actors/members/directory.ts';
import { createClaimTrouble } from '../../../src/actors/shards/claim-trouble.ts';
import { Ownership } from '../../../src/actors/shards/ownership.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');
const shards = Array.from({ length: 64 }, (_, shard) => shard);

function scene() {
  const clock = new VirtualClock();
  const bus = memoryHub({ clock, cluster: 'test' }).connect('a');
  const lines: Array<{
    readonly count: number;
    readonly holdings: readonly string[];
    readonly error: string;
    readonly text: string;
  }> = [];
  const quiet = () => {};
  const member = { serving: true, firstHeard: 0 };
  const directory = {
    ...{ incarnation: 'one', live: () => new Map([['a', member]]), isPresent: () => false, ageMs: () => 0 },
  } as unknown as Directory;
  const ownership = new Ownership({
    ...{
      bus,
      clock,
      random: seededRandom(1),
      replica: 'a',
      directory: () => directory,
      isServing: () => true,
    },
    log: {
      debug: quiet,
      info: quiet,
      error: quiet,
      warn: (facts, text) => void lines.push({ ...facts, text } as never),
    },
    fences: [{ stream: 'state', subject: subjects.fenceAll }],
  });
  const idle = () => Promise.resolve();
  for (const shard of shards) {
    const work = { load: idle, drain: idle, open() {}, drop() {} };
    ownership.add({ name: `shard/${shard}`, stream: 'state', fenceSubject: subjects.fence(shard), work });
  }
  const beats = async (count: number) => {
    for (let n = 0; n < count; n++) {
      ownership.plan();
      await clock.advance(500);
    }
  };
  return { bus, clock, lines, ownership, beats };
}

test('64 shards that cannot be claimed since the store is full are one line, and one more each ten seconds', async () => {
  const { bus, lines, ownership, beats } = scene();
  bus.faults.onAppend = () => 'full';
  const starting = ownership.start();
  await beats(3);
  await starting;
  expect(lines.map(({ count }) => count)).toEqual([64]);
  expect(lines[0]?.holdings).toEqual(shards.slice(0, 5).map((shard) => `shard/${shard}`));
  expect(lines[0]?.error).toContain('insufficient storage');
  expect(lines[0]?.text).toMatch(/^claims failed, and are tried again; .*NATS takes no writes/);
  await beats(40);
  expect(lines.map(({ count }) => count)).toEqual([64, 64, 64]);
});

test('nor are they one line each when NATS is slow, and each claim names its own fence', async () => {
  const clock = new VirtualClock();
  const told: object[] = [];
  const trouble = createClaimTrouble({
    clock,
    log: { ...silentLog, warn: (facts) => void told.push(facts) },
  });
  const slow = (fence: string) => `a write was sent and not confirmed: orrery.dev.${fence}: timeout`;
  for (const shard of shards) trouble.failed(`shard/${shard}`, slow(`fence.${shard}`));
  trouble.failed('watch/pods', slow('world.fence.pods'));
  await clock.advance(1_000);
  expect(told).toEqual([
    expect.objectContaining({ count: 64, error: slow('fence.*') }),
    expect.objectContaining({ count: 1, error: slow('world.fence.*') }),
  ]);
});

test('claims that succeed again are told of no more', async () => {
  const { bus, lines, ownership, beats } = scene();
  bus.faults.onAppend = () => 'full';
  const starting = ownership.start();
  await beats(3);
  await starting;
  bus.faults.onAppend = undefined;
  await beats(40);
  expect(lines.length).toBeLessThanOrEqual(2);
  expect(ownership.active()).toHaveLength(64);
  lines.length = 0;
  await beats(40);
  expect(lines).toEqual([]);
});

test('what is lost again and again, soon after each claim, is told of; one loss alone is not', async () => {
  const { lines, ownership, beats } = scene();
  const starting = ownership.start();
  await beats(3);
  await starting;
  ownership.fenced('shard/7');
  await beats(4);
  expect(lines).toEqual([]);
  for (let n = 0; n < 6; n++) {
    ownership.fenced('shard/7');
    await beats(2);
  }
  expect(lines).toMatchObject([
    { count: 1, holdings: ['shard/7'], error: expect.stringContaining('lost again') },
  ]);
});

test('64 shards that are lost one after another while the store is full are claimed once a beat each, not once for each loss', async () => {
  const { bus, clock, ownership, beats } = scene();
  const starting = ownership.start();
  await beats(3);
  await starting;
  await clock.advance(10_000);
  let claims = 0;
  bus.faults.onAppend = () => {
    claims++;
    return 'full';
  };
  for (const shard of shards) {
    ownership.fenced(`shard/${shard}`);
    await clock.advance(2);
  }
  expect(claims).toBe(64);
  await beats(2);
  expect(claims).toBeLessThanOrEqual(3 * 64);
  bus.faults.onAppend = undefined;
  await beats(2);
  expect(ownership.active()).toHaveLength(64);
});
