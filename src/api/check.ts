/**
 * Checks whether a feature can run, and describes everything that is wrong with it, before anything starts.
 */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { getInitialSnapshot } from 'xstate';
import { meantBy, nearest } from '../base/config-values.ts';
import { asError } from '../base/errors.ts';
import { isActorKind } from '../base/ids.ts';
import type { Chart } from '../machines/chart.ts';
import type { FeatureOptions } from './feature-options.ts';
import { watchesIn } from './join.ts';
import { isRunnable, type Kind } from './kind.ts';
import type { Watch } from './watch.ts';

const semver = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

export function problemsOf({ name, version, kinds, metrics = {} }: FeatureOptions): readonly string[] {
  // JavaScript, and TypeScript that nobody has checked, get here too.
  if (!isListOfKinds(kinds)) return ['its kinds are not a list of defineKind({…})'];
  const names = kinds.map(({ chart }) => chart.name);
  return [
    ...nameProblems(name),
    ...(semver.test(version)
      ? []
      : [`its version ${JSON.stringify(version)} is not a semantic version (1.0.0)`]),
    ...(kinds.length > 0 ? [] : ['it has no kind']),
    ...twice(names).map((kind) => `the kind ${kind} is defined twice`),
    ...differing(kinds).map((type) => `two effects are called ${type}`),
    ...twiceWatched(kinds).map((kind) => `${kind} is watched by two watch(…): share one`),
    ...Object.keys(metrics).flatMap((metric) =>
      /^[a-z][a-z0-9_]*$/.test(metric)
        ? []
        : [`the metric ${JSON.stringify(metric)} is not a word of a-z, 0-9, _`],
    ),
    ...kinds.flatMap((kind) => kindProblems(kind).map((problem) => `kind ${kind.chart.name}: ${problem}`)),
  ];
}

/** A name that was forgotten would else be read as the word "undefined". */
const nameProblems = (name: unknown): readonly string[] =>
  typeof name === 'string' && isActorKind(name)
    ? []
    : [`its name ${JSON.stringify(name)} is not a word of a-z, 0-9 and hyphens`];

const isListOfKinds = (value: unknown): boolean => Array.isArray(value) && value.every(isKind);
const isKind = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'chart' in value && 'join' in value;

const twice = (names: readonly string[]) => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
];

/** Two objects under one name: it would be arbitrary which of them runs. */
function differing(kinds: readonly Kind[]): readonly string[] {
  const all = new Set(kinds.flatMap(({ chart }) => chart.effects));
  return twice([...all].map(({ type }) => type));
}

function twiceWatched(kinds: readonly Kind[]): readonly string[] {
  const all = new Set(kinds.flatMap(({ join }) => (join === null ? [] : watchesIn(join))));
  return twice([...all].map(({ resource: { apiVersion, kind } }: Watch) => `${apiVersion}/${kind}`));
}

function kindProblems({ chart, messages }: Kind): readonly string[] {
  const { name, machine, effects } = chart;
  const types = effects.map(({ type }) => type);
  const schemas = { ...messages.public, ...messages.internal };
  return [
    ...chartProblems(chart),
    ...effects.flatMap((effect) =>
      isRunnable(effect) || effect.type === 'message.send' ? [] : [`the effect ${effect.type} has no runner`],
    ),
    ...unschemed(machine, name, types, schemas).map(
      (event) => `the event ${event} has no schema in messages or internal${sentInstead(event, name, types)}`,
    ),
  ];
}

/** The problems of a chart, whoever wrote it. */
export function chartProblems(chart: Chart): readonly string[] {
  const { name, version, migrations = {} } = chart;
  const unknownWords = wordProblems(chart);
  const missing = Array.from({ length: Math.max(0, version - 1) }, (_, index) => index + 1).filter(
    (from) => migrations[from] === undefined,
  );
  return [
    ...nameProblems(name),
    ...(Number.isSafeInteger(version) && version > 0 ? [] : ['its version is not a whole number from 1']),
    ...missing.map((from) => `no migration leads on from version ${from}`),
    ...(chart.createdBy.length > 0 ? [] : ['nothing creates its actors: it has neither join nor createdBy']),
    ...unknownWords,
    // A chart with unknown words cannot begin, for that reason alone.
    ...(unknownWords.length > 0 ? [] : contextProblems(chart.machine, name)),
  ];
}

/** Every name in the chart has an implementation. */
function wordProblems({ machine, effects: declared }: Chart): readonly string[] {
  const effects = new Set(declared.map(({ type }) => type));
  const words = wordsOf(machine);
  const { actions, guards, delays } = machine.implementations;
  return [
    ...words.actions.flatMap((action) => actionProblems(action, effects, actions)),
    ...unimplemented('guard', words.guards, guards),
    ...unimplemented('delay', words.delays, delays),
    ...(words.invokes ? ['the chart invokes actors: ask for an effect instead'] : []),
  ];
}

function unimplemented(
  what: 'guard' | 'delay',
  named: readonly string[],
  implemented: Readonly<Record<string, unknown>>,
): readonly string[] {
  return named
    .filter((name) => implemented[name] === undefined)
    .map((name) => `the ${what} ${name} is not implemented${meantBy(name, Object.keys(implemented))}`);
}

interface Words {
  readonly actions: readonly unknown[];
  readonly guards: readonly string[];
  readonly delays: readonly string[];
  readonly invokes: boolean;
}

function wordsOf(machine: AnyStateMachine): Words {
  const nodes = nodesOf(machine.root);
  const transitions = nodes.flatMap((node) => [
    ...[...node.transitions.values()].flat(),
    ...(node.always ?? []),
    ...(node.initial ? [node.initial] : []),
  ]) as ReadonlyArray<{ readonly actions?: readonly unknown[]; readonly guard?: unknown }>;
  const guards = transitions.flatMap(({ guard }) => guardNames(guard));
  return {
    actions: [
      ...nodes.flatMap(({ entry, exit }) => [...entry, ...exit]),
      ...transitions.flatMap(({ actions = [] }) => actions),
    ],
    guards: [...new Set(guards)],
    delays: [
      ...new Set(
        nodes.flatMap(({ config }) => Object.keys(config.after ?? {}).filter((key) => !/^\d+$/.test(key))),
      ),
    ],
    invokes: nodes.some(({ invoke }) => invoke.length > 0),
  };
}

export function nodesOf(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap((child) => nodesOf(child as AnyStateNode))];
}

/** The guards within `and`, `or`, `not` are nested; xstate checks those itself. */
function guardNames(guard: unknown): readonly string[] {
  if (typeof guard === 'string') return [guard];
  if (typeof guard === 'object' && guard !== null && 'type' in guard && typeof guard.type === 'string')
    return [guard.type];
  return [];
}

/**
 * xstate's own actions: `assign`, `raise`, `cancel`, …; anything else would run before the step is saved.
 */
const isBuiltIn = (action: unknown): boolean => typeof action === 'function' && 'resolve' in action;

function actionProblems(
  action: unknown,
  effects: ReadonlySet<string>,
  implemented: Readonly<Record<string, unknown>>,
): readonly string[] {
  if (typeof action === 'function')
    return isBuiltIn(action)
      ? []
      : [`the action ${action.name || 'without a name'} is a function: declare an effect(…)`];
  const type = typeof action === 'string' ? action : String((action as { type?: unknown }).type);
  if (effects.has(type)) return [];
  if (implemented[type] === undefined)
    return [
      `the action ${type} is neither implemented nor an effect of the kind${meantBy(type, [...Object.keys(implemented), ...effects])}`,
    ];
  return isBuiltIn(implemented[type])
    ? []
    : [`the action ${type} is a function: declare an effect(…), and list it`];
}

/** What the author may have meant: an event that the host sends. */
function sentInstead(event: string, kind: string, effects: readonly string[]): string {
  const sent = [`${kind}.observed`, ...effects.flatMap((type) => [`${type}.done`, `${type}.failed`])];
  const last = event.slice(event.lastIndexOf('.'));
  const meant = nearest(event, sent) ?? sent.find((one) => one.endsWith(last));
  return meant === undefined ? ', so nobody can send it' : ` (${meant} would be sent)`;
}

/** Events that can never occur: neither the host nor any admitted message creates them. */
function unschemed(
  machine: AnyStateMachine,
  kind: string,
  effects: readonly string[],
  schemas: Readonly<Record<string, unknown>>,
): readonly string[] {
  const ofHost = new Set([
    `${kind}.observed`,
    'effect.settled',
    'clock.leapt',
    ...effects.flatMap((type) => [`${type}.done`, `${type}.failed`]),
  ]);
  const ofEffect = (event: string) => effects.some((type) => event.startsWith(`${type}.`));
  return machine.events.filter(
    (event) =>
      !ofHost.has(event) && !ofEffect(event) && schemas[event] === undefined && !/\*$|^xstate\./.test(event),
  );
}

function contextProblems(machine: AnyStateMachine, kind: string): readonly string[] {
  const input = { id: `${kind}/namespace/name`, namespace: 'namespace', name: 'name' };
  try {
    const { context, error } = getInitialSnapshot(machine, input) as {
      readonly context: unknown;
      readonly error?: unknown;
    };
    if (error !== undefined) throw error;
    const place = unplainIn(context);
    return place === null ? [] : [`its context is not plain data: ${place}`];
  } catch (thrown) {
    return [`its context cannot be created: ${asError(thrown).message}`];
  }
}

/**
 * Where the value is not plain data, which a record can store and return unchanged, and what is there; null:
 * it is plain.
 */
function unplainIn(value: unknown, path = 'context', above: readonly unknown[] = []): string | null {
  if (value === null || ['string', 'boolean', 'undefined'].includes(typeof value)) return null;
  if (typeof value === 'number') return Number.isFinite(value) ? null : `${path} is ${value}`;
  if (typeof value !== 'object') return `${path} is a ${typeof value}`;
  if (above.includes(value)) return `${path} holds itself`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null)
    return `${path} is a ${value.constructor.name}`;
  for (const [key, inner] of Object.entries(value)) {
    const found = unplainIn(inner, `${path}.${key}`, [...above, value]);
    if (found !== null) return found;
  }
  return null;
}
