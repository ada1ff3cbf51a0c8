/** The engine's promises, whatever features it runs, as checkers of a simulation. */
import type { Chart } from '../../../src/machines/chart.ts';
import { bounds } from './bounds.ts';
import type { CheckerKind } from './checker.ts';
import { deadlines } from './deadlines.ts';
import { feed } from './feed.ts';
import { fences } from './fences.ts';
import { forged } from './forged.ts';
import { names } from './names.ts';
import { neighbours } from './neighbours.ts';
import { type MailEvents, repetition } from './repetition.ts';
import { savedEffects } from './saved-effects.ts';
import { silence } from './silence.ts';

export interface EngineChecking extends MailEvents {
  /** Of the features that run in the cluster. */
  readonly charts: readonly Chart[];
  /** Whether nobody can take messages of this type. */
  readonly isRubbish: (type: string) => boolean;
}

export function engineCheckersOf(checking: EngineChecking): readonly CheckerKind[] {
  return [
    savedEffects,
    fences,
    names,
    forged,
    silence,
    deadlines(checking.charts),
    repetition(checking),
    bounds,
    neighbours(checking.isRubbish),
    feed,
  ];
}
