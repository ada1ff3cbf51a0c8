/** What a workload is told about itself. */

import type { Address } from '../../base/address.ts';
import type { ConditionStatus } from '../../base/digests.ts';

/** A workload outside the cluster that is to be probed, or with which something is wrong. */
export interface WorkloadFacts {
  readonly uid: string;
  readonly deleting: boolean;
  /** Addresses to probe. */
  readonly addresses: readonly Address[];
  /** The annotation that asks for the probe, as it is written; null: the workload's status is not ours. */
  readonly probe: string | null;
  /** Its condition `Ready`; null if there is none. */
  readonly ready: ConditionStatus | null;
  /** What people should hear of, each a sentence. */
  readonly problems: readonly string[];
}
