/**
 * `orrery chart`: shows a machine's statechart as text, as a Mermaid diagram or as JSON. Needs no running
 * Orrery.
 */
import { meantBy, notAllowed } from '../base/config-values.ts';
import type { Kinds } from '../replica/charts.ts';
import { kindNamed } from './kind-argument.ts';
import { loadedKinds } from './own/loaded-kinds.ts';
import { addFeatureFlag, formatOption, type Program } from './parser.ts';
import type { Terminal } from './terminal.ts';

const examples = `
Examples:
  orrery chart pod                          states, events, guards and deadlines as a tree
  orrery chart pod --format mermaid         for a Markdown page
In the tree, * marks the state that is entered first and = a parallel region.`;

export function chartCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('chart')
    .summary('draw a statechart')
    .description('Draw the statechart of a machine.')
    .argument('<machine>', 'its name, for example pod')
    .addOption(formatOption('--format <format>', ['text', 'mermaid', 'json']))
    .addOption(formatOption('-o, --output <format>', ['text', 'mermaid', 'json']).hideHelp())
    .addHelpText('after', examples);
  addFeatureFlag(command).action(async (name: string, options: { format: string; output: string }) => {
    const format = options.format === 'text' ? options.output : options.format;
    const kinds = await loadedKinds({ ...options }, terminal);
    for (const doubt of kinds.doubts) terminal.err(`warning: ${doubt}\n`);
    terminal.out(`${(await draw(name, format, kinds)).join('\n')}\n`);
  });
}

async function draw(name: string, format: string, { charts, messages }: Kinds): Promise<readonly string[]> {
  const [{ chartOf, machineView }, { chartText }, { chartMermaid }] = await Promise.all([
    import('../inspector/charts/machine-view.ts'),
    import('../inspector/charts/chart-text.ts'),
    import('../inspector/charts/chart-mermaid.ts'),
  ]);
  const chart = kindNamed(name, charts);
  if (!chart) {
    const names = charts.map((one) => one.name);
    throw notAllowed('MACHINE', name, `${names.join(', ')}${meantBy(name, names)}`);
  }
  if (format === 'json') return [JSON.stringify(machineView(chart, messages.get(chart.name)), null, 2)];
  if (format === 'mermaid') return chartMermaid(chartOf(chart));
  return [`${chart.name}, version ${chart.version}: ${chart.description}`, '', ...chartText(chartOf(chart))];
}
