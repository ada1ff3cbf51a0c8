/**
 * The charts' drawings, loaded on demand, and what they say about a state: its parts in the chart, and its
 * health.
 */

import { systemClock } from '../../../base/clock.ts';
import type { Health } from '../../../base/views.ts';
import type { ChartLayout } from '../../charts/chart-layout.ts';
import type { ChartState } from '../../charts/chart-tree.ts';
import type { Answer } from '../answer.ts';
import { createPersistentReading } from '../persistent-reading.ts';

const layouts = new Map<string, ChartLayout | null>();
const tags = new Map<string, ReadonlyMap<string, readonly string[]>>();
const loading = new Set<string>();

/** null: there is none (yet); `onLoaded` is called when it arrives. */
export function layoutOf(machine: string, onLoaded: () => void): ChartLayout | null {
  const known = layouts.get(machine);
  if (known !== undefined) return known;
  if (!loading.has(machine) && /^[a-z]+$/.test(machine)) load(machine, onLoaded);
  return null;
}

/** Until it is answered: a replica may be starting just then. */
function load(machine: string, onLoaded: () => void): void {
  loading.add(machine);
  const onAnswer = (_: string, answer: Answer<ChartLayout>) => {
    if ('ok' in answer) {
      layouts.set(machine, answer.ok);
      tags.set(machine, new Map(statesOf(answer.ok.chart).map((state) => [state.path, state.tags])));
      onLoaded();
    } else if (answer.refused.status === 404) layouts.set(machine, null);
  };
  void createPersistentReading({ clock: systemClock, read: readLayout, onAnswer }).ask(machine);
}

async function readLayout(machine: string): Promise<Answer<ChartLayout>> {
  try {
    const answer = await fetch(`/assets/inspector/page/charts/${machine}.json`);
    if (answer.ok) return { ok: (await answer.json()) as ChartLayout };
    return { refused: { status: answer.status, reason: answer.statusText } };
  } catch {
    return { refused: { status: 0, reason: 'the replica does not answer' } };
  }
}

export function statesOf(state: ChartState): ChartState[] {
  return [state, ...state.children.flatMap(statesOf)];
}

/** `routes.sampling,endpoints.ignored` → those two and their parents; the whole chart is the empty path. */
export function activePaths(state: string): Set<string> {
  const paths = new Set(['']);
  for (const leaf of state.split(',')) {
    const words = leaf.split('.');
    for (let length = 1; length <= words.length; length++) paths.add(words.slice(0, length).join('.'));
  }
  return paths;
}

/** Kind → state → health: a cache, because each step of a time line needs it. */
const healths = new Map<string, Map<string, Health>>();

/**
 * The health of a past state, by the chart's tags only: `wrong` if somebody should look, `settled` if nothing
 * is left to do. The present health is in the reason.
 */
export function healthThen(kind: string, state: string): Health {
  const known = healths.get(kind)?.get(state);
  if (known) return known;
  const ofKind = tags.get(kind);
  if (!ofKind) return 'waiting';
  const has = (path: string, tag: string) => ofKind.get(path)?.includes(tag) ?? false;
  const regions = state.split(',').map((leaf) => [...activePaths(leaf)]);
  const isWrong = regions.flat().some((path) => has(path, 'wrong'));
  const isSettled = regions.every((paths) => paths.some((path) => has(path, 'settled')));
  const health: Health = isWrong ? 'wrong' : isSettled ? 'ok' : 'waiting';
  healths.set(kind, (healths.get(kind) ?? new Map<string, Health>()).set(state, health));
  return health;
}
