/** The page of a machine: its diagram and a table of its states. */

import { chartMermaid } from '../../src/inspector/charts/chart-mermaid.ts';
import {
  type ChartState,
  type ChartTransition,
  labelOf,
  statesOf,
} from '../../src/inspector/charts/chart-tree.ts';
import { chartOf } from '../../src/inspector/charts/machine-view.ts';
import type { Chart } from '../../src/machines/chart.ts';
import { markdownTable } from './tables.ts';

const generated = '<!-- Generated from src/machines/ by `npm run docs`; do not edit. -->';

export function machineIndex(charts: readonly Chart[]): string {
  const rows = charts.map(({ name, version, description, durable }) => [
    `[${name}](${name}.md)`,
    String(version),
    description,
    durable ? 'an actor for each object, with a record' : "part of a replica's own life",
  ]);
  return `# Machines

${generated}

Everything that Orrery decides is decided by one of these statecharts. \`orrery chart <machine>\` prints them too.

${markdownTable(['machine', 'version', 'what it is for', 'lives as'], rows)}`;
}

export function machinePage(chart: Chart): string {
  const root = chartOf(chart);
  const states = [...statesOf(root)].filter(({ path }) => path !== '');
  return `# ${chart.name}

${generated}

${chart.description} Version ${chart.version}.

\`\`\`mermaid
${chartMermaid(root).join('\n')}
\`\`\`

## States

${markdownTable(['state', 'meaning', 'on entry', 'leads to'], states.map(stateRow))}
## In any state

${anywhere(root)}`;
}

function stateRow(state: ChartState): string[] {
  const { path, type, tags, description, entry, transitions } = state;
  const words = [...(type === 'atomic' || type === 'compound' ? [] : [type]), ...tags].join(', ');
  return [
    `\`${path}\`${words === '' ? '' : `<br>${words}`}`,
    description,
    entry.join(', '),
    transitions.map(transitionText).join('<br>'),
  ];
}

function anywhere({ transitions }: ChartState): string {
  if (transitions.length === 0) return 'Nothing more.\n';
  return `${transitions.map((transition) => `- ${transitionText(transition)}`).join('\n')}\n`;
}

function transitionText(transition: ChartTransition): string {
  const { targets, actions } = transition;
  const doing = actions.length === 0 ? '' : ` (${actions.join(', ')})`;
  return `${labelOf(transition)} → ${targets === null ? 'stays' : targets.join(' + ')}${doing}`;
}
