/** The list of a kind's actors, each with its reason and facts: filtered, sorted, trouble on top. */
import { systemClock } from '../../../base/clock.ts';
import type { ActorId } from '../../../base/ids.ts';
import type { Fact, LiveRow } from '../../../base/views.ts';
import { factText, shownSecond } from '../../../base/words.ts';
import { useKeys } from '../keys.ts';
import { go } from '../navigation.ts';
import { actorHref, type ListFilter, listHref, noFilter } from '../page-address.ts';
import type { Store } from '../page-store.ts';
import { ActorLink, Age, FilterForm, isNarrow, Mark, Owner, StateName, Until, useTick } from '../pieces.ts';
import { html, useLayoutEffect, useRef, useState, type VNode } from '../vendor.ts';
import { factOf, type Ordered, orderedRows, tally } from './list-order.ts';
import { VirtualList } from './virtual-list.ts';

/** The order is recomputed at this interval while rows change, because rows that jump cannot be read. */
const orderMs = 1_000;
const rowHeight = { wide: 54, narrow: 84 } as const;
/** More columns cannot be read side by side. */
const factColumnsMax = 4;

interface Order extends Ordered {
  readonly at: number;
  readonly filter: ListFilter;
  readonly size: number;
}

export function ListPage({ store, kind, filter }: { store: Store; kind: string; filter: ListFilter }): VNode {
  useTick(1_000);
  const made = useRef<Order | null>(null);
  const [chosen, choose] = useState<Chosen>(nobody);
  const at = systemClock.monotonic();
  const known = made.current;
  const isOld =
    !known || known.filter !== filter || known.size !== store.rows.size || at - known.at > orderMs;
  if (isOld) made.current = order(store, kind, filter, at);
  const ids = (made.current?.ids ?? []).filter((id) => store.rows.has(id));
  const shownLabels = (made.current?.labels ?? []).slice(0, factColumnsMax);
  const now = store.now();
  const change = (part: Partial<ListFilter>) => go(listHref(kind, { ...filter, ...part }), { replace: true });
  const selected = chosen.id === null ? -1 : ids.indexOf(chosen.id);
  useListKeys(ids, selected, chosen, choose);
  // The focus follows the selection, so that a screen reader announces it.
  useLayoutEffect(() => {
    if (chosen.id !== null)
      document.querySelector<HTMLElement>('.list-row.selected a')?.focus({ preventScroll: true });
  }, [chosen]);
  return html`<div class="list-page">
    <h1>${kind} <span class="quiet">${countText(ids.length, made.current?.total ?? 0)}</span></h1>
    <${Filters} order=${made.current} owners=${ownersOf(store)} filter=${filter} change=${change} />
    <${Head} labels=${shownLabels} counts=${made.current?.counts ?? noCounts} filter=${filter} change=${change} />
    <${VirtualList} items=${ids} rowHeight=${isNarrow(600) ? rowHeight.narrow : rowHeight.wide} keyOf=${(id: ActorId) => id} label="${kind} actors" selected=${selected}
      row=${(id: ActorId, index: number) => html`<${Row} row=${store.rows.get(id)} labels=${shownLabels} store=${store} now=${now} isSelected=${index === selected} />`} />
    ${
      ids.length === 0 &&
      html`<p class="empty">${store.isWhole ? 'no actor matches' : 'reading …'}
      ${filter !== noFilter && html` <button onClick=${() => go(listHref(kind), { replace: true })}>show all</button>`}</p>`
    }
    ${store.cluster && store.cluster.missingShards.length > 0 && html`<p class="note">${store.cluster.missingShards.length} shards do not answer: their actors are shown as they were.</p>`}
  </div>`;
}

/** The number of fact columns depends on the kind; the style sheet sets their widths. */
function columnStyle(labels: readonly string[]): Readonly<Record<string, string>> {
  return { '--facts': labels.length === 0 ? '' : `repeat(${labels.length}, minmax(64px, 0.7fr))` };
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
  const asked = { filter, owners: ownersOf(store), now: store.now() };
  return { at, filter, size: store.rows.size, ...orderedRows(rowsOf(store, kind), asked) };
}

const noCounts: ReadonlySet<string> = new Set();

/** The headings; sortable ones are buttons, and a second press reverses the order. */
function Head({
  labels,
  counts,
  filter,
  change,
}: {
  labels: readonly string[];
  counts: ReadonlySet<string>;
  filter: ListFilter;
  change: (part: Partial<ListFilter>) => void;
}): VNode {
  const column = (text: string, sort: string, isFact = false) => {
    const [first, second] = counts.has(sort) ? [`-${sort}`, sort] : [sort, `-${sort}`];
    const isDown = filter.sort === `-${sort}`;
    const arrow = filter.sort === sort ? '▲' : isDown ? '▼' : '';
    return html`<button class=${isFact ? 'fact' : ''} aria-pressed=${arrow !== ''} title="Sort by this; click again to reverse"
      onClick=${() => change({ sort: filter.sort === first ? second : first })}>${text}<span aria-hidden="true"> ${arrow}</span></button>`;
  };
  return html`<div class="list-head" role="group" aria-label="Columns" style=${columnStyle(labels)}><span></span>
    ${column('Name', 'name')}<span>State</span>${column('Since', 'since')}${labels.map((label) => column(label, label, true))}<span>Next</span><span>Owner</span></div>`;
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
  const first = html`<label class="text">Filter <input type="search" value=${filter.q} placeholder="name, reason, error"
      onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => change({ q: currentTarget.value })} /></label>`;
  const set = (['ns', 'state', 'health', 'owner', 'ending'] as const).filter((name) => filter[name] !== '');
  return html`<${FilterForm} first=${first} set=${set.length}>
    <label>Health <select value=${filter.health} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => change({ health: currentTarget.value })}>
      <option value="">all</option>${['wrong', 'waiting', 'ok'].map((one) => html`<option value=${one} selected=${filter.health === one}>${one}</option>`)}
    </select></label>
    ${(order?.hasEnds || filter.ending !== '') && html`<${Ending} filter=${filter} change=${change} />`}
    ${choice('ns', 'Namespace', namespaces)} ${choice('state', 'State', states)} ${choice('owner', 'Owner', replicas)}
    <label>Sort <select value=${filter.sort} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => change({ sort: currentTarget.value })}>
      <option value="wrong">what is wrong first</option><option value="since">longest so</option><option value="name">by name</option>
      ${(order?.labels ?? []).map((label) => {
        const isCount = order?.counts.has(label);
        const value = isCount ? `-${label}` : label;
        return html`<option value=${value} selected=${filter.sort === value}>${isCount ? `most first: ${label}` : `by ${label}`}</option>`;
      })}
    </select></label>
  <//>`;
}

const endings = { '': 'any time', '7d': '7 days, or not ok', '30d': '30 days, or not ok' } as const;

/** Actors that end soon, together with those in trouble. */
function Ending({
  filter,
  change,
}: {
  filter: ListFilter;
  change: (part: Partial<ListFilter>) => void;
}): VNode {
  const all = { ...endings, ...(filter.ending in endings ? {} : { [filter.ending]: filter.ending }) };
  return html`<label>Ends within <select value=${filter.ending} onChange=${({ currentTarget }: { currentTarget: HTMLSelectElement }) => change({ ending: currentTarget.value })}>
    ${Object.entries(all).map(([value, text]) => html`<option value=${value} selected=${filter.ending === value}>${text}</option>`)}
  </select></label>`;
}

function Row({
  row,
  labels,
  store,
  now,
  isSelected,
}: {
  row: LiveRow | undefined;
  labels: readonly string[];
  store: Store;
  now: number;
  isSelected: boolean;
}): VNode | null {
  if (!row) return null;
  // A shard's move is known before its actors step again; some actors are in none of the numbered shards.
  const owner = store.cluster?.shards.find(({ shard }) => shard === row.shard)?.owner ?? row.owner;
  const replicas = store.cluster?.replicas.map(({ replica }) => replica) ?? [];
  const { health, since, text, next } = row.reason;
  return html`<div class="list-row ${isSelected ? 'selected' : ''}" style=${columnStyle(labels)} onClick=${() => go(actorHref(row.id))}>
    <${Mark} health=${health} parked=${row.parked} />
    <${ActorLink} id=${row.id} short=${true} />
    <${StateName} state=${row.state} />
    <${Age} since=${since} now=${now} />
    ${labels.map((label) => html`<${FactCell} key=${label} fact=${factOf(row, label)} now=${now} />`)}
    <span class="next" title=${next?.text}>${next && html`<${Until} at=${next.at} now=${now} /> ${next.text}`}</span>
    <${Owner} owner=${owner} replicas=${replicas} />
    <span class="reason ${health}" title=${text}>${text}</span>
  </div>`;
}

/** The first line of a fact; all lines are in the tooltip. */
function FactCell({ fact, now }: { fact: Fact | undefined; now: number }): VNode {
  if (fact === undefined) return html`<span class="fact quiet">–</span>`;
  const text = factText(fact, now);
  const isTime = fact.unit === 'time' && typeof fact.value === 'number';
  return html`<span class="fact" title=${isTime ? shownSecond(Number(fact.value), false) : text}>${text.split('\n').length > 1 ? `${text.split('\n', 1)[0]} …` : text}</span>`;
}

/** The actor chosen with the keyboard stays chosen wherever its row moves. */
interface Chosen {
  readonly id: ActorId | null;
  /** Where its row was then: the keys continue there if it has left the list. */
  readonly place: number;
}
const nobody: Chosen = { id: null, place: 0 };

function isFocusElsewhere(): boolean {
  const { activeElement } = document;
  return (
    activeElement !== null && activeElement !== document.body && activeElement.closest('.virtual') === null
  );
}

function useListKeys(
  ids: readonly ActorId[],
  selected: number,
  { id, place }: Chosen,
  choose: (chosen: Chosen) => void,
): void {
  const take = (index: number) => {
    const next = Math.max(0, Math.min(index, ids.length - 1));
    choose({ id: ids[next] ?? null, place: next });
  };
  const isShown = selected >= 0;
  useKeys((key) => {
    if (key === 'ArrowDown') take(isShown ? selected + 1 : place);
    else if (key === 'ArrowUp') take((isShown ? selected : place) - 1);
    else if (key === 'Enter' && isShown && id !== null && !isFocusElsewhere()) go(actorHref(id));
    else return false;
    return true;
  });
}
