/** What the overview says of all actors: who is in trouble, who waits, how many are in which state. Pure. */
import type { ActorId } from '../../../base/ids.ts';
import type { Health, LiveRow } from '../../../base/views.ts';
import { severity } from '../severity.ts';

export interface Counted {
  readonly state: string;
  readonly health: Health;
  readonly count: number;
}

export interface Summary {
  readonly kinds: ReadonlyMap<string, readonly Counted[]>;
  /** Parked ones first, then the longest trouble; only as many as are shown. */
  readonly wrong: readonly LiveRow[];
  readonly parked: number;
  readonly wrongCount: number;
  /** The longest waits of those that are not in trouble; only as many as are shown. */
  readonly waits: readonly LiveRow[];
  readonly total: number;
}

const shownMax = 8;

export function summaryOf(rows: ReadonlyMap<ActorId, LiveRow>): Summary {
  const kinds = new Map<string, Map<string, Counted>>();
  const [wrong, waits]: [LiveRow[], LiveRow[]] = [[], []];
  let parked = 0;
  for (const row of rows.values()) {
    const kind = row.id.slice(0, row.id.indexOf('/'));
    const { state, reason } = row;
    const states = kinds.get(kind) ?? new Map<string, Counted>();
    kinds.set(kind, states);
    const key = `${reason.health} ${state}`;
    states.set(key, { state, health: reason.health, count: (states.get(key)?.count ?? 0) + 1 });
    if (row.parked) parked++;
    if (reason.health === 'wrong') wrong.push(row);
    else if (reason.health === 'waiting') waits.push(row);
  }
  const byName = [...kinds].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    kinds: new Map(byName.map(([kind, states]) => [kind, counted(states)])),
    wrong: wrong.sort(parkedFirst).slice(0, shownMax),
    parked,
    wrongCount: wrong.length,
    waits: waits.sort(longest).slice(0, shownMax),
    total: rows.size,
  };
}

const longest = (a: LiveRow, b: LiveRow) => a.reason.since - b.reason.since || (a.id < b.id ? -1 : 1);
const parkedFirst = (a: LiveRow, b: LiveRow) => Number(b.parked) - Number(a.parked) || longest(a, b);

function counted(states: ReadonlyMap<string, Counted>): Counted[] {
  return [...states.values()].sort((a, b) => severity[a.health] - severity[b.health] || b.count - a.count);
}
