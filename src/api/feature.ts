/**
 * A feature of your own: makes the engine's descriptor from kinds.
 *
 * Promises: the descriptor is of the same type as a built-in feature's (actors/feature.ts); all problems are
 * reported together, with names, when it is made. Its kinds live in their own parts (actors/shards/homes.ts),
 * so replicas without the feature, or with another version, leave its actors alone.
 */

import { createHash } from 'node:crypto';
import type { Feature } from '../actors/feature.ts';
import type { Need } from '../actors/need.ts';
import { systemClock } from '../base/clock.ts';
import { OrreryError } from '../base/errors.ts';
import { problemsOf } from './check.ts';
import { doubtsOf } from './doubts.ts';
import type { FeatureOptions } from './feature-options.ts';
import { watchesIn } from './join.ts';
import type { Kind } from './kind.ts';
import { startFeature } from './start.ts';
import { declarationOf, type Reports, type Watch } from './watch.ts';

/** Makes a feature. @throws OrreryError USAGE with all problems */
export function defineFeature(options: FeatureOptions): Feature {
  const problems = problemsOf(options);
  if (problems.length > 0)
    throw new OrreryError('USAGE', `feature ${options.name} cannot be used: ${problems.join('; ')}`);
  const { name, version, kinds, metrics = {} } = options;
  const watches = watchesOf(kinds);
  const reports: Reports = { report: () => {}, call: (_what, work) => work(), clock: systemClock };
  return {
    name,
    edition: { version, fingerprint: fingerprintOf(options, watches) },
    kinds,
    doubts: kinds.flatMap((kind) => doubtsOf(kind).map((doubt) => `kind ${kind.chart.name}: ${doubt}`)),
    watches: watches.map((watch) =>
      declarationOf({ name, kinds: kinds.map(({ chart }) => chart.name) }, watch, reports),
    ),
    needs: needsOf(options),
    metrics,
    requests: Object.entries(options.requests ?? {}).map(([word, { about }]) => ({ name: word, about })),
    load: async () => (parts) => startFeature(options, parts, reports),
  };
}

function watchesOf(kinds: readonly Kind[]): readonly Watch[] {
  return [...new Set(kinds.flatMap(({ join }) => (join === null ? [] : watchesIn(join))))];
}

/** Each rule once. */
function needsOf({ kinds, needs = [] }: FeatureOptions): readonly Need[] {
  const all = [...kinds.flatMap(({ effects }) => effects.flatMap((effect) => effect.needs)), ...needs];
  return [...new Map(all.map((need) => [JSON.stringify(need), need])).values()];
}

/**
 * Two replicas compare a feature by it: a hash of its form (charts, effects, messages, watches), without its
 * functions, whose text may differ between files that do the same.
 */
function fingerprintOf({ name, kinds }: FeatureOptions, watches: readonly Watch[]): string {
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
