/** Whether a state is one that somebody should look at: the charts tag such states `wrong`. Pure. */
import { machines } from '../machines/index.ts';
import { statesOf } from './chart.ts';
import { chartOf } from './machine-view.ts';

const wrongPaths = new Map<string, ReadonlySet<string>>();

/** @param state as in `ActorSummary.state`: `lost.backingOff`, or regions with commas between them */
export function isWrongState(kind: string, state: string): boolean {
  const wrong = wrongPathsOf(kind);
  return state.split(',').some((path) => ancestry(path).some((part) => wrong.has(part)));
}

function wrongPathsOf(kind: string): ReadonlySet<string> {
  const known = wrongPaths.get(kind);
  if (known) return known;
  const chart = Object.hasOwn(machines, kind) ? machines[kind] : undefined;
  const states = chart ? [...statesOf(chartOf(chart))] : [];
  const paths = new Set(states.filter(({ tags }) => tags.includes('wrong')).map(({ path }) => path));
  wrongPaths.set(kind, paths);
  return paths;
}

/** `a.b.c` → `a`, `a.b`, `a.b.c` */
function ancestry(path: string): string[] {
  const words = path.split('.');
  return words.map((_, index) => words.slice(0, index + 1).join('.'));
}
