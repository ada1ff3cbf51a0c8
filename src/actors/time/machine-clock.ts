/**
 * The system's clock with the time since the machine started, for whoever must count suspensions. Not for
 * browsers.
 */
import { uptime } from 'node:os';
import { type Clock, systemClock } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';

const sinceBoot = bootClock();

export const machineClock: Clock = sinceBoot === null ? systemClock : { ...systemClock, sinceBoot };

/** Elsewhere it is told in whole seconds, or follows wall time. */
function bootClock(): (() => number) | null {
  if (process.platform !== 'linux') return null;
  return attempt(() => (uptime() > 0 ? () => uptime() * 1_000 : null), null);
}
