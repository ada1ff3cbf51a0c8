/** Whether a state is one that somebody should look at: the charts tag such states `wrong`. Pure. */
import type { Chart } from '../../machines/chart.ts';
import { statesOf } from './chart-tree.ts';
import { chartOf } from './machine-view.ts';

/** @returns for a kind and a state as in `ActorSummary.state` (`lost.backingOff`, or regions with commas between them): is it wrong? */
export function wrongStates(charts: readonly Chart[]): (kind: string, state: string) => boolean {
  const wrongPaths = new Map<string, ReadonlySet<string>>();
  const wrongPathsOf = (kind: string) => {
    const known = wrongPaths.get(kind);
    if (known) return known;
    const chart = charts.find(({ name }) => name === kind);
    const states = chart ? [...statesOf(chartOf(chart))] : [];
    const paths = new Set(states.filter(({ tags }) => tags.includes('wrong')).map(({ path }) => path));
    wrongPaths.set(kind, paths);
    return paths;
  };
  return (kind, state) => {
    const wrong = wrongPathsOf(kind);
    return state.split(',').some((path) => ancestry(path).some((part) => wrong.has(part)));
  };
}

/** `a.b.c` → `a`, `a.b`, `a.b.c` */
function ancestry(path: string): string[] {
  const words = path.split('.');
  return words.map((_, index) => words.slice(0, index + 1).join('.'));
}
