/** The actor's facts and details as texts: facts of one or more lines, and details. Pure. */

import type { ActorView, Fact } from '../../../base/views.ts';
import { factText, shownSecond } from '../../../base/words.ts';

export type Standing = Omit<ActorView, 'recent'>;

export interface FactLine {
  readonly label: string;
  /** A time is shown relative to now. */
  readonly text: string;
  /** For a time: date and zone. */
  readonly when?: string;
}

export function factLines({ facts = [] }: Partial<Pick<Standing, 'facts'>>, now: number): FactLine[] {
  return facts.map((fact) => ({ label: fact.label, text: factText(fact, now), ...whenOf(fact) }));
}

function whenOf({ value, unit }: Fact): Pick<FactLine, 'when'> {
  return unit === 'time' && typeof value === 'number' ? { when: shownSecond(value, false) } : {};
}

/** Lines for a closer look; a line that belongs to the one above is indented. */
export function detailsText({ notes = [] }: Pick<Standing, 'notes'>): string {
  return notes.join('\n');
}

/**
 * The mark of an actor that has no row.
 *
 * @param isWhole whether it is gone, rather than unknown until the rows have come
 */
export function absence(isWhole: boolean): { readonly title?: string; readonly children?: string } {
  return isWhole ? { title: 'not there now', children: '×' } : {};
}
