/** What the chart tells of the actor, as texts: facts of one or more lines, and details. Pure. */
import type { ActorView } from '../../../base/views.ts';
import { factText } from '../../../base/words.ts';

export type Standing = Omit<ActorView, 'recent'>;

export interface FactLine {
  readonly label: string;
  readonly text: string;
  /** A time is told by how long ago it was; which it was, shows under the pointer. */
  readonly title?: string;
}

export function factLines({ facts = [] }: Partial<Pick<Standing, 'facts'>>, now: number): FactLine[] {
  return facts.map((fact) => {
    const { label, value, unit } = fact;
    const isTime = unit === 'time' && typeof value === 'number';
    const title = isTime ? { title: new Date(value).toISOString() } : {};
    return { label, text: factText(fact, now), ...title };
  });
}

/** Lines for those who look closer; they begin with blanks where they belong to the line above. */
export function detailsText({ notes = [] }: Pick<Standing, 'notes'>): string {
  return notes.join('\n');
}
