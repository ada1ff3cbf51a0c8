/**
 * Which route a request is for: the paths of `routes.ts`, segment by segment. Pure.
 *
 * `:name` takes one segment, `*` at the end whatever follows; a segment that is written out counts before
 * either. A slash at the end changes nothing.
 */
import type { Route } from './http-route.ts';

export interface Found {
  /** What is there, by method; GET answers HEAD, too. */
  readonly ways: ReadonlyMap<string, Route>;
  readonly params: Readonly<Record<string, string>>;
}

interface Entry {
  readonly segments: readonly string[];
  readonly ways: ReadonlyMap<string, Route>;
}

/** Names of actors may be long. */
const paramCharsMax = 512;

/** @returns finds what is at a path; throws URIError for one that is no text when it is unescaped */
export function routeTable(routes: readonly Route[]): (path: string) => Found | undefined {
  const entries: Entry[] = Array.from(
    Map.groupBy(routes, ({ path }) => path),
    ([path, ways]) => ({
      segments: segmentsOf(path),
      ways: new Map(ways.map((route) => [route.method ?? 'GET', route])),
    }),
  ).sort((a, b) => places(a) - places(b));
  return (path) => {
    const asked = segmentsOf(path);
    for (const { segments, ways } of entries) {
      const params = match(segments, asked);
      if (params) return { ways, params };
    }
    return undefined;
  };
}

const segmentsOf = (path: string): readonly string[] => path.replace(/\/$/, '').split('/');

/** How many segments stand for others. */
const places = ({ segments }: Entry) => segments.filter((one) => one === '*' || one.startsWith(':')).length;

function match(segments: readonly string[], asked: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  const isOpen = segments.at(-1) === '*';
  if (isOpen ? asked.length < segments.length : asked.length !== segments.length) return undefined;
  for (const [index, segment] of segments.entries()) {
    const isRest = isOpen && index === segments.length - 1;
    const value = isRest ? asked.slice(index).join('/') : (asked[index] ?? '');
    if (isRest) params['*'] = decodeURIComponent(value);
    else if (!segment.startsWith(':')) {
      if (segment !== value) return undefined;
    } else {
      const text = decodeURIComponent(value);
      if (text === '' || text.length > paramCharsMax) return undefined;
      params[segment.slice(1)] = text;
    }
  }
  return params;
}
