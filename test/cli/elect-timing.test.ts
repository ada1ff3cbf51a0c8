/** The durations of `orrery elect`: a wrong one is told with its flag, its value and what is allowed. */
import { expect, test } from 'vitest';
import { type TimingFlags, timingWith } from '../../src/cli/elect/elect-timing.ts';
import { defaultTiming } from '../../src/machines/election/lease-record.ts';

test.each<[TimingFlags, string]>([
  [
    { leaseDuration: '10' },
    '--lease-duration: "10" is not allowed; allowed: more than the renew deadline of 10 seconds',
  ],
  [
    { leaseDuration: '5', renewDeadline: '5' },
    '--lease-duration: "5" is not allowed; allowed: more than the renew deadline of 5 seconds',
  ],
  [
    { renewDeadline: '15' },
    '--renew-deadline: "15" is not allowed; allowed: less than the lease duration of 15 seconds',
  ],
  [
    { renewDeadline: '2' },
    '--renew-deadline: "2" is not allowed; allowed: more than 1.2 × the retry period of 2 seconds',
  ],
  [
    { retryPeriod: '9' },
    '--retry-period: "9" is not allowed; allowed: less than the renew deadline of 10 seconds, divided by 1.2',
  ],
  [{ retryPeriod: '0' }, '--retry-period: "0" is not allowed; allowed: a whole number from 1 to 86400'],
])('%o', (flags, message) => {
  expect(() => timingWith(flags, defaultTiming)).toThrow(expect.objectContaining({ code: 'USAGE', message }));
});

test('the flags stand in the place of what the Election says', () => {
  expect(timingWith({ leaseDuration: '30' }, defaultTiming)).toEqual({ ...defaultTiming, leaseMs: 30_000 });
});
