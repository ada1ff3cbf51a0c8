/** Every chart of this program: those of its features, and those of a replica's own life. */
import { chartsOf, type Feature } from '../actors/feature.ts';
import { messageForms } from '../actors/message-forms.ts';
import type { Chart } from '../machines/chart.ts';
import { shardChart } from '../machines/shard/shard.ts';
import { watchChart } from '../machines/watch/watch.ts';
import { featuresOf } from './features.ts';

/** What is known of the kinds of some features. */
export interface Kinds {
  /** Including the charts of a replica's own life. */
  readonly charts: readonly Chart[];
  /** What people may send, by kind. */
  readonly messages: ReturnType<typeof messageForms>;
  /** What is probably a mistake in loaded features. */
  readonly doubts: readonly string[];
}

export function kindsOf(features: readonly Feature[]): Kinds {
  return {
    charts: [...chartsOf(features), shardChart, watchChart],
    messages: messageForms(features.flatMap(({ kinds }) => kinds)),
    doubts: features.flatMap(({ doubts = [] }) => doubts),
  };
}

/** Of the built-in features. */
export const ownKinds = kindsOf(featuresOf());
export const { charts } = ownKinds;

/** Kinds of actors that have a record. */
export const durableKinds: readonly string[] = charts
  .filter(({ durable }) => durable)
  .map(({ name }) => name);
