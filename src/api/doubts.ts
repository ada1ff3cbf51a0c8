/**
 * What is probably a mistake in a kind, though it can run: each in one sentence that says what to change.
 * `orrery chart` prints them, and a replica logs them when it starts.
 *
 * Looks at the chart as it is written. Absent: what only a walk over its situations finds
 * (`chartFindings` of orrery/testing).
 */
import type { AnyStateNode } from 'xstate';
import type { Chart } from '../machines/chart.ts';
import { undescribed } from '../machines/state-names.ts';
import { nodesOf } from './check.ts';
import type { Kind } from './kind.ts';

/** @returns empty: nothing is doubtful */
export function doubtsOf({ chart, messages, join }: Kind): readonly string[] {
  const nodes = nodesOf(chart.machine.root);
  return [
    ...nameDoubts(chart),
    ...unledTo(nodes),
    ...endless(chart, nodes),
    ...unheard(chart, nodes),
    ...(chart.description ? [] : ['it has no description: one sentence, which lists and drawings show']),
    ...undescribed(chart),
    ...(join === null ? [] : unobserved(chart, nodes)),
    ...Object.keys({ ...messages.public, ...messages.internal })
      .filter((type) => !takes(nodes, type))
      .map(
        (type) => `no state takes the message ${type}: give one an \`on\` for it, or leave the message out`,
      ),
  ];
}

const pathOf = ({ path }: AnyStateNode) => path.join('.') || 'the chart itself';

function nameDoubts({ name, machine: { id } }: Chart): readonly string[] {
  const advice = `write id: '${name}', which its drawing is headed with`;
  return id === name ? [] : [`the machine's id is ${JSON.stringify(id)}, not the kind's name: ${advice}`];
}

type Transition = { readonly target?: readonly AnyStateNode[] | undefined };

const transitionsOf = (node: AnyStateNode): readonly Transition[] => [
  ...[...node.transitions.values()].flat(),
  ...(node.always ?? []),
];

/** The topmost states that no transition leads to. */
function unledTo(nodes: readonly AnyStateNode[]): readonly string[] {
  const entered = new Set<AnyStateNode>();
  const waiting = nodes.slice(0, 1);
  const enter = (node: AnyStateNode) => {
    if (entered.has(node)) return;
    entered.add(node);
    waiting.push(node);
    if (node.parent !== undefined) enter(node.parent);
  };
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    entered.add(node);
    // A parallel state enters all of its regions, any other one its initial state.
    const inner = node.type === 'parallel' ? Object.values(node.states) : (node.initial?.target ?? []);
    for (const next of [...inner, ...transitionsOf(node).flatMap(({ target = [] }) => target)]) enter(next);
    // Where a history state leads is known at run time only.
    if (node.type === 'history')
      for (const sibling of Object.values(node.parent?.states ?? {})) enter(sibling);
  }
  return nodes
    .filter((node) => !entered.has(node) && (node.parent === undefined || entered.has(node.parent)))
    .map((node) => `no transition leads to the state ${pathOf(node)}: make it a target, or remove it`);
}

/** The node itself, and those around it. */
function around(node: AnyStateNode): readonly AnyStateNode[] {
  return node.parent === undefined ? [node] : [node, ...around(node.parent)];
}

function endless({ machine }: Chart, nodes: readonly AnyStateNode[]): readonly string[] {
  // A deadline that an event delays: which states it bounds, only a walk finds out.
  const actions = [
    ...nodes.flatMap(({ config: { entry = [] } }) => [entry].flat()),
    ...Object.values(machine.implementations.actions),
  ];
  if (actions.some(isDelayed)) return [];
  return nodes
    .filter((node) => node.type === 'atomic' && !node.tags.includes('settled') && !isLeft(node))
    .map(
      (node) =>
        `the state ${pathOf(node)} may wait for ever: give it a deadline (\`after\`), or tags: 'settled' if it may rest there`,
    );
}

const isDelayed = (action: unknown) =>
  typeof action === 'function' && 'delay' in action && action.delay !== undefined;

/** By a deadline, or at once. */
function isLeft(node: AnyStateNode): boolean {
  const always = [node.config.always ?? []].flat() as readonly unknown[];
  const isUnguarded = always.some((one) => typeof one !== 'object' || one === null || !('guard' in one));
  return isUnguarded || around(node).some(({ config: { after } }) => Object.keys(after ?? {}).length > 0);
}

const takes = (nodes: readonly AnyStateNode[], event: string) =>
  nodes.some(({ transitions }) =>
    [...transitions.keys()].some(
      (key) => key === event || (key.endsWith('*') && event.startsWith(key.slice(0, -1))),
    ),
  );

/** Outcomes that a state asks for and then does not hear, and outcomes that no effect has. */
function unheard({ effects }: Chart, nodes: readonly AnyStateNode[]): readonly string[] {
  const outcomes = effects.flatMap(({ type }) => [`${type}.done`, `${type}.failed`]);
  const takers = nodes.filter(({ transitions }) => transitions.has('*'));
  const greedy = takers.map((node) => `${pathOf(node)} takes every event ('*'): name those that it is for`);
  const ofEffects = effects.flatMap(({ type }) => {
    const strange = nodes
      .flatMap(({ transitions }) => [...transitions.keys()])
      .filter((event) => event.startsWith(`${type}.`) && !event.includes('*') && !outcomes.includes(event));
    const isWhole = [`${type}.done`, `${type}.failed`].every((outcome) => takes(nodes, outcome));
    const deaf = nodes.filter((node) => asksFor(node, type)).filter((node) => hearsOnlySuccess(node, type));
    return [
      // An effect may send events of its own; but whoever takes those takes its outcomes, too.
      ...(isWhole ? [] : [...new Set(strange)]).map(
        (event) =>
          `nobody sends ${event}, unless the effect does itself (\`tools.emit\`): its outcomes are ${type}.done and ${type}.failed`,
      ),
      ...deaf.map(
        (node) =>
          `the state ${pathOf(node)} asks for ${type} and takes ${type}.done, but not ${type}.failed: say where a failure leads`,
      ),
    ];
  });
  return [...greedy, ...ofEffects];
}

const asksFor = (node: AnyStateNode, type: string) =>
  node.entry.some((action) => action === type || (typeof action === 'object' && action.type === type));

function hearsOnlySuccess(node: AnyStateNode, type: string): boolean {
  const listening = [...around(node), ...nodesOf(node)];
  return takes(listening, `${type}.done`) && !takes(listening, `${type}.failed`);
}

/** The world tells its actors; do they listen, and do they end? */
function unobserved({ name }: Chart, nodes: readonly AnyStateNode[]): readonly string[] {
  if (!takes(nodes, `${name}.observed`))
    return [`no state takes ${name}.observed, by which its actors learn of their objects`];
  return nodes.some(({ type }) => type === 'final')
    ? []
    : [
        "no state has type: 'final', so an actor whose object is gone stays for good: lead there from `isGone`",
      ];
}
