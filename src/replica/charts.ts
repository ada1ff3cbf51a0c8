/** Every chart of this program: those of its features, and those of a replica's own life. */
import { chartsOf, type Feature } from '../actors/feature.ts';
import type { Chart } from '../machines/chart.ts';
import { shardChart } from '../machines/shard/shard.ts';
import { watchChart } from '../machines/watch/watch.ts';
import { featuresOf } from './features.ts';

export const charts: readonly Chart[] = chartsWith(featuresOf());

/** The same where other features are there. */
export function chartsWith(features: readonly Feature[]): readonly Chart[] {
  return [...chartsOf(features), shardChart, watchChart];
}

/** Kinds of actors that have a record. */
export const durableKinds: readonly string[] = charts
  .filter(({ durable }) => durable)
  .map(({ name }) => name);
