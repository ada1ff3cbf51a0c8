/** The program's charts by name. */
import type { Chart } from '../src/machines/chart.ts';
import { charts } from '../src/replica/charts.ts';

export const machines: Readonly<Record<string, Chart>> = Object.fromEntries(
  charts.map((chart) => [chart.name, chart]),
);
