/** The names of a chart's states, as people use them to select actors. Pure. */
import type { AnyStateMachine } from 'xstate';

/**
 * `proving` matches `gated.proving.asking`, as does `gated.proving`; `sampling` matches
 * `routes.sampling,endpoints.ignored`.
 */
export function isInState(state: string, wanted: string): boolean {
  const isIn = (region: string) =>
    region === wanted || region.split('.').includes(wanted) || region.startsWith(`${wanted}.`);
  return state === wanted || state.split(',').some(isIn);
}

/** What people would miss in a chart: a description of each state. In sentences. */
export function undescribed({ machine }: { readonly machine: AnyStateMachine }): readonly string[] {
  const below = ({ states }: AnyStateMachine['root']): readonly string[] =>
    Object.values(states).flatMap((node) => [
      ...(node.description ? [] : [silenceOf(node.path.join('.'))]),
      ...below(node),
    ]);
  return below(machine.root);
}

const silenceOf = (path: string) =>
  `the state ${path} has no description: one sentence, which \`orrery explain\` shows`;

/** @returns every state of the chart with those around it: `gated.proving.asking` */
export function statePaths({ machine }: { readonly machine: AnyStateMachine }): readonly string[] {
  const below = (states: AnyStateMachine['root']['states'], around: string): string[] =>
    Object.entries(states).flatMap(([name, node]) => [
      `${around}${name}`,
      ...below(node.states, `${around}${name}.`),
    ]);
  return below(machine.root.states, '');
}
