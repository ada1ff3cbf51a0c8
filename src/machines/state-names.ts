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

/** @returns every state of the chart with those around it: `gated.proving.asking` */
export function statePaths({ machine }: { readonly machine: AnyStateMachine }): readonly string[] {
  const below = (states: AnyStateMachine['root']['states'], around: string): string[] =>
    Object.entries(states).flatMap(([name, node]) => [
      `${around}${name}`,
      ...below(node.states, `${around}${name}.`),
    ]);
  return below(machine.root.states, '');
}
