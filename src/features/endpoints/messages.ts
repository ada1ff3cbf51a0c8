/** The messages that people may send to workloads outside the cluster. */
import * as v from 'valibot';
import type { MessageOptions } from '../../actors/kind.ts';

export const workloadMessages: MessageOptions = {
  messages: { 'workload.recheck': v.pipe(v.object({}), v.description('probes now')) },
};
