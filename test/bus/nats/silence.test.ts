/** Who is silent for too long is told of, once, and by one timer for all (src/bus/nats/silence.ts). */
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { createSilenceWatch } from '../../../src/bus/nats/silence.ts';
import { VirtualClock } from '../../virtual-clock.ts';

test('whoever says nothing for as long as is allowed is told of once, whoever speaks is not', async () => {
  const clock = new VirtualClock();
  const watch = createSilenceWatch(clock, 2_500);
  const silent: string[] = [];
  const mute = watch.listen((ms) => silent.push(`mute ${ms}`));
  const talker = watch.listen((ms) => silent.push(`talker ${ms}`));
  for (let second = 0; second < 5; second++) {
    await clock.advance(1_000);
    talker.heard();
  }
  expect(silent).toEqual(['mute 2500']);
  mute.heard();
  await clock.advance(2_500);
  expect(silent).toEqual(['mute 2500', 'talker 2500']);
});

test('a hundred that beat once a second wake nobody a hundred times a second', async () => {
  const virtual = new VirtualClock();
  let timers = 0;
  const clock: Clock = {
    now: () => virtual.now(),
    monotonic: () => virtual.monotonic(),
    after(delayMs, fn) {
      timers++;
      return virtual.after(delayMs, fn);
    },
  };
  const watch = createSilenceWatch(clock, 2_500);
  const all: { heard(): void; stop(): void }[] = [];
  for (let n = 0; n < 100; n++) {
    all.push(watch.listen(() => expect.unreachable()));
    await virtual.advance(7);
  }
  for (let tick = 0; tick < 1_000; tick++) {
    all[tick % 100]?.heard();
    await virtual.advance(10);
  }
  expect(timers).toBeLessThan(12);
  for (const one of all) one.stop();
  await virtual.advance(10_000);
});
