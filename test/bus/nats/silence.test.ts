/** Silent servers and consumers are reported once, by one timer (src/bus/nats/silence.ts). */
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { createSilenceWatch, type Silent } from '../../../src/bus/nats/silence.ts';
import { silenceBounds } from '../../../src/bus/nats/wire-consumer.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const never = () => new Promise<never>(() => undefined);

function watched(clock: Clock = new VirtualClock()) {
  const watch = createSilenceWatch(clock, silenceBounds);
  const silent: string[] = [];
  const asked: string[] = [];
  const listen = (name: string, server: string, answer: () => Promise<unknown>) => {
    const consumer: Silent = {
      server,
      ask: () => {
        asked.push(name);
        return answer();
      },
      onSilent: (ms) => silent.push(`${name} ${ms}`),
    };
    return watch.listen(consumer);
  };
  return { listen, silent, asked, heard: watch.heard };
}

test('all consumers of a server that does not answer are told of after 2.5 s, those of another are not', async () => {
  const clock = new VirtualClock();
  const { listen, silent, asked } = watched(clock);
  for (const name of ['a', 'b']) listen(name, 'dead', never);
  listen('c', 'alive', async () => undefined);
  await clock.advance(2_499);
  expect(silent).toEqual([]);
  await clock.advance(1);
  expect(silent).toEqual(['a 2500', 'b 2500']);
  expect(asked.filter((name) => name !== 'c')).toEqual(['a']);
  await clock.advance(5_000);
  expect(silent).toHaveLength(2);
});

test('a server whose consumers speak in turn is not asked, and one alone that is silent is told of', async () => {
  const clock = new VirtualClock();
  const { listen, silent, asked } = watched(clock);
  const mute = listen('mute', '', never);
  const talkers = ['x', 'y'].map((name) => listen(name, '', never));
  for (let half = 0; half < 30; half++) {
    await clock.advance(500);
    talkers[half % 2]?.heard();
  }
  expect(silent).toEqual(['mute 12500']);
  expect(asked).toEqual([]);
  mute.heard();
  await clock.advance(20_000);
  expect(silent).toHaveLength(3);
});

test('a server that says anything else is not asked, and another one is', async () => {
  const clock = new VirtualClock();
  const { listen, silent, asked, heard } = watched(clock);
  listen('a', '', never);
  listen('b', 'other', async () => undefined);
  for (let tick = 0; tick < 20; tick++) {
    await clock.advance(600);
    heard('');
    heard('unknown');
  }
  expect(asked).not.toContain('a');
  expect(asked.length).toBeGreaterThan(5);
  expect(silent).toEqual([]);
});

test('whoever was stopped itself asks before it judges', async () => {
  const clock = new VirtualClock();
  let lateMs = 0;
  const stopped: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + lateMs,
    after: (delayMs, fn) => clock.after(delayMs, fn),
  };
  const { listen, silent } = watched(stopped);
  listen('a', '', async () => undefined);
  lateMs = 4_000;
  await clock.advance(3_000);
  expect(silent).toEqual([]);
});

test('a hundred that beat every five seconds wake nobody a hundred times', async () => {
  const virtual = new VirtualClock();
  let timers = 0;
  const { listen, asked } = watched({
    now: () => virtual.now(),
    monotonic: () => virtual.monotonic(),
    after(delayMs, fn) {
      timers++;
      return virtual.after(delayMs, fn);
    },
  });
  const all: { heard(): void; stop(): void }[] = [];
  for (let n = 0; n < 100; n++) {
    all.push(listen(`${n}`, '', never));
    await virtual.advance(50);
  }
  for (let tick = 0; tick < 200; tick++) {
    all[tick % 100]?.heard();
    await virtual.advance(50);
  }
  expect(asked).toEqual([]);
  expect(timers).toBeLessThan(20);
  for (const one of all) one.stop();
  await virtual.advance(20_000);
});
