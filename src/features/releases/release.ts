/**
 * Release-gated reconciliation in one replica, composed: its bundle, its desk, and the work on the cluster while it leads.
 */

import type { Engine } from '../../actors/engine.ts';
import { startLocal } from '../../actors/host/local.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Bus } from '../../bus/bus.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { KubePort } from '../../kube/api/port.ts';
import type { BundleFacts } from '../../machines/release/release-table.ts';
import { watchChart } from '../../machines/watch/watch.ts';
import type { Metrics } from '../../replica/metrics.ts';
import { type Bundle, loadBundle } from './bundle.ts';
import { ReleaseDesk } from './release-desk.ts';
import { type ReleaseWork, startReleaseWork } from './release-work.ts';

export interface ReplicaRelease {
  readonly desk: ReleaseDesk;
  /** The release of this replica: its bundle's, else the program's. */
  readonly release: string;
  /** The work of the leadership with that fence, if it is the present one. */
  workUnder(fence: number): ReleaseWork | null;
}

export interface ReleaseParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly kube: KubePort;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'releaseLeads'>;
  readonly replica: string;
  readonly incarnation: string;
  /** Of the program. */
  readonly release: string;
  readonly bundle: Bundle | null;
  readonly engine: () => Engine;
}

/** @throws OrreryError USAGE */
export function readBundle(dir: string | null): Bundle | null {
  return dir === null ? null : loadBundle(dir);
}

export function createRelease(parts: ReleaseParts): ReplicaRelease {
  const { bundle, metrics } = parts;
  let work: { readonly fence: number; readonly work: ReleaseWork } | null = null;
  const desk: ReleaseDesk = new ReleaseDesk({
    ...parts,
    bundle: bundle === null ? null : factsOf(bundle),
    onReign: (fence) => {
      metrics.releaseLeads(fence !== 0);
      work?.work.stop();
      work = null;
      if (fence === 0 || bundle === null) return;
      parts.log.info(
        { release: bundle.release, bundle: bundle.name, fence },
        'this replica leads the release',
      );
      const onDrift = (object: string) => desk.tell({ type: 'drift.seen', fence, object });
      work = { fence, work: startReleaseWork({ ...parts, bundle, startLocal, watchChart, onDrift }) };
    },
  });
  return {
    desk,
    release: bundle?.release ?? parts.release,
    workUnder: (fence) => (work?.fence === fence ? work.work : null),
  };
}

function factsOf({ name, release, minServing, minReconciler, kinds, objects }: Bundle): BundleFacts {
  return { name, release, minServing, minReconciler, kinds, objects: objects.length };
}
