/** Selects and sorts the rows of a kind's list. Pure. */
import type { ActorId, ShardName } from '../../../base/ids.ts';
import type { Fact, LiveRow } from '../../../base/views.ts';
import { factLabels } from '../../../base/words.ts';
import type { ListFilter } from '../page-address.ts';
import { severity } from '../severity.ts';

export type Tally = ReadonlyMap<string, number>;

export interface Ordered {
  readonly ids: readonly ActorId[];
  /** Number of the kind's actors, and their distribution. */
  readonly total: number;
  readonly states: Tally;
  readonly namespaces: Tally;
  /** Labels of the kind's facts, in the chart's order. */
  readonly labels: readonly string[];
  /** Those that are counts: the most come first. */
  readonly counts: ReadonlySet<string>;
  /** Whether the actors have an end, as certificates do. */
  readonly hasEnds: boolean;
}

export interface Asked {
  readonly filter: ListFilter;
  /** By shard. */
  readonly owners: ReadonlyMap<ShardName, string | null>;
  /** Ms since the epoch. */
  readonly now: number;
}

export function orderedRows(rows: readonly LiveRow[], asked: Asked): Ordered {
  const facts = rows.flatMap((row) => row.facts ?? []);
  return {
    ids: rows
      .filter((row) => isWanted(row, asked))
      .sort(comparison(asked.filter.sort))
      .map(({ id }) => id),
    total: rows.length,
    states: tally(rows.map(({ state }) => state)),
    namespaces: tally(rows.map(({ id }) => id.split('/', 2)[1] ?? '')),
    labels: factLabels(rows.map((row) => row.facts ?? [])),
    counts: new Set(facts.filter(isCount).map(({ label }) => label)),
    hasEnds: facts.some(({ ends }) => ends === true),
  };
}

export function tally(values: readonly string[]): Tally {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const factOf = ({ facts }: LiveRow, label: string): Fact | undefined =>
  facts?.find((fact) => fact.label === label);

const isCount = ({ value, unit }: Fact): boolean => typeof value === 'number' && unit !== 'time';

type Comparison = (a: LiveRow, b: LiveRow) => number;

const byName: Comparison = (a, b) => (a.id < b.id ? -1 : 1);
const byTrouble: Comparison = (a, b) => a.reason.since - b.reason.since || byName(a, b);
/** Healthy actors are sorted by their end, if they have one, and by name. */
const byNeed: Comparison = (a, b) =>
  rankOf(a) - rankOf(b) || (a.reason.health === 'ok' ? endOf(a) - endOf(b) || byName(a, b) : byTrouble(a, b));

const plain: Readonly<Record<string, Comparison>> = { wrong: byNeed, since: byTrouble, name: byName };

/** @param sort as in the address: `wrong`, `since`, `name`, or a fact; reversed by a leading `-` */
function comparison(sort: string): Comparison {
  const direction = sort.startsWith('-') ? -1 : 1;
  const name = direction === 1 ? sort : sort.slice(1);
  const known = plain[name];
  if (known !== undefined) return (a, b) => direction * known(a, b);
  return (a, b) => compareFacts(factOf(a, name), factOf(b, name), direction) || byName(a, b);
}

const rankOf = ({ parked, reason }: LiveRow) => (parked ? -1 : severity[reason.health]);

function endOf({ facts = [] }: LiveRow): number {
  const end = facts.find(({ ends }) => ends === true)?.value;
  return typeof end === 'number' ? end : Number.MAX_SAFE_INTEGER;
}

/** Actors without the fact come last in both directions. */
function compareFacts(a: Fact | undefined, b: Fact | undefined, direction: 1 | -1): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (typeof a.value === 'number' && typeof b.value === 'number') return direction * (a.value - b.value);
  return direction * String(a.value).localeCompare(String(b.value), 'en', { numeric: true });
}

function isWanted(row: LiveRow, { filter, owners, now }: Asked): boolean {
  if (filter.health !== '' && row.reason.health !== filter.health) return false;
  if (filter.state !== '' && row.state !== filter.state) return false;
  if (filter.ns !== '' && row.id.split('/', 2)[1] !== filter.ns) return false;
  if (filter.owner !== '' && (owners.get(row.shard) ?? row.owner) !== filter.owner) return false;
  if (!isDue(row, filter.ending, now)) return false;
  const text = filter.q.toLowerCase();
  if (text === '') return true;
  return [row.id, row.reason.text, row.event ?? '', row.lastError ?? ''].some((one) =>
    one.toLowerCase().includes(text),
  );
}

const spans: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };

/** Whether it ends within the time, or is not ok; an invalid time keeps everything. */
function isDue(row: LiveRow, ending: string, now: number): boolean {
  const [, count, unit = ''] = /^(\d{1,5})([hd])$/.exec(ending) ?? [];
  if (count === undefined || row.reason.health !== 'ok') return true;
  return endOf(row) <= now + Number(count) * (spans[unit] ?? 0);
}
