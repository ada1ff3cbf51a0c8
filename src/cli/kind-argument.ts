/** Kinds as people name them: `pod`, `pods`, `po`. Pure. */
import { meantBy, notAllowed } from '../base/config-values.ts';
import type { Chart } from '../machines/chart.ts';

export type NamedKind = Pick<Chart, 'name' | 'shortName'>;

/** @throws OrreryError USAGE */
export function readKind(word: string, kinds: readonly NamedKind[]): string {
  const found = kindNamed(word, kinds);
  if (found !== undefined) return found.name;
  const allowed = kinds
    .map(({ name, shortName }) => (shortName ? `${name} (${shortName})` : name))
    .join(', ');
  const meant = meantBy(
    word,
    kinds.flatMap(({ name }) => [name, plural(name)]),
  );
  throw notAllowed('KIND', word, `${allowed}, and the kinds of features that --feature loads${meant}`);
}

/** By its name, plural or short name, in any case. */
export function kindNamed<K extends NamedKind>(word: string, kinds: readonly K[]): K | undefined {
  const lower = word.toLowerCase();
  return kinds.find(({ name, shortName }) => [name, plural(name), shortName].includes(lower));
}

const plural = (name: string) => (name.endsWith('s') ? `${name}es` : `${name}s`);
