/** All checkers of the simulation. */

import type { CheckerKind } from '../../../packages/testing/checkers/checker.ts';
import '../route-sightings.ts';
import { engineCheckersOf } from '../../../packages/testing/checkers/engine-checkers.ts';
import { nothingStarves } from '../../../packages/testing/checkers/nothing-starves.ts';
import { owners } from '../../../packages/testing/checkers/owners.ts';
import { charts } from '../../../src/replica/charts.ts';
import type { SimWorld } from '../sim-world.ts';
import { askedTwice } from './asked-twice.ts';
import { neverEarly } from './never-early.ts';
import { restMs, settled } from './settled.ts';
import { watchedByAll } from './watched-by-all.ts';
import { withdrawn } from './withdrawn.ts';
import { worldOrder } from './world-order.ts';

/** The engine's promises, whatever features it runs. */
export const engineCheckers: readonly CheckerKind[] = engineCheckersOf({
  charts,
  isByMail: (type) => /^(?:route|header)\.|\.recheck$/.test(type),
  isFromPeople: (type) => type.endsWith('.recheck'),
  // Unreadable, or nothing that may come by mail (churn.ts sends it).
  isRubbish: (type) => ['', 'nonsense', 'pod.observed'].includes(type),
});

/** In the world of routes. */
export const checkers: readonly CheckerKind<SimWorld>[] = [
  ...engineCheckers,
  worldOrder,
  neverEarly,
  askedTwice,
  withdrawn,
  watchedByAll,
  owners(),
  // A Pod waits for routes, an owner, an address; liveness checks that it is released in the end.
  nothingStarves({ charts, restMs, standing: ['route.sample'], mayWait: () => true }),
  settled,
];
