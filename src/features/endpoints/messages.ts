/** What people may say to workloads outside the cluster. */
import * as v from 'valibot';
import type { KindMessages } from '../../actors/admission.ts';

export const workloadMessages: KindMessages = {
  public: {
    'workload.recheck': v.pipe(
      v.object({ type: v.literal('workload.recheck') }),
      v.description('probes now'),
    ),
  },
};
