/**
 * When a replica counts as missing: soon after it died, not for a pause of a second, and never by a judge who
 * has not read what it was sent.
 */
import { expect, test } from 'vitest';
import { type Directory, startDirectory } from '../../../src/actors/members/directory.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { Bus, BusMessage, BusStatus, RequestOptions } from '../../../src/bus/bus.ts';
import { nobodyAnswers } from '../../../src/bus/bus-errors.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import type { MemoryBus } from '../../../src/bus/memory/memory-bus.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');
/** From the last beat on. */
const missingWithinMs = 1_360;

/** A process that can be stopped: what is due meanwhile is done afterwards, timers before messages. */
function stoppable(clock: Clock, bus: MemoryBus) {
  let isStopped = false;
  let isCutOff = false;
  let reaches = (_subject: string) => true;
  let refused: string | undefined;
  const timers: Array<() => void> = [];
  const received: Array<() => void> = [];
  const later = (queue: Array<() => void>, fn: () => void) => () => void (isStopped ? queue.push(fn) : fn());
  const entering = <T>(promise: Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      promise.then(
        (value) => later(received, () => resolve(value))(),
        (reason) => later(received, () => reject(reason))(),
      );
    });
  return {
    clock: {
      ...bound(clock),
      after: (delayMs, fn) => clock.after(delayMs, later(timers, fn)),
    } satisfies Clock,
    bus: {
      publish: (subject: string, data: Uint8Array) => void (isCutOff || bus.publish(subject, data)),
      subscribe: (subject: string, hear: (message: BusMessage) => void) =>
        bus.subscribe(subject, (message) => isCutOff || later(received, () => hear(message))()),
      onStatus: (hear: (status: BusStatus) => void) => bus.onStatus(hear),
      request: (subject: string, data: Uint8Array, options: RequestOptions) => {
        if (isCutOff) return new Promise(() => {});
        const asking = reaches(subject) ? bus.request(subject, data, options) : nobodyHears(subject);
        return entering(asking);
      },
      troubles: () => (refused === undefined ? [] : [{ what: 'subscription', text: '', since: 0, refused }]),
    } as Partial<Bus> as Bus,
    faults: bus.faults,
    cutOff(still: boolean): void {
      isCutOff = still;
    },
    /** Where its requests arrive; elsewhere NATS says that nobody listens. */
    reach(isReached: (subject: string) => boolean): void {
      reaches = isReached;
    },
    /** NATS takes the permission to listen there from it. */
    refuse(subject: string): void {
      refused = subject;
    },
    stop(): void {
      isStopped = true;
    },
    /** Its connection ends with it. */
    async die(): Promise<void> {
      isStopped = true;
      await bus.close();
    },
    goOn(): void {
      isStopped = false;
      for (const fn of [...timers.splice(0), ...received.splice(0)]) fn();
    },
  };
}

const nobodyHears = (subject: string) => Promise.reject(nobodyAnswers(subject));
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

test('whose process died is missing a second after its last sign of life, by what NATS says', async () => {
  for (let offset = 0; offset < 600; offset += 50) {
    const { clock, changes, a, b, c } = await scene();
    await clock.advance(10_000 + offset);
    await b.die();
    await clock.advance(1_000);
    expect(a.living(), `${offset} ms after a beat`).toBe('a c');
    expect(c.living()).toBe('a c');
    expect(changes.at(-1)).toBe('a c');
  }
});

test('who was connected again in time is not missing, and one that was not is back with its next beat', async () => {
  for (const [awayMs, fates] of [
    [400, []],
    [1_200, ['a c']],
  ] as const)
    for (let offset = 0; offset < 600; offset += 100) {
      const { clock, changes, a, b } = await scene();
      await clock.advance(10_000 + offset);
      const before = changes.length;
      b.faults.setLink('down');
      await clock.advance(awayMs);
      b.faults.setLink('up');
      await clock.advance(3_000);
      const wrong = new Set(changes.slice(before).filter((names) => names !== 'a b c'));
      expect([...wrong], `${awayMs} ms, from ${offset} ms on`).toEqual(fates);
      expect(a.living()).toBe('a b c');
    }
});

test('after an outage nobody is missing because it is back a second later than others', async () => {
  for (const [awayMs, laterMs] of [
    [300, 550],
    [600, 250],
    [1_600, 1_200],
    [5_000, 1_200],
  ] as const)
    for (let offset = 0; offset < 600; offset += 100) {
      const { clock, changes, a, b, c } = await scene();
      await clock.advance(10_000 + offset);
      const before = changes.length;
      for (const { faults } of [a, b, c]) faults.setLink('down');
      await clock.advance(awayMs);
      for (const { faults } of [a, c]) faults.setLink('up');
      await clock.advance(laterMs);
      b.faults.setLink('up');
      await clock.advance(3_000);
      const wrong = changes.slice(before).filter((names) => names !== '' && names !== 'a b c');
      expect(wrong, `away for ${awayMs} ms, back ${laterMs} ms later`).toEqual([]);
    }
});

test('who was stopped or died is missing 1.36 s after its last beat, and somebody is told at that moment', async () => {
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

/** Pictures without it, while it pauses for a second and afterwards. */
async function missedInAPause({ clock, changes, b }: Awaited<ReturnType<typeof scene>>) {
  const before = changes.length;
  b.stop();
  await clock.advance(1_000);
  b.goOn();
  await clock.advance(3_000);
  return changes.slice(before).filter((names) => names !== 'a b c');
}

test('a pause of a second, whenever it begins, is no death', async () => {
  for (let offset = 0; offset < 500; offset += 10) {
    const all = await scene();
    await all.clock.advance(10_000 + offset);
    expect(await missedInAPause(all), `${offset} ms`).toEqual([]);
    expect(all.a.living()).toBe('a b c');
  }
});

test('who cannot be asked, by permissions or behind a leaf node that lets beats through only, may pause for a second', async () => {
  for (const how of ['never', 'since a reconnect', 'since a reload'] as const)
    for (let offset = 0; offset < 600; offset += 100) {
      const all = await scene();
      const { clock, a, b } = all;
      if (how !== 'never') await clock.advance(5_000);
      a.reach((subject) => !subject.includes('.alive.b.'));
      if (how === 'since a reload') b.refuse('orrery.test.alive.>');
      else a.faults.setLink('down');
      a.faults.setLink('up');
      await clock.advance(10_000 + offset);
      expect(await missedInAPause(all), `${how}, from ${offset} ms on`).toEqual([]);
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

/** It is stopped for a while, then goes on for a while; who lives by `a` in the meantime. */
async function stall({ clock, changes, b }: Awaited<ReturnType<typeof scene>>, stoppedMs: number) {
  const before = changes.length;
  b.stop();
  await clock.advance(stoppedMs);
  b.goOn();
  await clock.advance(5_000);
  return changes.slice(before).includes('a c') ? 'missed' : 'kept';
}

test('who keeps being late is missing once more, then it is waited for, until it has been in time for a minute', async () => {
  for (let offset = 0; offset < 500; offset += 50) {
    const all = await scene();
    const { clock, a, b } = all;
    await clock.advance(10_000 + offset);
    const fates: string[] = [];
    for (const ms of [2_500, 2_500, 2_500, 2_500, 3_000]) fates.push(await stall(all, ms));
    expect(fates, `from ${offset} ms on`).toEqual(['missed', 'missed', 'kept', 'kept', 'kept']);
    // It is waited for as long as it is late now and then.
    for (let n = 0; n < 5; n++) {
      await clock.advance(40_000);
      expect(await stall(all, 2_000)).toBe('kept');
    }
    await clock.advance(60_000);
    b.stop();
    await clock.advance(missingWithinMs);
    expect(a.living()).toBe('a c');
  }
});

test('who dies after it was late is missing soon, too', async () => {
  const all = await scene();
  const { clock, a, b } = all;
  await clock.advance(10_000);
  for (let n = 0; n < 10; n++) await stall(all, 9_000);
  b.stop();
  await clock.advance(10_010);
  expect(a.living()).toBe('a c');
});

test('long stops now and then are no lateness', async () => {
  const all = await scene();
  const { clock } = all;
  await clock.advance(10_000);
  for (let n = 0; n < 5; n++) expect(await stall(all, 12_000)).toBe('missed');
  for (let n = 0; n < 5; n++) {
    expect(await stall(all, 3_000)).toBe('missed');
    await clock.advance(70_000);
  }
});
