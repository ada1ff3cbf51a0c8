/**
 * A feature of anybody's own: the descriptor that the engine takes, made from kinds.
 *
 * Promises: it is the same descriptor as that of the features that come with the program
 * (actors/feature.ts); what is wrong with it is said when it is made, all at once, with names. Its kinds live
 * in parts of their own (actors/shards/parts.ts), so that replicas without the feature, or with another
 * version of it, leave its actors alone.
 */
import type { GenericSchema } from 'valibot';
import type { Feature, FeatureMetrics, MetricDeclaration } from '../actors/feature.ts';
import { OrreryError } from '../base/errors.ts';
import type { ActorId } from '../base/ids.ts';
import type { Log } from '../base/log-port.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import { problemsOf } from './check.ts';
import type { Tools } from './effect.ts';
import { fingerprintOf } from './fingerprint.ts';
import { watchesIn } from './join.ts';
import type { Kind } from './kind.ts';
import type { Need } from './need.ts';
import { startFeature } from './start.ts';
import { declarationOf, type Watch } from './watch.ts';

/** A saved step, as a feature is told of it. */
export interface StepTold {
  readonly id: ActorId;
  /** States as text; null: the actor began with it. */
  readonly from: string | null;
  readonly to: string;
  readonly event: PlainEvent;
  /** ms since the epoch */
  readonly at: number;
  readonly context: unknown;
}

/** A request subject, `<prefix>.rpc.feature.<feature>.<name>`: one replica with the feature answers. */
export interface RequestEndpoint<S extends GenericSchema = GenericSchema> {
  /** For people. */
  readonly about: string;
  readonly request: S;
  /** @returns plain data. What it throws goes to the one who asked */
  answer(request: unknown, tools: Omit<Tools, 'key' | 'actor' | 'emit'>): Promise<object>;
}

export interface FeatureOptions {
  /** One word of a-z, 0-9 and hyphens; different from the features that come with the program. */
  readonly name: string;
  /**
   * Semantic version. Of the versions that live replicas have, the highest owns the kinds; the others take
   * the rest, and say so in /readyz.
   */
  readonly version: string;
  readonly kinds: readonly Kind[];
  /** What it needs of Kubernetes beside what its watches and `kubernetes` effects need. */
  readonly needs?: readonly Need[];
  /** By name. */
  readonly requests?: Readonly<Record<string, RequestEndpoint>>;
  /** By name: what its effects and `onStep` count. */
  readonly metrics?: Readonly<Record<string, MetricDeclaration>>;
  /** Called after each saved step of its actors. What it throws is said in the log. */
  readonly onStep?: (step: StepTold, tools: { readonly metrics: FeatureMetrics; readonly log: Log }) => void;
}

/**
 * Makes a feature. @throws OrreryError USAGE that names everything that is wrong with it
 */
export function defineFeature(options: FeatureOptions): Feature {
  const problems = problemsOf(options);
  if (problems.length > 0)
    throw new OrreryError('USAGE', `feature ${options.name} cannot be used: ${problems.join('; ')}`);
  const { name, version, kinds, metrics = {} } = options;
  const watches = watchesOf(kinds);
  const reports = { report: (_object: unknown, _problem: string): void => {} };
  return {
    name,
    edition: { version, fingerprint: fingerprintOf(options, watches) },
    charts: kinds.map(({ chart }) => chart),
    messages: Object.fromEntries(kinds.map(({ chart, messages }) => [chart.name, messages])),
    watches: watches.map((watch) =>
      declarationOf(name, watch, (object, problem) => reports.report(object, problem)),
    ),
    rights: needsOf(options),
    metrics,
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
