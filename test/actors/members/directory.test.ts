/**
 * When a replica counts as missing: soon after it died, not for a pause of a second, and never by a judge who
 * has not read what it was sent.
 */
import { expect, test } from 'vitest';
import { type Directory, startDirectory } from '../../../src/actors/members/directory.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { Bus, BusMessage } from '../../../src/bus/bus.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');
/** From the last beat on. */
const missingWithinMs = 1_360;

/** A process that can be stopped: what is due meanwhile is done afterwards, timers before messages. */
function stoppable(clock: Clock, bus: Bus) {
  let isStopped = false;
  let isCutOff = false;
  const timers: Array<() => void> = [];
  const received: Array<() => void> = [];
  const later = (queue: Array<() => void>, fn: () => void) => () => void (isStopped ? queue.push(fn) : fn());
  return {
    clock: {
      ...bound(clock),
      after: (delayMs, fn) => clock.after(delayMs, later(timers, fn)),
    } satisfies Clock,
    bus: {
      publish: (subject: string, data: Uint8Array) => void (isCutOff || bus.publish(subject, data)),
      subscribe: (subject: string, hear: (message: BusMessage) => void) =>
        bus.subscribe(subject, (message) => isCutOff || later(received, () => hear(message))()),
    } as Bus,
    cutOff(still: boolean): void {
      isCutOff = still;
    },
    stop(): void {
      isStopped = true;
    },
    goOn(): void {
      isStopped = false;
      for (const fn of [...timers.splice(0), ...received.splice(0)]) fn();
    },
  };
}

const bound = (clock: Clock) => ({ now: () => clock.now(), monotonic: () => clock.monotonic() });

/** Three replicas as processes that beat in turn; what `a` says of who lives is noted. */
async function scene() {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  const changes: string[] = [];
  const start = (replica: string) => {
    const process = stoppable(clock, hub.connect(replica));
    let directory: Directory | null = null;
    const living = () => [...(directory?.live()?.keys() ?? [])].sort().join(' ');
    directory = startDirectory({
      ...{ bus: process.bus, subjects, clock: process.clock, replica, incarnation: replica },
      describe: () => ({
        ...{ release: '1', leaving: false, serving: true, tells: true },
        ...{ shards: [], editions: [], actors: 0, stepsPerSecond: 0 },
      }),
      onChange: () => void (replica === 'a' && changes.push(living())),
    });
    return { ...process, living };
  };
  const a = start('a');
  await clock.advance(70);
  const b = start('b');
  await clock.advance(60);
  const c = start('c');
  return { clock, changes, a, b, c };
}

test('who died is missing 1.36 s after its last beat, and somebody is told at that moment', async () => {
  for (let offset = 0; offset < 500; offset += 50) {
    const { clock, changes, a, b } = await scene();
    await clock.advance(10_000 + offset);
    expect(a.living()).toBe('a b c');
    b.stop();
    await clock.advance(missingWithinMs);
    expect(a.living(), `${offset} ms after a beat`).toBe('a c');
    expect(changes.at(-1)).toBe('a c');
  }
});

test('a pause of a second, whenever it begins, is no death', async () => {
  for (let offset = 0; offset < 500; offset += 10) {
    const { clock, changes, a, b } = await scene();
    await clock.advance(10_000 + offset);
    const before = changes.length;
    b.stop();
    await clock.advance(1_000);
    b.goOn();
    await clock.advance(3_000);
    expect(
      changes.slice(before).filter((names) => names !== 'a b c'),
      `${offset} ms`,
    ).toEqual([]);
    expect(a.living()).toBe('a b c');
  }
});

test('a judge that did not read for a while finds nobody missing', async () => {
  for (const pauseMs of [900, 1_100, 1_300, 1_400, 1_500, 2_000, 10_000])
    for (let offset = 0; offset < 500; offset += 50) {
      const { clock, changes, a } = await scene();
      await clock.advance(10_000 + offset);
      const before = changes.length;
      a.stop();
      await clock.advance(pauseMs);
      a.goOn();
      await clock.advance(3_000);
      const wrong = changes.slice(before).filter((names) => names !== '' && names !== 'a b c');
      expect(wrong, `${pauseMs} ms, from ${offset} ms on`).toEqual([]);
      expect(a.living()).toBe('a b c');
    }
});

test('who was cut off, and hears itself first, finds nobody missing but those who died meanwhile', async () => {
  for (const awayMs of [1_500, 3_000, 20_000])
    for (let offset = 0; offset < 200; offset += 20) {
      const { clock, changes, a, c } = await scene();
      await clock.advance(10_000 + offset);
      const before = changes.length;
      a.cutOff(true);
      await clock.advance(awayMs);
      a.cutOff(false);
      await clock.advance(3_000);
      const wrong = changes.slice(before).filter((names) => names !== '' && names !== 'a b c');
      expect(wrong, `${awayMs} ms, from ${offset} ms on`).toEqual([]);
      a.cutOff(true);
      c.stop();
      await clock.advance(awayMs);
      a.cutOff(false);
      await clock.advance(2 * missingWithinMs);
      expect(a.living()).toBe('a b');
    }
});

test('who is alone beats, and sends pulses too as soon as somebody is there', async () => {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  const heard: string[] = [];
  const ear = hub.connect('ear');
  ear.subscribe(subjects.member('a'), () => heard.push('beat'));
  ear.subscribe(subjects.pulse('a'), () => heard.push('pulse'));
  const start = (replica: string) =>
    startDirectory({
      ...{ bus: hub.connect(replica), subjects, clock, replica, incarnation: replica },
      describe: () => ({
        ...{ release: '1', leaving: false, serving: true, tells: true },
        ...{ shards: [], editions: [], actors: 0, stepsPerSecond: 0 },
      }),
      onChange: () => {},
    });
  start('a');
  await clock.advance(6_100);
  expect(heard.splice(0)).toEqual(Array(11).fill('beat'));
  const b = start('b');
  await clock.advance(1_000);
  heard.splice(0);
  await clock.advance(6_000);
  expect(heard.filter((one) => one === 'beat')).toHaveLength(10);
  expect(heard.filter((one) => one === 'pulse')).toHaveLength(20);
  b.stop();
  // It is forgotten after a minute.
  await clock.advance(62_000);
  heard.splice(0);
  await clock.advance(6_000);
  expect(heard).toEqual(Array(10).fill('beat'));
});

test('whoever announces replicas by the thousand costs the others nothing, and those who live stay known', async () => {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  let changes = 0;
  const directories = ['a', 'b'].map((replica) =>
    startDirectory({
      ...{ bus: hub.connect(replica), subjects, clock, replica, incarnation: replica },
      describe: () => ({
        ...{ release: '1', leaving: false, serving: true, tells: true },
        ...{ shards: [], editions: [], actors: 0, stepsPerSecond: 0 },
      }),
      onChange: () => void changes++,
    }),
  );
  await clock.advance(2_000);
  changes = 0;
  const stranger = hub.connect('stranger');
  for (let n = 0; n < 3_000; n++)
    stranger.publish(
      subjects.member(`m${n}`),
      encodeJson({ replica: `m${n}`, incarnation: '1', leaving: true }),
    );
  await clock.advance(1_000);
  expect(changes).toBeLessThan(2 * 600);
  for (const directory of directories) {
    expect(directory.all().length).toBeLessThanOrEqual(512);
    expect([...(directory.live()?.keys() ?? [])].sort()).toEqual(['a', 'b']);
    directory.stop();
  }
});
