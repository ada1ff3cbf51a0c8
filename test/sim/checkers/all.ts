/** All checkers of the simulation. */
import type { SimWorld } from '../sim-world.ts';
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

/** What the engine promises, whatever features live in it. */
export const engineCheckers: readonly CheckerKind[] = [
  savedEffects,
  fences,
  names,
  silence,
  deadlines,
  repetition,
  bounds,
  neighbours,
  feed,
];

/** In the world of routes. */
export const checkers: readonly CheckerKind<SimWorld>[] = [
  ...engineCheckers,
  worldOrder,
  neverEarly,
  askedTwice,
  withdrawn,
  settled,
];
