/** All checkers of the simulation. */
import { askedTwice } from './asked-twice.ts';
import { bounds } from './bounds.ts';
import type { CheckerKind } from './checker.ts';
import { deadlines } from './deadlines.ts';
import { feed } from './feed.ts';
import { fences } from './fences.ts';
import { names } from './names.ts';
import { neighbours } from './neighbours.ts';
import { neverEarly } from './never-early.ts';
import { repetition } from './repetition.ts';
import { savedEffects } from './saved-effects.ts';
import { settled } from './settled.ts';
import { silence } from './silence.ts';
import { withdrawn } from './withdrawn.ts';
import { worldOrder } from './world-order.ts';

export const checkers: readonly CheckerKind[] = [
  savedEffects,
  fences,
  names,
  silence,
  deadlines,
  repetition,
  bounds,
  neighbours,
  worldOrder,
  feed,
  neverEarly,
  askedTwice,
  withdrawn,
  settled,
];
