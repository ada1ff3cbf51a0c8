/**
 * Reduces a seed that breaks a promise to the fewest kinds of fault and change, and the shortest time, with
 * which the same promise still breaks.
 *
 * Greedy: kinds are left out one by one until each remaining one is needed. Each try is a whole run, so their
 * number is bounded.
 */
import type { Outcome, SimulationOptions } from '../../test/sim/simulation.ts';

const triesMost = 80;
/** How long after the breach the run ends, ms. */
const tailMs = 500;

export interface Shrunk {
  readonly options: SimulationOptions;
  readonly outcome: Outcome;
  readonly tries: number;
}

export async function shrink(
  first: SimulationOptions,
  broken: Outcome,
  run: (options: SimulationOptions) => Promise<Outcome>,
): Promise<Shrunk> {
  let [options, outcome, tries] = [first, broken, 0];
  const attempt = async (smaller: SimulationOptions): Promise<boolean> => {
    if (tries >= triesMost) return false;
    tries++;
    const found = await run(smaller);
    if (found.breach?.promise !== broken.breach?.promise) return false;
    [options, outcome] = [smaller, found];
    return true;
  };
  const shorter = () => {
    const chaosMs = Math.min(options.chaosMs, Math.round((outcome.breach?.atMs ?? 0) + tailMs));
    return chaosMs < options.chaosMs ? attempt({ ...options, chaosMs }) : Promise.resolve(false);
  };
  await shorter();
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const kind of outcome.kinds)
      if (await attempt({ ...options, without: [...(options.without ?? []), kind] })) isSmaller = true;
  }
  await shorter();
  return { options, outcome, tries };
}
