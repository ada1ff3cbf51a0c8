/** Labels of facts as columns: each once, in the order in which charts tell them. Pure. */
import type { Fact } from './views.ts';

/** What some actors tell and others do not comes where those tell it: after the label before it. */
export function factLabels(all: Iterable<readonly Fact[]>): readonly string[] {
  const labels: string[] = [];
  for (const facts of all) {
    let place = 0;
    for (const { label } of facts) {
      const known = labels.indexOf(label);
      if (known === -1) labels.splice(place, 0, label);
      place = known === -1 ? place + 1 : known + 1;
    }
  }
  return labels;
}
