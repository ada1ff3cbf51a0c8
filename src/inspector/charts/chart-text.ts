/** Writes a chart as an indented tree of words, for a terminal. Pure. */
import { type ChartState, type ChartTransition, labelOf } from './chart-tree.ts';

/**
 * One line for each state (`*` marks the initial one), followed by its actions and transitions.
 *
 * @returns lines without a trailing line feed
 */
export function chartText(chart: ChartState): string[] {
  const own = [...actionLines(chart), ...chart.transitions.map(transitionLine)];
  return [
    chart.name,
    ...own.map((line) => `  ${line}`),
    ...chart.children.flatMap((child) => stateLines(child, chart, '  ')),
  ];
}

function stateLines(state: ChartState, parent: ChartState, indent: string): string[] {
  const mark = parent.initial === state.name ? '* ' : parent.type === 'parallel' ? '= ' : '- ';
  const inner = `${indent}    `;
  return [
    `${indent}${mark}${state.name}${kindOf(state)}`,
    ...(state.description === '' ? [] : [`${inner}${state.description}`]),
    ...[...actionLines(state), ...state.transitions.map(transitionLine)].map((line) => `${inner}${line}`),
    ...state.children.flatMap((child) => stateLines(child, state, inner)),
  ];
}

function kindOf({ type, tags }: ChartState): string {
  const words = [...(type === 'atomic' || type === 'compound' ? [] : [type]), ...tags];
  return words.length === 0 ? '' : `  (${words.join(', ')})`;
}

function actionLines({ entry, exit }: ChartState): string[] {
  return [
    ...(entry.length === 0 ? [] : [`on entry: ${entry.join(', ')}`]),
    ...(exit.length === 0 ? [] : [`on exit: ${exit.join(', ')}`]),
  ];
}

function transitionLine(transition: ChartTransition): string {
  const { targets, actions } = transition;
  const doing = actions.length === 0 ? '' : `  / ${actions.join(', ')}`;
  return `${labelOf(transition)} → ${targets === null ? 'stay' : targets.join(' + ')}${doing}`;
}
