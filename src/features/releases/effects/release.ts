/** The effects of the release chart, together. */

import type { EffectRunner, EffectRunners } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Bus } from '../../../bus/bus.ts';
import type { Subjects } from '../../../bus/subjects.ts';
import type { KubePort } from '../../../kube/api/port.ts';
import type { KubeEventWrite } from '../../../machines/effects.ts';
import type { ReleaseEffect } from '../../../machines/release/release-effects.ts';
import type { ReleaseWork } from '../release-work.ts';
import { type ReportLog, releaseReport } from './release-report.ts';
import { releaseResourceWrite } from './release-resource.ts';
import { releaseRound } from './release-round.ts';
import { releaseStatusWrite } from './release-status.ts';

export interface ReleaseEffectParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly log: ReportLog;
  /** The work of the leadership with that fence, if it is this replica's present one. */
  readonly releaseWork: (fence: number) => ReleaseWork | null;
  /** Told how many objects failed in a round. */
  readonly onReleaseRound: (failed: number) => void;
}

export function releaseEffects(
  parts: ReleaseEffectParts,
  writeEvent: EffectRunner<KubeEventWrite>,
): Pick<EffectRunners, ReleaseEffect['type']> {
  return {
    'release-status.write': releaseStatusWrite(parts),
    'release.round': releaseRound(parts.releaseWork, parts.onReleaseRound),
    'release-resource.write': releaseResourceWrite(parts.kube, writeEvent),
    'release.report': releaseReport(parts.log),
  };
}
