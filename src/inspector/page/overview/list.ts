/** All actors of a kind: filtered, sorted, what is wrong on top; thousands of rows. */
import { systemClock } from '../../../base/clock.ts';
import type { ActorId } from '../../../base/ids.ts';
import type { LiveRow } from '../../../base/views.ts';
import { eventName } from '../../../base/words.ts';
import { toneOf } from '../chart/drawings.ts';
import { isDialogOpen, isTyping } from '../keys.ts';
import { go } from '../navigation.ts';
import { actorHref, type ListFilter, listHref, noFilter } from '../page-address.ts';
import type { Store } from '../page-store.ts';
import { ActorLink, Age, Mark, Owner, StateName, Until, useTick } from '../pieces.ts';
import { html, useEffect, useRef, useState, type VNode } from '../vendor.ts';
import { VirtualList } from './virtual-list.ts';

/** The order is made anew so often while rows change: rows that jump about cannot be read. */
const orderMs = 1_000;
const rowHeight = 40;

interface Order {
  readonly at: number;
  readonly filter: ListFilter;
  readonly size: number;
  readonly ids: readonly ActorId[];
  /** How many actors of the kind there are, and how they are spread. */
  readonly total: number;
  readonly states: Tally;
  readonly namespaces: Tally;
}

type Tally = ReadonlyMap<string, number>;

export function ListPage({ store, kind, filter }: { store: Store; kind: string; filter: ListFilter }): VNode {
  useTick(1_000);
  const made = useRef<Order | null>(null);
  const [selected, setSelected] = useState(-1);
  const at = systemClock.monotonic();
  const known = made.current;
  const isOld =
    !known || known.filter !== filter || known.size !== store.rows.size || at - known.at > orderMs;
  if (isOld) made.current = order(store, kind, filter, at);
  const ids = (made.current?.ids ?? []).filter((id) => store.rows.has(id));
  const now = store.now();
  const change = (part: Partial<ListFilter>) => go(listHref(kind, { ...filter, ...part }), { replace: true });
  useListKeys(ids, selected, setSelected);
  useEffect(() => setSelected(-1), [filter]);
  // The keyboard goes along with the choice: Enter then opens the link that is focused, and a screen reader
  // says which it is.
  useEffect(() => {
    if (selected < 0) return;
    document.querySelector<HTMLElement>('.list-row.selected a')?.focus({ preventScroll: true });
  }, [selected]);
  return html`<div class="list-page">
    <h1>${kind} <span class="quiet">${countText(ids.length, made.current?.total ?? 0)}</span></h1>
    <${Filters} order=${made.current} owners=${ownersOf(store)} filter=${filter} change=${change} />
    <div class="list-head" aria-hidden="true"><span></span><span>Name</span><span>State</span><span>For</span><span>Next deadline</span><span>Last event</span><span>Owner</span></div>
    <${VirtualList} items=${ids} rowHeight=${rowHeight} keyOf=${(id: ActorId) => id} label="${kind} actors" selected=${selected}
      row=${(id: ActorId, index: number) => html`<${Row} row=${store.rows.get(id)} store=${store} now=${now} isSelected=${index === selected} />`} />
    ${
      ids.length === 0 &&
      html`<p class="empty">${store.isWhole ? 'no actor is so' : 'reading …'}
      ${filter !== noFilter && html` <button onClick=${() => go(listHref(kind), { replace: true })}>show all</button>`}</p>`
    }
    ${store.cluster && store.cluster.missingShards.length > 0 && html`<p class="note">${store.cluster.missingShards.length} shards do not answer: their actors are shown as they were.</p>`}
  </div>`;
}

function countText(shown: number, all: number): string {
  return shown === all
    ? all.toLocaleString('en')
    : `${shown.toLocaleString('en')} of ${all.toLocaleString('en')}`;
}

function rowsOf(store: Store, kind: string): LiveRow[] {
  const rows: LiveRow[] = [];
  for (const row of store.rows.values()) if (row.id.startsWith(`${kind}/`)) rows.push(row);
  return rows;
}

function ownersOf({ cluster }: Store): ReadonlyMap<number, string | null> {
  return new Map(cluster?.shards.map(({ shard, owner }) => [shard, owner]));
}

function order(store: Store, kind: string, filter: ListFilter, at: number): Order {
  const rows = rowsOf(store, kind);
  return {
    at,
    filter,
    size: store.rows.size,
    ids: ordered(rows, ownersOf(store), kind, filter),
    total: rows.length,
    states: tally(rows.map(({ state }) => state)),
    namespaces: tally(rows.map(({ id }) => id.split('/', 2)[1] ?? '')),
  };
}

function ordered(
  rows: readonly LiveRow[],
  owners: ReadonlyMap<number, string | null>,
  kind: string,
  filter: ListFilter,
): ActorId[] {
  const text = filter.q.toLowerCase();
  const ranked = rows
    .filter((row) => isWanted(row, filter, text, owners))
    .map((row) => ({ row, rank: rankOf(kind, row) }));
  const byName = (a: LiveRow, b: LiveRow) => (a.id < b.id ? -1 : 1);
  if (filter.sort === 'name') ranked.sort((a, b) => byName(a.row, b.row));
  else if (filter.sort === 'since') ranked.sort((a, b) => a.row.since - b.row.since || byName(a.row, b.row));
  else ranked.sort((a, b) => a.rank - b.rank || a.row.since - b.row.since || byName(a.row, b.row));
  return ranked.map(({ row }) => row.id);
}

function rankOf(kind: string, row: LiveRow): number {
  if (row.parked) return 0;
  return { wrong: 1, working: 2, settled: 3 }[toneOf(kind, row.state)];
}

function isWanted(
  row: LiveRow,
  filter: ListFilter,
  text: string,
  owners: ReadonlyMap<number, string | null>,
): boolean {
  if (filter.state !== '' && row.state !== filter.state) return false;
  if (filter.ns !== '' && row.id.split('/', 2)[1] !== filter.ns) return false;
  if (filter.owner !== '' && (owners.get(row.shard) ?? row.owner) !== filter.owner) return false;
  if (text === '') return true;
  return [row.id, row.event ?? '', row.lastError ?? ''].some((one) => one.toLowerCase().includes(text));
}

function Filters({
  order,
  owners,
  filter,
  change,
}: {
  order: Order | null;
  owners: ReadonlyMap<number, string | null>;
  filter: ListFilter;
  change: (part: Partial<ListFilter>) => void;
}): VNode {
  const { states, namespaces } = order ?? { states: tally([]), namespaces: tally([]) };
  const replicas = tally([...owners.values()].flatMap((owner) => owner ?? []));
  const choice = (
    name: 'ns' | 'state' | 'owner',
    label: string,
    counts: ReadonlyMap<string, number>,
  ) => html`<label>${label}
    <select value=${filter[name]} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => change({ [name]: currentTarget.value })}>
      <option value="">all</option>
      ${[...new Set([...counts.keys(), ...(filter[name] === '' ? [] : [filter[name]])])].map((value) => html`<option value=${value} selected=${filter[name] === value}>${value === '_' ? 'none' : value}${name === 'owner' ? '' : ` (${counts.get(value) ?? 0})`}</option>`)}
    </select></label>`;
  return html`<form class="filters" onSubmit=${(event: Event) => event.preventDefault()}>
    <label class="text">Filter <input type="search" value=${filter.q} placeholder="name, event, error"
      onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => change({ q: currentTarget.value })} /></label>
    ${choice('ns', 'Namespace', namespaces)} ${choice('state', 'State', states)} ${choice('owner', 'Owner', replicas)}
    <label>Sort <select value=${filter.sort} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => change({ sort: currentTarget.value as ListFilter['sort'] })}>
      <option value="wrong">what is wrong first</option><option value="since">longest in its state</option><option value="name">by name</option>
    </select></label>
  </form>`;
}

function tally(values: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function Row({
  row,
  store,
  now,
  isSelected,
}: {
  row: LiveRow | undefined;
  store: Store;
  now: number;
  isSelected: boolean;
}): VNode | null {
  if (!row) return null;
  // A shard that moved is known before its actors step again; some actors are in none of the numbered ones.
  const owner = store.cluster?.shards.find(({ shard }) => shard === row.shard)?.owner ?? row.owner;
  const replicas = store.cluster?.replicas.map(({ replica }) => replica) ?? [];
  return html`<div class="list-row ${isSelected ? 'selected' : ''}" onClick=${() => go(actorHref(row.id))}>
    <${Mark} tone=${toneOf(row.id.split('/', 1)[0] ?? '', row.state, row.parked)} parked=${row.parked} />
    <${ActorLink} id=${row.id} short=${true} />
    <${StateName} state=${row.state} />
    <${Age} since=${row.since} now=${now} />
    <span class="next">${row.nextTimer && html`${row.nextTimer.event} <${Until} at=${row.nextTimer.at} now=${now} />`}</span>
    <span class="event">${row.lastError ? html`<span class="error">${row.lastError}</span>` : eventName(row.event ?? '')}</span>
    <${Owner} owner=${owner} replicas=${replicas} />
  </div>`;
}

function useListKeys(ids: readonly ActorId[], selected: number, setSelected: (index: number) => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || isDialogOpen()) return;
      if (event.key === 'ArrowDown') setSelected(Math.min(selected + 1, ids.length - 1));
      else if (event.key === 'ArrowUp') setSelected(Math.max(selected - 1, 0));
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}
