/** A machine for people and programs: its configuration without functions. Pure. */

import type { MachineView } from '../../base/views.ts';
import type { Chart } from '../../machines/chart.ts';
import { type ChartState, readChart } from './chart-tree.ts';

/** @param messages what people may send to its actors, by type */
export function machineView(
  { name, version, description, machine }: Chart,
  messages: MachineView['messages'] = {},
): MachineView {
  return { name, version, description, config: plain(machine.config), messages };
}

/** The chart of a machine, with the times of its constant delays. */
export function chartOf({ machine }: Chart): ChartState {
  return readChart(machine.config, machine.implementations.delays);
}

/** JSON drops functions in objects, but replaces them by null in lists. */
function plain(config: unknown): unknown {
  return JSON.parse(JSON.stringify(config, (_, value) => (Array.isArray(value) ? value.map(named) : value)));
}

function named(item: unknown): unknown {
  return typeof item === 'function' ? 'inline' : item;
}
