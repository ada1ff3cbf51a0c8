/** What an actor knows, from its record: a chart may leave out of that what follows from the rest. */
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import { charts } from '../../../src/replica/charts.ts';

const byName = new Map(charts.map((chart) => [chart.name, chart]));

export function wholeContext({ machine, snapshot }: ActorRecord): unknown {
  const form = byName.get(machine)?.form;
  return form === undefined ? snapshot.context : form.whole(snapshot.context);
}
