/** Every chart of this program: those of its features, and those of a replica's own life. */
import { chartsOf } from '../actors/feature.ts';
import { messageForms } from '../actors/message-forms.ts';
import type { Chart } from '../machines/chart.ts';
import { shardChart } from '../machines/shard/shard.ts';
import { watchChart } from '../machines/watch/watch.ts';
import { featuresOf } from './features.ts';

export const charts: readonly Chart[] = [...chartsOf(featuresOf()), shardChart, watchChart];

/** What people may send, by kind. */
export const publicMessages = messageForms(featuresOf().map(({ messages }) => messages));

/** Kinds of actors that have a record. */
export const durableKinds: readonly string[] = charts
  .filter(({ durable }) => durable)
  .map(({ name }) => name);
