/**
 * What two replicas compare to know whether they have the same feature: its form (charts, effects, messages,
 * watches), not its functions, which differ from file to file though they do the same.
 */
import { createHash } from 'node:crypto';
import type { FeatureOptions } from './feature-options.ts';
import type { Watch } from './watch.ts';

export function fingerprintOf({ name, kinds }: FeatureOptions, watches: readonly Watch[]): string {
  const form = {
    name,
    kinds: kinds.map(({ chart, messages }) => ({
      name: chart.name,
      version: chart.version,
      machine: chart.machine.config,
      effects: chart.effects.map(({ type }) => type),
      createdBy: chart.createdBy,
      messages: [Object.keys(messages.public), Object.keys(messages.internal)],
    })),
    watches: watches.map(({ resource, labelSelector }) => ({ resource, labelSelector })),
  };
  return createHash('sha256').update(JSON.stringify(form)).digest('hex').slice(0, 16);
}
