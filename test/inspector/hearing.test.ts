/** Whether the page believes that its feed is alive. */
import { expect, test } from 'vitest';
import { VirtualClock } from '../../packages/testing/time/virtual-clock.ts';
import { createHearing } from '../../src/inspector/page/hearing.ts';
import { attentionOf, sharedTroubles } from '../../src/inspector/page/overview/attention.ts';

/** A page to which its replica sends a sign of life each second, with the time of its data. */
async function listen(seconds: number, asOf: (now: number) => number) {
  const clock = new VirtualClock();
  const hearing = createHearing(clock);
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1_000);
    hearing.heard(asOf(clock.now()));
  }
  return { clock, hearing, silence: () => hearing.silence(clock.now(), true) };
}

test('a replica that reads the cluster is alive, until it is silent for more than three seconds', async () => {
  const { clock, silence } = await listen(60, (now) => now);
  expect(silence()).toBeNull();
  const asOf = clock.now();
  await clock.advance(4_000);
  expect(silence()).toEqual({ ms: 4_000, asOf, isReplica: true });
});

test('a replica that has not heard the others for ten seconds is no news', async () => {
  const asOf = new VirtualClock().now();
  expect((await listen(10, () => asOf)).silence()).toBeNull();
  expect((await listen(12, () => asOf)).silence()).toEqual({ ms: 12_000, asOf, isReplica: false });
});

test('a sleep counts as silence, though the timers of a machine that sleeps stand still; a clock set back does not', async () => {
  const { clock, silence } = await listen(60, (now) => now);
  clock.leap(3_600_000);
  expect(silence()).toMatchObject({ ms: 3_600_000, isReplica: true });
  clock.leap(-7_200_000);
  expect(silence()).toBeNull();
  await clock.advance(4_000);
  expect(silence()?.ms).toBe(4_000);
});

test('a page that is opened while its replica hears nobody does not look alive', async () => {
  expect((await listen(10, () => 0)).silence()).toBeNull();
  expect((await listen(11, () => 0)).silence()).toEqual({ ms: 11_000, asOf: 0, isReplica: false });
});

test('the clock of a replica that was ahead does not hide that the next one hears nobody', async () => {
  const { clock, hearing, silence } = await listen(60, (now) => now + 3_600_000);
  hearing.began();
  for (let second = 0; second < 11; second++) {
    hearing.heard();
    await clock.advance(1_000);
  }
  expect(silence()).toMatchObject({ ms: 11_000, isReplica: false });
  hearing.heard(clock.now());
  expect(silence()).toBeNull();
  await clock.advance(4_000);
  expect(silence()?.asOf).toBe(clock.now() - 4_000);
});

test('a picture that nobody renews is no good news; one that was bad stays bad', async () => {
  const { clock, silence } = await listen(60, (now) => now);
  const attention = (troubles: number) =>
    attentionOf({ isWhole: true, silence: silence(), troubles, told: 0 });
  expect([attention(0), attention(1)]).toEqual(['well', 'ill']);
  await clock.advance(4_000);
  expect([attention(0), attention(1)]).toEqual(['silent', 'ill']);
  expect(attentionOf({ isWhole: false, silence: silence(), troubles: 1, told: 0 })).toBe('reading');
  // What a replica says of itself is often why not everything is known.
  expect(attentionOf({ isWhole: false, silence: null, troubles: 0, told: 1 })).toBe('ill');
  const briefly = { ms: 400, asOf: 1, isReplica: true };
  expect(attentionOf({ isWhole: true, silence: briefly, troubles: 0, told: 0 })).toBe('well');
});

test('what several replicas tell of themselves is shown once', () => {
  const told = [
    { replica: 'b', troubles: ['not listed yet: pods', 'NATS stores nothing'] },
    { replica: 'a', troubles: ['not listed yet: pods'] },
  ];
  expect(sharedTroubles(told)).toEqual([
    { text: 'not listed yet: pods', replicas: ['a', 'b'] },
    { text: 'NATS stores nothing', replicas: ['b'] },
  ]);
});
