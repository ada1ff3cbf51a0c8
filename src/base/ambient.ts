/** What nearly every part is handed: the time, chance, and where it may say something. */
import type { Clock } from './clock.ts';
import type { Log } from './log-port.ts';
import type { Random } from './random.ts';

export interface Ambient {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}
