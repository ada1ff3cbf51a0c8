/**
 * `watch`: the life of one list/watch on the Kubernetes API, in the replica that mirrors the resource.
 *
 * Who sends: the runner of its two effects (`watch.page.listed`, `watch.opened`, `watch.advanced`,
 * `watch.ended`, `watch.failed`) and the mirror (`watch.relist`). The objects themselves go from the runner
 * to the mirror and never through here. What it promises:
 * - It never ends by itself, whatever the API server does; every wait has a deadline.
 * - It is `synced` from the first full list on, and stays so while it lists again: what was seen last stays
 *   visible.
 * - A watch that ended cleanly is opened again at once from the last version; 410 lists afresh;
 *   everything else waits 250 ms to 30 s, growing and with jitter, or as long as the API server asked for.
 * - The pauses start small again only after a stream that lasted: no hot loop against a server that accepts
 *   and breaks off. Absent: HTTP, objects, what is made of them.
 */

import { assign, setup } from 'xstate';
import { backOffMs } from '../../base/back-off.ts';
import type { Chart } from '../chart.ts';
import { actionsOf, effect } from '../effect.ts';

export interface WatchInput {
  /** For people: `pods`. */
  readonly resource: string;
  /** null: the whole cluster. */
  readonly namespace: string | null;
}

export interface WatchContext extends WatchInput {
  /** Number of the current effect; outcomes of older ones are ignored. */
  readonly attempt: number;
  /** Number of lists started. */
  readonly lists: number;
  /** Token of the next page; empty: the first page. */
  readonly page: string;
  /** Version to watch from; null: the resource has to be listed. */
  readonly resourceVersion: string | null;
  /** A full list has been seen. */
  readonly synced: boolean;
  /** Objects in the list, so far or when complete. */
  readonly listed: number;
  /** The digests' required content has changed: another list follows this one. */
  readonly listAgain: boolean;
  /** Failures since a stream last lasted. */
  readonly failures: number;
  /** Total failures. */
  readonly restarts: number;
  readonly lastError: string | null;
  /** Milliseconds since the epoch, like all times. */
  readonly lastErrorAt: number | null;
  /** When an event or a bookmark was last seen (to the second). */
  readonly lastEventAt: number | null;
  readonly openedAt: number | null;
  /** By then the server has to show a sign of life: an answer to a request, or the end of a stream. */
  readonly dueAt: number | null;
  /**
   * Since when that is overdue, across attempts that failed without an answer; null: it has answered since.
   */
  readonly silentSince: number | null;
  /** The requested length of the current stream. */
  readonly streamSeconds: number;
  readonly retryInMs: number;
}

/** One page of a list arrived. `page` is the token of the next one; empty: this was the last. */
export type PageListed = {
  readonly type: 'watch.page.listed';
  readonly attempt: number;
  readonly page: string;
  readonly resourceVersion: string;
  readonly objects: number;
};
/** The server has accepted the watch. */
export type WatchOpened = { readonly type: 'watch.opened'; readonly attempt: number };
/** Events or a bookmark arrived. */
export type WatchAdvanced = {
  readonly type: 'watch.advanced';
  readonly attempt: number;
  readonly resourceVersion: string;
};
/** The server ended the stream cleanly. */
export type WatchEnded = {
  readonly type: 'watch.ended';
  readonly attempt: number;
  readonly resourceVersion: string;
};
/** A page or a stream failed. `resourceVersion`: of the last event before that, null for a page. */
export type WatchFailed = {
  readonly type: 'watch.failed';
  readonly attempt: number;
  /** A code of errors.ts. */
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs: number | null;
  readonly resourceVersion: string | null;
};
/** Command: list everything again, because the digests' required content has changed. */
export type WatchRelist = { readonly type: 'watch.relist' };

export type WatchEvent = PageListed | WatchOpened | WatchAdvanced | WatchEnded | WatchFailed | WatchRelist;

/** Requests one page. Outcome: watch.page.listed | watch.failed. */
export interface WatchList {
  readonly type: 'watch.list';
  readonly attempt: number;
  readonly page: string;
}
/** Opens the stream. Reports watch.opened and watch.advanced; outcome: watch.ended | watch.failed. */
export interface WatchOpen {
  readonly type: 'watch.open';
  readonly attempt: number;
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
}
const failed = ({ attempt }: { readonly attempt: number }, message: string): WatchFailed => ({
  type: 'watch.failed',
  attempt,
  code: 'INVARIANT',
  message,
  retryAfterMs: null,
  resourceVersion: null,
});
const watchEffects = [
  effect<WatchList>('watch.list', { failure: failed }),
  effect<WatchOpen>('watch.open', { failure: failed }),
] as const;

export type WatchEffect = WatchList | WatchOpen;

type Event = WatchEvent & { readonly at: number; readonly random: number };
type Args = { readonly context: WatchContext; readonly event: Event };

/** Shortest and longest pause before another attempt, unless the server asks for more. */
const pauseMinMs = 250;
const pauseMaxMs = 30_000;
/** A server that asks for more is tried again all the same: the answer may have come from another one. */
const retryAfterMaxMs = 300_000;
/**
 * A stream that lasted this long was a success; shorter than the shortest that the API server ends by itself.
 */
const lastedMs = 10_000;
/** Streams last a little over half a minute: a dead one is noticed soon, and a new one costs little. */
const streamSecondsMin = 30;
const streamSecondsSpread = 15;
/** After this many consecutive failures that were not the network's, the version is suspect: list again. */
const suspicionFailures = 5;
/** A sign of life that is overdue for this long is missing. */
const silenceMs = 1_000;

const isCurrent = ({ context, event }: Args) => 'attempt' in event && event.attempt === context.attempt;
const lasted = ({ context, event }: Args) =>
  context.openedAt !== null && event.at - context.openedAt >= lastedMs;
const progressed = ({ context, event }: Args) =>
  event.type === 'watch.ended' && event.resourceVersion !== context.resourceVersion;

/** Whether watching on from the same version is pointless after this failure. */
function mustList({ context, event }: Args): boolean {
  if (event.type !== 'watch.failed') return false;
  if (event.code === 'KUBE_EXPIRED' || event.code.startsWith('MESSAGE_')) return true;
  const isNetwork = event.code === 'KUBE_UNREACHABLE' || event.code === 'KUBE_THROTTLED';
  return !isNetwork && context.failures + 1 >= suspicionFailures;
}

/** A refused connection is an answer; a timeout is none. */
function isSilence({ context, event }: Args): boolean {
  const isUnanswered = event.type !== 'watch.failed' || event.code === 'KUBE_UNREACHABLE';
  const wasDue =
    context.dueAt === null ? context.silentSince !== null : event.at - context.dueAt >= silenceMs;
  return isUnanswered && wasDue;
}

/** Since when the server's sign of life is overdue, milliseconds since the epoch; null: it is not. */
export function watchSilentSince({ silentSince, dueAt }: WatchContext, now: number): number | null {
  return silentSince ?? (dueAt !== null && now - dueAt >= silenceMs ? dueAt : null);
}

/** From 250 ms to a bound that doubles with each failure, or a little more than the server asked for. */
function pauseMs(failures: number, retryAfterMs: number | null, random: number): number {
  const bound = backOffMs(failures, pauseMinMs, pauseMaxMs);
  const pause = pauseMinMs + random * (bound - pauseMinMs);
  return Math.max(pause, Math.min(retryAfterMs ?? 0, retryAfterMaxMs) + random * pauseMinMs);
}

const watchMachine = setup({
  types: {
    context: {} as WatchContext,
    events: {} as Event,
    input: {} as WatchInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isCurrent,
    isLastPage: (args) =>
      isCurrent(args) && args.event.type === 'watch.page.listed' && args.event.page === '',
    isLastPageForNow: (args) =>
      isCurrent(args) &&
      args.event.type === 'watch.page.listed' &&
      args.event.page === '' &&
      args.context.listAgain,
    /** The first 410 since a stream lasted: nothing is wrong, the version was only too old. */
    isExpiredOnce: (args) =>
      isCurrent(args) &&
      args.event.type === 'watch.failed' &&
      args.event.code === 'KUBE_EXPIRED' &&
      (args.context.failures === 0 || lasted(args)),
    isUseful: (args) => isCurrent(args) && (lasted(args) || progressed(args) || args.context.failures === 0),
    hasNoVersion: ({ context }) => context.resourceVersion === null,
  },
  delays: {
    /** Longer than the call itself may take (limits.kubeListMs). */
    pagePatience: 90_000,
    /** Longer than the stream may be silent. */
    streamPatience: ({ context }) => (context.streamSeconds + 60) * 1000,
    pause: ({ context }) => context.retryInMs,
  },
  actions: {
    countAttempt: assign(({ context }) => ({ attempt: context.attempt + 1 })),
    countList: assign(({ context }) =>
      context.page === '' ? { lists: context.lists + 1, listed: 0, listAgain: false } : {},
    ),
    /** The chart starts with a list, before the first event and its time. */
    oweList: assign(({ event }) => ({ dueAt: (event as Partial<Event>).at ?? null })),
    open: assign(({ event }) => {
      const streamSeconds = streamSecondsMin + Math.floor(streamSecondsSpread * event.random);
      return { openedAt: event.at, streamSeconds, dueAt: event.at };
    }),
    noteOpened: assign(({ context, event }) => ({
      silentSince: null,
      dueAt: event.at + context.streamSeconds * 1000,
    })),
    notePage: assign(({ context, event }) =>
      event.type === 'watch.page.listed'
        ? { page: event.page, listed: context.listed + event.objects, silentSince: null }
        : {},
    ),
    noteList: assign(({ context, event }) =>
      event.type === 'watch.page.listed'
        ? {
            page: '',
            listed: context.listed + event.objects,
            resourceVersion: event.resourceVersion,
            synced: true,
            silentSince: null,
            lastEventAt: event.at,
          }
        : {},
    ),
    advance: assign((args) =>
      args.event.type === 'watch.advanced'
        ? {
            resourceVersion: args.event.resourceVersion,
            lastEventAt: args.event.at,
            silentSince: null,
            dueAt: (args.context.openedAt ?? args.event.at) + args.context.streamSeconds * 1000,
            ...(lasted(args) ? { failures: 0 } : {}),
          }
        : {},
    ),
    noteEnd: assign((args) =>
      args.event.type === 'watch.ended'
        ? {
            resourceVersion: args.event.resourceVersion,
            silentSince: null,
            failures: lasted(args) || progressed(args) ? 0 : args.context.failures + 1,
          }
        : {},
    ),
    noteFailure: assign((args) => {
      const { context, event } = args;
      const failed = event.type === 'watch.failed' ? event : null;
      const failures = lasted(args) ? 1 : context.failures + 1;
      const message = failed?.message ?? 'timed out';
      return {
        failures,
        restarts: context.restarts + 1,
        lastError: message,
        lastErrorAt: event.at,
        openedAt: null,
        dueAt: null,
        silentSince: isSilence(args) ? (context.silentSince ?? context.dueAt) : null,
        retryInMs: pauseMs(failures, failed?.retryAfterMs ?? null, event.random),
        ...(mustList(args)
          ? { resourceVersion: null, page: '' }
          : { resourceVersion: failed?.resourceVersion ?? context.resourceVersion }),
      };
    }),
    noteShortEnd: assign(({ context, event }) => ({
      failures: context.failures + 1,
      restarts: context.restarts + 1,
      lastError: 'the server ends each watch immediately',
      lastErrorAt: event.at,
      retryInMs: pauseMs(context.failures + 1, null, event.random),
    })),
    forgetVersion: assign({ resourceVersion: null, page: '' }),
    remindToList: assign({ listAgain: true }),
    ...actionsOf(...watchEffects),
  },
}).createMachine({
  id: 'watch',
  context: ({ input }) => ({
    resource: input.resource,
    namespace: input.namespace,
    attempt: 0,
    lists: 0,
    page: '',
    resourceVersion: null,
    synced: false,
    listed: 0,
    listAgain: false,
    failures: 0,
    restarts: 0,
    lastError: null,
    lastErrorAt: null,
    lastEventAt: null,
    openedAt: null,
    dueAt: null,
    silentSince: null,
    streamSeconds: streamSecondsMin,
    retryInMs: pauseMinMs,
  }),
  initial: 'listing',
  states: {
    listing: {
      description: 'Reads the resource in full, page by page; what was seen before stays visible meanwhile.',
      entry: [
        'countAttempt',
        'countList',
        'oweList',
        { type: 'watch.list', params: ({ context }) => ({ attempt: context.attempt, page: context.page }) },
      ],
      on: {
        'watch.page.listed': [
          {
            guard: 'isLastPageForNow',
            actions: ['noteList', 'forgetVersion'],
            target: 'listing',
            reenter: true,
          },
          { guard: 'isLastPage', actions: 'noteList', target: 'watching' },
          { guard: 'isCurrent', actions: 'notePage', target: 'listing', reenter: true },
        ],
        'watch.failed': [
          { guard: 'isExpiredOnce', actions: 'noteFailure', target: 'listing', reenter: true },
          { guard: 'isCurrent', actions: 'noteFailure', target: 'backingOff' },
        ],
        'watch.relist': { actions: 'remindToList' },
      },
      after: { pagePatience: { actions: 'noteFailure', target: 'backingOff' } },
    },
    watching: {
      description: 'Follows changes as they happen.',
      tags: 'settled',
      entry: [
        'countAttempt',
        'open',
        {
          type: 'watch.open',
          params: ({ context }) => ({
            attempt: context.attempt,
            resourceVersion: context.resourceVersion ?? '',
            timeoutSeconds: context.streamSeconds,
          }),
        },
      ],
      on: {
        'watch.opened': { guard: 'isCurrent', actions: 'noteOpened' },
        'watch.advanced': { guard: 'isCurrent', actions: 'advance' },
        'watch.ended': [
          { guard: 'isUseful', actions: 'noteEnd', target: 'watching', reenter: true },
          { guard: 'isCurrent', actions: 'noteShortEnd', target: 'backingOff' },
        ],
        'watch.failed': [
          { guard: 'isExpiredOnce', actions: 'noteFailure', target: 'listing' },
          { guard: 'isCurrent', actions: 'noteFailure', target: 'backingOff' },
        ],
        'watch.relist': { actions: 'forgetVersion', target: 'listing' },
      },
      after: { streamPatience: { actions: 'noteFailure', target: 'backingOff' } },
    },
    backingOff: {
      description:
        'The API server refused or dropped the connection; retries after a pause that grows with each failure.',
      tags: 'wrong',
      on: { 'watch.relist': { actions: 'forgetVersion' } },
      after: {
        pause: [{ guard: 'hasNoVersion', target: 'listing' }, { target: 'watching' }],
      },
    },
  },
});

export const watchChart: Chart = {
  name: 'watch',
  version: 1,
  description: 'Follows one resource of the Kubernetes API: lists it, then watches it.',
  machine: watchMachine,
  durable: false,
  createdBy: [],
  effects: watchEffects,
};
