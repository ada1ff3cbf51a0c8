/** The HTTP paths of the cluster's time line: its steps, and the sequence of one step. */
import { dayMs } from '../../actors/control/stored-pages.ts';
import type { Clock } from '../../base/clock.ts';
import { notAllowed } from '../../base/config-values.ts';
import { OrreryError } from '../../base/errors.ts';
import { type ActorId, parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { StoredPort } from '../../base/views.ts';
import { type EventsRequest, overlapMs, readEvents } from '../events/event-pages.ts';
import { type NewestPage, readNewest } from '../events/newest-events.ts';
import { readSequence } from '../events/sequence.ts';
import { jsonAnswer, problem } from './http-answer.ts';
import type { Route } from './http-route.ts';

export interface EventParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly stored: Pick<StoredPort, 'history'>;
}

type Query = Readonly<Record<string, string>>;

const parameters = ['from', 'to', 'kind', 'id', 'text', 'limit', 'after', 'order'];

/** @param kinds the known kinds of actors */
export function eventRoutes({ stored, clock }: EventParts, kinds: readonly string[]): Route[] {
  return [
    {
      path: '/api/v1/events',
      about:
        'what happened in the cluster in the last 24 hours, oldest first; `from` and `to` (ms, or a time with zone), `kind`, `id`, `text`, `limit`, `after` (`next` of the answer before). With `order=newest` the newest first; for earlier ones pass `earlier` as `to`',
      open: false,
      answer: async ({ query }) => {
        const request = readRequest(query, kinds);
        if (query.order !== 'newest') return jsonAnswer(200, await readEvents(stored, request));
        return jsonAnswer(200, await readBackwards(stored, request, clock.now()));
      },
    },
    {
      path: '/api/v1/events/sequence',
      about:
        'the steps that caused one step, and those it caused in other actors; `id`, `rev`, and `at`: the last step of that revision taken by then',
      open: false,
      answer: async ({ query }) => {
        const [id, rev] = [readId(query), readCount(query, 'rev', 1)];
        // Pages of earlier releases say 0 where they do not know it.
        const by = readTime(query, 'at', 0) || null;
        const sequence = await readSequence(stored, { id, rev, by }, clock.now());
        if (sequence) return jsonAnswer(200, sequence);
        return problem(404, 'NOT_FOUND', `there is no step ${rev} of ${id} in the last 24 hours`);
      },
    },
  ];
}

/** What is kept, and a little of the future: the replicas' clocks differ. */
function readBackwards(
  stored: EventParts['stored'],
  { since, until, ...asked }: EventsRequest & { readonly since: number },
  now: number,
): Promise<NewestPage> {
  const kept = { since: Math.max(since, now - dayMs), until: Math.min(until, now + overlapMs) };
  return readNewest(stored, { ...asked, ...kept });
}

/** @throws OrreryError USAGE with the parameter, its value and what is allowed */
function readRequest(query: Query, kinds: readonly string[]) {
  const unknown = Object.keys(query).find((name) => !parameters.includes(name));
  if (unknown !== undefined) throw wrong(query, unknown, `the parameters ${parameters.join(', ')}`);
  const { kind, id, after, text = '', order = 'oldest' } = query;
  if (!['oldest', 'newest'].includes(order)) throw wrong(query, 'order', 'oldest or newest');
  if (order === 'newest' && after !== undefined)
    throw new OrreryError('USAGE', 'after: goes with order=oldest; pass earlier as to');
  if (kind !== undefined && !kinds.includes(kind)) throw wrong(query, 'kind', kinds.join(', '));
  const limit = query.limit === undefined ? limits.pageMessages : readCount(query, 'limit', 1);
  const [since, until] = [readTime(query, 'from', 0), readTime(query, 'to', Number.MAX_SAFE_INTEGER)];
  if (since > until) throw new OrreryError('USAGE', 'to: it lies before from');
  return {
    since,
    until,
    text,
    limit: Math.min(limit, limits.pageMessages),
    ...(id === undefined ? {} : { id: readId(query) }),
    ...(kind === undefined ? {} : { kind }),
    ...(after === undefined ? {} : { after: readCount(query, 'after', 0) }),
  };
}

function readId(query: Query): ActorId {
  try {
    parseActorId(query.id as ActorId);
    return query.id as ActorId;
  } catch {
    throw wrong(query, 'id', 'KIND/NAMESPACE/NAME, such as pod/shop/web-0');
  }
}

function readCount(query: Query, name: string, least: number): number {
  const value = Number(query[name]);
  if (Number.isSafeInteger(value) && value >= least && query[name] !== '') return value;
  throw wrong(query, name, `a whole number from ${least} on`);
}

/** Without a zone, a time would mean something else in each place. */
function readTime(query: Query, name: string, instead: number): number {
  const text = query[name];
  if (text === undefined || text === '') return instead;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const at = /(Z|[+-]\d{2}:?\d{2})$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(at)) return at;
  throw wrong(query, name, 'milliseconds since the epoch, or a time such as 2026-11-22T03:10:00Z');
}

const wrong = (query: Query, name: string, allowed: string) => notAllowed(name, query[name] ?? null, allowed);
