/**
 * Which part of the page is shown, as it stands behind the `#` of the address: every view can be linked to.
 * Pure.
 *
 * `#/` overview, `#/dead-letters`, `#/pod?state=proving&q=web` a list, `#/pod/shop/web-0?at=12` one actor (at
 * revision 12).
 */
import type { ActorId } from '../../base/ids.ts';

export interface ListFilter {
  /** In the id, the event taken last, or the last error. */
  readonly q: string;
  readonly ns: string;
  readonly state: string;
  readonly owner: string;
  readonly sort: 'wrong' | 'since' | 'name';
}

export type Route =
  | { readonly view: 'overview' }
  | { readonly view: 'dead' }
  | { readonly view: 'list'; readonly kind: string; readonly filter: ListFilter }
  | { readonly view: 'actor'; readonly id: ActorId; readonly at: number | null };

/** No kind is called so. */
const deadWord = 'dead-letters';
export const noFilter: ListFilter = { q: '', ns: '', state: '', owner: '', sort: 'wrong' };

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
  if (namespace === undefined || name.length === 0)
    return { view: 'list', kind, filter: readFilter(parameters) };
  const at = parameters.get('at');
  const id = `${kind}/${namespace}/${name.join('/')}` as ActorId;
  return { view: 'actor', id, at: at !== null && /^\d+$/.test(at) ? Number(at) : null };
}

export function hrefOf(route: Route): string {
  if (route.view === 'overview') return '#/';
  if (route.view === 'dead') return `#/${deadWord}`;
  if (route.view === 'actor') {
    const path = route.id.split('/').map(encodeURIComponent).join('/');
    return `#/${path}${route.at === null ? '' : `?at=${route.at}`}`;
  }
  const given = Object.entries(route.filter).filter(
    ([name, value]) => value !== noFilter[name as keyof ListFilter],
  );
  const query = new URLSearchParams(given).toString();
  return `#/${encodeURIComponent(route.kind)}${query === '' ? '' : `?${query}`}`;
}

export const deadHref = hrefOf({ view: 'dead' });

export function actorHref(id: ActorId, at: number | null = null): string {
  return hrefOf({ view: 'actor', id, at });
}

export function listHref(kind: string, filter: Partial<ListFilter> = {}): string {
  return hrefOf({ view: 'list', kind, filter: { ...noFilter, ...filter } });
}

function readFilter(parameters: URLSearchParams): ListFilter {
  const text = (name: string) => parameters.get(name) ?? '';
  const sort = text('sort');
  return {
    q: text('q'),
    ns: text('ns'),
    state: text('state'),
    owner: text('owner'),
    sort: sort === 'since' || sort === 'name' ? sort : 'wrong',
  };
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
