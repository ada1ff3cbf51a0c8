/**
 * The part of the page to show, as encoded after the `#` of the address, so that every view has a link. Pure.
 *
 * `#/` overview, `#/dead-letters`, `#/events?from=03:10` the time line, `#/pod?state=proving&q=web` a list,
 * `#/pod/shop/web-0?at=12&when=1795827600000` one actor (at its revision 12 of that time) with its open
 * sections.
 */
import type { ActorId } from '../../base/ids.ts';

export interface ListFilter {
  /** In the id, the reason, the last event, or the last error. */
  readonly q: string;
  readonly ns: string;
  readonly state: string;
  readonly health: string;
  readonly owner: string;
  /** `30d`: actors that end within this time, or are not ok; empty: all. */
  readonly ending: string;
  /**
   * `wrong`: trouble first, longest first; `since`, `name`, or the label of a fact; reversed by a leading
   * `-`.
   */
  readonly sort: string;
}

/** The shown part of the cluster's time line. */
export interface EventsPlace {
  /** As typed: `03:10`, `2026-11-22T03:10Z`, `15m`; empty: the newest first. */
  readonly from: string;
  /** Empty: until now. */
  readonly to: string;
  readonly kind: string;
  readonly text: string;
  /** Times are in UTC, otherwise local. */
  readonly utc: boolean;
  /** The step whose sequence is shown, `pod/shop/web-0@12`; empty: none. */
  readonly step: string;
  /** When that step was taken, ms since the epoch; null: the last one of the revision. */
  readonly when: number | null;
}

/** The shown part of an actor's page. */
export interface ActorPlace {
  /** The shown revision; null: the present. */
  readonly at: number | null;
  /**
   * Which of the steps of that revision: the last one taken by then, ms since the epoch; null, as in the
   * addresses of earlier releases: the last one.
   */
  readonly when: number | null;
  /** Open sections that are closed by default. */
  readonly open: readonly string[];
  readonly isSending: boolean;
}

export type Route =
  | { readonly view: 'overview' }
  | { readonly view: 'dead' }
  | ({ readonly view: 'events' } & EventsPlace)
  | { readonly view: 'list'; readonly kind: string; readonly filter: ListFilter }
  | ({ readonly view: 'actor'; readonly id: ActorId } & ActorPlace);

export const noFilter: ListFilter = {
  q: '',
  ns: '',
  state: '',
  health: '',
  owner: '',
  ending: '',
  sort: 'wrong',
};

/** No kind has this name. */
const deadWord = 'dead-letters';
const eventsWord = 'events';
const noPlace: EventsPlace = { from: '', to: '', kind: '', text: '', utc: false, step: '', when: null };

export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const words = path
    .split('/')
    .filter((word) => word !== '')
    .map(decoded);
  const parameters = new URLSearchParams(query);
  const [kind, namespace, ...name] = words;
  if (kind === undefined) return { view: 'overview' };
  if (kind === deadWord && words.length === 1) return { view: 'dead' };
  if (kind === eventsWord && words.length === 1) return { view: 'events', ...readEventsPlace(parameters) };
  if (namespace === undefined || name.length === 0) {
    const filter = readFilter(parameters);
    return { view: 'list', kind, filter: namespace === undefined ? filter : { ...filter, ns: namespace } };
  }
  return {
    view: 'actor',
    id: `${kind}/${namespace}/${name.join('/')}` as ActorId,
    at: readNumber(parameters.get('at')),
    when: readNumber(parameters.get('when')),
    open: (parameters.get('open') ?? '').split(',').filter((one) => one !== ''),
    isSending: parameters.get('do') === 'send',
  };
}

export function hrefOf(route: Route): string {
  if (route.view === 'overview') return '#/';
  if (route.view === 'dead') return `#/${deadWord}`;
  if (route.view === 'events') return eventsHref(route);
  if (route.view === 'actor') {
    const path = route.id.split('/').map(encodeURIComponent).join('/');
    return `#/${path}${queryOf({
      at: String(route.at ?? ''),
      when: route.at === null ? '' : String(route.when ?? ''),
      open: route.open.join(','),
      do: route.isSending ? 'send' : '',
    })}`;
  }
  const given = Object.entries(route.filter).filter(
    ([name, value]) => value !== noFilter[name as keyof ListFilter],
  );
  return `#/${encodeURIComponent(route.kind)}${queryOf(Object.fromEntries(given))}`;
}

/** Empty values are left out. */
function queryOf(values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== '')).toString();
  return query === '' ? '' : `?${query.replaceAll('%2C', ',')}`;
}

export const deadHref = hrefOf({ view: 'dead' });

export function eventsHref(place: Partial<EventsPlace> = {}): string {
  const { from, to, kind, text, utc, step, when } = { ...noPlace, ...place };
  const chosen = step === '' ? {} : { step, when: String(when ?? '') };
  return `#/${eventsWord}${queryOf({ from, to, kind, text, utc: utc ? '1' : '', ...chosen })}`;
}

function readEventsPlace(parameters: URLSearchParams): EventsPlace {
  const text = (name: string) => parameters.get(name) ?? '';
  return {
    from: text('from'),
    to: text('to'),
    kind: text('kind'),
    text: text('text'),
    utc: text('utc') === '1',
    step: text('step'),
    when: readNumber(parameters.get('when')),
  };
}

export function actorHref(id: ActorId, at: number | null = null, when: number | null = null): string {
  return hrefOf({ view: 'actor', id, at, when, open: [], isSending: false });
}

export function listHref(kind: string, filter: Partial<ListFilter> = {}): string {
  return hrefOf({ view: 'list', kind, filter: { ...noFilter, ...filter } });
}

function readFilter(parameters: URLSearchParams): ListFilter {
  const text = (name: string) => parameters.get(name) ?? '';
  return {
    q: text('q'),
    ns: text('ns'),
    state: text('state'),
    health: text('health'),
    owner: text('owner'),
    ending: text('ending'),
    sort: text('sort') || 'wrong',
  };
}

function readNumber(text: string | null): number | null {
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
