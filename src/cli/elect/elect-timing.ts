/** The durations of `orrery elect`: read from its flags, and judged beside those of the Election. Pure. */
import { notAllowed, readAs, wholeNumber } from '../../base/config-values.ts';
import { type ElectionTiming, retrySlack } from '../../machines/election/lease-record.ts';

export interface TimingFlags {
  readonly leaseDuration?: string;
  readonly renewDeadline?: string;
  readonly retryPeriod?: string;
}

/** @throws OrreryError USAGE */
export function readTiming(flags: TimingFlags): Partial<ElectionTiming> {
  const seconds = wholeNumber(1, 86_400);
  const read = (name: string, text: string | undefined, field: keyof ElectionTiming) =>
    text === undefined ? {} : { [field]: readAs(seconds, `--${name}`, text) * 1_000 };
  return {
    ...read('lease-duration', flags.leaseDuration, 'leaseMs'),
    ...read('renew-deadline', flags.renewDeadline, 'renewDeadlineMs'),
    ...read('retry-period', flags.retryPeriod, 'retryMs'),
  };
}

/**
 * The Election's durations with those of the flags in their place.
 *
 * @throws OrreryError USAGE with the flag that contradicts the others
 */
export function timingWith(flags: TimingFlags, ofElection: ElectionTiming): ElectionTiming {
  const timing = { ...ofElection, ...readTiming(flags) };
  const { leaseMs, renewDeadlineMs, retryMs } = timing;
  const { leaseDuration, renewDeadline, retryPeriod } = flags;
  if (leaseMs <= renewDeadlineMs) {
    if (leaseDuration !== undefined)
      throw wrong(
        'lease-duration',
        leaseDuration,
        `more than the renew deadline of ${renewDeadlineMs / 1_000} seconds`,
      );
    if (renewDeadline !== undefined)
      throw wrong(
        'renew-deadline',
        renewDeadline,
        `less than the lease duration of ${leaseMs / 1_000} seconds`,
      );
  }
  if (renewDeadlineMs <= retryMs * retrySlack) {
    const least = `more than ${retrySlack} × the retry period of ${retryMs / 1_000} seconds`;
    if (renewDeadline !== undefined) throw wrong('renew-deadline', renewDeadline, least);
    const most = `less than the renew deadline of ${renewDeadlineMs / 1_000} seconds, divided by ${retrySlack}`;
    if (retryPeriod !== undefined) throw wrong('retry-period', retryPeriod, most);
  }
  return timing;
}

const wrong = (flag: string, value: string, allowed: string) => notAllowed(`--${flag}`, value, allowed);
