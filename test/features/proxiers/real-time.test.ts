/** The library function when the clock of its machine is set, and when it is told what cannot be meant. */
import { afterEach, describe, expect, test } from 'vitest';
import { goTime } from '../../../src/features/proxiers/health-body.ts';
import { createProxierHealth, type ProxierHealth } from '../../../src/features/proxiers/proxier-health.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const closing: Array<() => void> = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function proxier(): { clock: VirtualClock; health: ProxierHealth } {
  const clock = new VirtualClock();
  const health = createProxierHealth({ clock, timeoutMs: 10_000 });
  closing.push(() => health.stop());
  return { clock, health };
}

const codes = (health: ProxierHealth) => [health.answer('healthz').status, health.answer('livez').status];

describe('§2.6: the wall clock is set', () => {
  test.each([
    ['back', -3_600_000],
    ['forward', 3_600_000],
  ])('%s: what waits is late in its real time, and so is what comes later', async (_, byMs) => {
    const { clock, health } = proxier();
    health.updated('IPv4');
    health.queued('IPv4');
    await clock.advance(4_000);
    clock.leap(byMs);
    await clock.advance(5_999);
    expect(codes(health)).toEqual([200, 200]);
    await clock.advance(1);
    expect(codes(health)).toEqual([503, 503]);
    expect(JSON.parse(health.answer('livez').body).lastUpdated).toBe(goTime(clock.now() - 10_000));
    health.updated('IPv4');
    expect(codes(health)).toEqual([200, 200]);
    health.queued('IPv4');
    await clock.advance(9_999);
    expect(codes(health)).toEqual([200, 200]);
    expect(health.families().IPv4.pendingSince).toBe(clock.now() - 9_999);
    await clock.advance(1);
    expect(codes(health)).toEqual([503, 503]);
  });

  test('a report that repeats a time from before says the same change', async () => {
    const { clock, health } = proxier();
    const queuedAt = clock.now();
    const level = { family: 'IPv4', updatedAt: queuedAt - 1, queuedAt } as const;
    health.reported({ ...level, seq: 1 });
    clock.leap(3_600_000);
    await clock.advance(5_000);
    health.reported({ ...level, seq: 2 });
    expect(codes(health)).toEqual([200, 200]);
    await clock.advance(5_000);
    expect(codes(health)).toEqual([503, 503]);
  });
});

test('what cannot be meant is an exception, for it would be ignored, and the node healthy for ever (§5.4)', () => {
  const { health } = proxier();
  expect(() => health.queued('ipv4' as never)).toThrow('the family is "ipv4": it must be "IPv4" or "IPv6"');
  expect(() => health.updated('IPv6', new Date(0) as never)).toThrow(/it must be milliseconds/);
  const report = { family: 'v6' as never, queuedAt: null, updatedAt: null, seq: 1 };
  expect(() => health.reported(report)).toThrow(/the family is "v6"/);
  for (const timeoutMs of ['60s' as never, 0, -1, Number.NaN])
    expect(() => createProxierHealth({ timeoutMs })).toThrow(/timeoutMs is/);
});
