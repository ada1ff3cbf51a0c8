/** What a workload is told about itself. */

import type { Address } from '../../base/address.ts';
import type { ConditionStatus } from '../../base/digests.ts';

/** A workload outside the cluster that has to be probed, or has a problem. */
export interface WorkloadFacts {
  readonly uid: string;
  readonly deleting: boolean;
  readonly addresses: readonly Address[];
  /** The annotation with the probe, as written; null: the workload's status is not ours. */
  readonly probe: string | null;
  /** Its condition `Ready`; null if it has none. */
  readonly ready: ConditionStatus | null;
  /** Problems for people, a sentence each. */
  readonly problems: readonly string[];
}
