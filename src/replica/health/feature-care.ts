/**
 * Starts the watchdog over the code of loaded features; without loaded features there is no thread and no
 * cost.
 */
import type { Feature } from '../../actors/feature.ts';
import { type Care, createCare, noCare } from '../../actors/time/care.ts';
import { machineClock } from '../../actors/time/machine-clock.ts';
import { systemClock } from '../../base/clock.ts';
import type { Log } from '../../base/log-port.ts';
import { startStallWatch } from './stall-watch.ts';

export interface FeatureCare {
  readonly care: Care;
  stop(): Promise<void>;
}

export function startFeatureCare(features: readonly Feature[], log: Log, replica: string): FeatureCare {
  const isLoaded = features.some(({ edition }) => edition !== undefined);
  if (!isLoaded) return { care: noCare, stop: async () => {} };
  const marks = startStallWatch(systemClock, { replica });
  return { care: createCare({ clock: machineClock, log, marks }), stop: marks.stop };
}
