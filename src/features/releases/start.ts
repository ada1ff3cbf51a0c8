/**
 * The feature `releases` in one replica: its bundle, its desk, and its work on the cluster while it leads.
 */
import { runs } from '../../actors/effect-runner.ts';
import type { FeatureParts, FeatureRun, StartFeature } from '../../actors/feature.ts';
import { writeKubeEvent } from '../../kube/effects/kube-event.ts';
import {
  releaseReport,
  releaseResourceWrite,
  releaseRound,
  releaseStatusWrite,
} from '../../machines/release/release-effects.ts';
import type { BundleFacts } from '../../machines/release/release-table.ts';
import type { Bundle } from './bundle.ts';
import { writeReleaseResource } from './effects/release-resource.ts';
import { writeReleaseStatus } from './effects/release-status.ts';
import { ReleaseDesk } from './release-desk.ts';
import { type ReleaseWork, startReleaseWork } from './release-work.ts';

export interface ReleasesSettings {
  /** What this replica applies while it leads; null: nothing. */
  readonly bundle: Bundle | null;
  /** Of the program. */
  readonly release: string;
}

export function startReleases({ bundle, release }: ReleasesSettings): StartFeature {
  return (parts): FeatureRun => {
    const { kube, clock, log, metrics, replica } = parts;
    const reign = createReign(parts, bundle, (object, fence) =>
      desk.tell({ type: 'drift.seen', fence, object }),
    );
    const desk: ReleaseDesk = new ReleaseDesk({
      ...parts,
      release,
      bundle: bundle === null ? null : factsOf(bundle),
      onReign: reign.begin,
    });
    return {
      effects: [
        runs(releaseStatusWrite, writeReleaseStatus(parts)),
        // A request of an earlier leadership, perhaps of another release, no longer applies.
        runs(releaseRound, async ({ fence, round, kinds, release }, { signal }) => {
          const work = reign.workUnder(fence);
          if (work?.release !== release)
            return { type: 'round.failed', fence, round, message: 'this leadership is over' };
          const summary = await work.round(kinds, signal);
          if (summary.toGo !== undefined)
            return { type: 'round.progressed', fence, round, toGo: summary.toGo };
          const outcome = summary.failed === 0 ? 'done' : 'failed';
          metrics.count('orrery_release_rounds_total', { outcome });
          return { type: 'round.finished', fence, round, summary };
        }),
        runs(
          releaseResourceWrite,
          writeReleaseResource({ kube, clock, log }, writeKubeEvent(kube, { replica })),
        ),
        // The chart decides how often there is a line.
        runs(releaseReport, async ({ bundle, level, message, error, type }) => {
          log[level]({ release: `release/_/${bundle}`, error }, message);
          return { type: 'effect.settled', effect: type, error: null };
        }),
      ],
      holdings: () => [desk.holding()],
      blocked: () => desk.blocked,
      remarks: () => desk.remarks,
      gauges: () => [
        { name: 'orrery_release_leader', value: desk.fence === 0 ? 0 : 1 },
        { name: 'orrery_release_candidacy', labels: { state: desk.candidacy }, value: 1 },
        { name: 'orrery_release_blocked', value: desk.blocked === null ? 0 : 1 },
      ],
      prepare: () => desk.start(),
      started: () => desk.started(),
      stop: () => desk.stop(),
    };
  };
}

/** The work of the present leadership, if this replica has it. */
function createReign(
  parts: FeatureParts,
  bundle: Bundle | null,
  onDrift: (object: string, fence: number) => void,
) {
  let work: { readonly fence: number; readonly work: ReleaseWork } | null = null;
  return {
    workUnder: (fence: number) => (work?.fence === fence ? work.work : null),
    begin(fence: number) {
      work?.work.stop();
      work = null;
      if (fence === 0 || bundle === null) return;
      parts.log.info(
        { release: bundle.release, bundle: bundle.name, fence },
        'this replica leads the release',
      );
      const drifted = (object: string) => onDrift(object, fence);
      work = { fence, work: startReleaseWork({ ...parts, bundle, onDrift: drifted }) };
    },
  };
}

function factsOf({ name, release, minServing, minReconciler, kinds, objects }: Bundle): BundleFacts {
  return { name, release, minServing, minReconciler, kinds, objects: objects.length };
}
