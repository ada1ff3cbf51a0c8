/** Effect `release.report`: a line in the log of the leader. How often there is one, the chart decides. */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Log } from '../../../base/log-port.ts';
import type { ReleaseReport } from '../../../machines/release/release-effects.ts';

export function logReport(log: Log): EffectRunner<ReleaseReport> {
  return async ({ bundle, level, message, error, type }) => {
    log[level]({ release: `release/_/${bundle}`, error }, message);
    return { type: 'effect.settled', effect: type, error: null };
  };
}
