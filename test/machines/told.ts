/** What people are told of an actor under test: its health and the words of its chart. */
import type { Health } from '../../src/base/views.ts';
import { healthIn, type Told } from '../../src/machines/tell.ts';
import { machines } from '../chart-of.ts';

interface Driven {
  readonly state: string;
  readonly context: unknown;
  readonly now: number;
}

/** Facts by label. */
export function toldOf(kind: string, { state, context, now }: Driven, since = now) {
  const chart = machines[kind];
  if (chart?.tell === undefined) throw new Error(`the chart ${kind} tells nothing`);
  const told: Told = chart.tell({ states: state.split(','), context, at: now, since });
  const health: Health = healthIn(chart, state, context);
  const facts = Object.fromEntries((told.facts ?? []).map(({ label, value }) => [label, value]));
  return { health, text: told.text, next: told.next, since: told.since, facts };
}
