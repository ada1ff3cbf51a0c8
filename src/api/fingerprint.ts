/**
 * The fingerprint by which two replicas compare a feature: a hash of its form (charts, effects, messages,
 * watches), without its functions, whose text may differ between files that do the same.
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
