/**
 * Actors as rows of a table: trouble first, the reason last; for a single kind, its facts are columns. Pure
 * except for colours.
 */
import { notAllowed } from '../../base/config-values.ts';
import type { ActorSummary, Fact } from '../../base/views.ts';
import { age, factLabels, factText, until } from '../../base/words.ts';
import type { Terminal } from '../terminal.ts';
import { table } from '../text-table.ts';
import { endOf } from './selection.ts';

export interface TableOptions {
  readonly isWide: boolean;
  /** Whether facts are columns: all actors are of one kind. */
  readonly hasFacts: boolean;
  readonly now: number;
  readonly style: Terminal['style'];
}

interface Column {
  readonly heading: string;
  readonly text: (actor: ActorSummary) => string;
  /** The value to sort by; default: the text. */
  readonly value?: (actor: ActorSummary) => number | string;
}

/** A longer reason is cut, except in wide tables. That of a trouble often ends with what to do about it. */
const reasonChars = { ok: 110, waiting: 110, wrong: 300 } as const;
const severity = { wrong: 0, waiting: 1, ok: 2 } as const;
const colours = { wrong: 'red', waiting: 'yellow', ok: 'green' } as const;

/** @returns the table's text with its heading; empty if there are no rows */
export function tableOf(actors: readonly ActorSummary[], options: TableOptions): string {
  if (actors.length === 0) return '';
  const columns = columnsOf(actors, options);
  return table(
    columns.map(({ heading }) => heading),
    actors.map((actor) => columns.map(({ text }) => text(actor))),
  );
}

/**
 * @param by a column's heading in any case; with a leading `-`, largest first; absent: trouble first, longest
 *   trouble first, then what ends soonest
 * @throws OrreryError USAGE with the columns
 */
export function sorted(
  actors: readonly ActorSummary[],
  by: string | undefined,
  options: TableOptions,
): readonly ActorSummary[] {
  const byName = (a: ActorSummary, b: ActorSummary) => (a.id < b.id ? -1 : 1);
  if (by === undefined) {
    return [...actors].sort(
      (a, b) => rank(a) - rank(b) || trouble(a) - trouble(b) || endOf(a) - endOf(b) || byName(a, b),
    );
  }
  const isLargestFirst = by.startsWith('-');
  const columns = columnsOf(actors, { ...options, isWide: true });
  const wanted = by.slice(Number(isLargestFirst)).toUpperCase().replaceAll('-', ' ');
  const column = columns.find(({ heading }) => heading === wanted);
  if (column === undefined) {
    const allowed = columns.map(({ heading }) => heading.toLowerCase().replaceAll(' ', '-')).join(', ');
    throw notAllowed('--sort-by', by, allowed);
  }
  const { value = column.text } = column;
  return [...actors].sort((a, b) => compare(value(a), value(b), isLargestFirst) || byName(a, b));
}

const rank = ({ parked, reason }: ActorSummary) => (parked ? -1 : severity[reason.health]);
/** Only trouble is sorted by its age; healthy actors by their end, if they have one, and by name. */
const trouble = ({ reason }: ActorSummary) => (reason.health === 'ok' ? 0 : reason.since);

function compare(a: number | string, b: number | string, isLargestFirst: boolean): number {
  // Actors without a value come last in both directions.
  if (a === '-' || b === '-') return Number(a === '-') - Number(b === '-');
  const order =
    typeof a === 'number' && typeof b === 'number'
      ? a - b
      : String(a).localeCompare(String(b), 'en', { numeric: true });
  return isLargestFirst ? -order : order;
}

function columnsOf(actors: readonly ActorSummary[], options: TableOptions): readonly Column[] {
  const { now, style, isWide, hasFacts } = options;
  const health: Column = {
    heading: 'HEALTH',
    text: ({ reason }) => style(colours[reason.health], reason.health),
    value: ({ reason }) => severity[reason.health],
  };
  const since: Column = {
    heading: 'SINCE',
    text: ({ reason }) => age(now - reason.since),
    value: ({ reason }) => reason.since,
  };
  const reason: Column = { heading: 'REASON', text: (actor) => reasonText(actor, isWide) };
  return [
    { heading: 'ID', text: ({ id }) => id },
    health,
    {
      heading: 'STATE',
      text: ({ state, parked }) => (parked && state !== 'parked' ? `parked: ${state}` : state),
    },
    since,
    ...(hasFacts ? factColumns(actors, options) : []),
    ...(isWide ? wideColumns(now) : []),
    reason,
  ];
}

function wideColumns(now: number): readonly Column[] {
  return [
    { heading: 'OWNER', text: ({ owner }) => owner },
    { heading: 'SHARD', text: ({ shard }) => String(shard), value: ({ shard }) => shard },
    { heading: 'REVISION', text: ({ rev }) => String(rev), value: ({ rev }) => rev },
    {
      heading: 'NEXT',
      text: ({ reason: { next } }) => (next === null ? '-' : `${next.text} ${until(next.at, now)}`),
      value: ({ reason: { next } }) => next?.at ?? '-',
    },
    { heading: 'LAST ERROR', text: ({ lastError }) => (lastError === null ? '-' : oneLine(lastError)) },
  ];
}

/** In the chart's order; an actor without the fact shows a dash. */
function factColumns(actors: readonly ActorSummary[], { now, isWide }: TableOptions): readonly Column[] {
  const find = ({ facts = [] }: ActorSummary, label: string): Fact | undefined =>
    facts.find((fact) => fact.label === label);
  return factLabels(actors.map(({ facts = [] }) => facts)).map((label) => ({
    heading: label.toUpperCase(),
    text: (actor) => {
      const fact = find(actor, label);
      return fact === undefined ? '-' : cellText(factText(fact, now), isWide);
    },
    value: (actor) => find(actor, label)?.value ?? '-',
  }));
}

/** Of several lines the first, and the number of others; all of them in wide tables. */
function cellText(text: string, isWide: boolean): string {
  const [first = '', ...more] = text.split('\n').map(oneLine);
  if (isWide || more.length === 0) return [first, ...more].join('; ');
  return `${first} (+${more.length})`;
}

function reasonText({ reason }: ActorSummary, isWide: boolean): string {
  const text = oneLine(reason.text);
  const most = reasonChars[reason.health];
  return isWide || text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ');
