/**
 * What the Service chart keeps of its EndpointSlices, and everything pure that is computed from it: when a pass is due, how long it
 * gathers, when it is tried again.
 */

import { equal } from '../../base/equal.ts';
import type { KubeEventWrite } from '../effects.ts';
import type { ServiceEvent, Stamp } from '../events.ts';
import type { EndpointsFacts } from '../facts.ts';
import type { SlicesReconcile } from './slices-effects.ts';
import type { PassEnd } from './slices-events.ts';

export interface SlicesContext {
  readonly facts: EndpointsFacts | null;
  /** Number of the pass in work, or of the last one. */
  readonly pass: number;
  /** The tokens that the last good pass left; null: there was none. */
  readonly done: { readonly wanted: string; readonly standing: string } | null;
  /** The newest resourceVersion that a pass left. */
  readonly version: string;
  /** When the last pass ended, ms since the epoch; 0: there was none. */
  readonly endedAt: number;
  /** Passes that followed hard on each other, up to 2: the more, the longer the next one gathers. */
  readonly burst: number;
  /** Passes in a row that failed. */
  readonly failures: number;
  /** The API server asked to wait so long before the next one, ms. */
  readonly retryAfterMs: number;
  readonly compactable: boolean;
  /** The next pass compacts. */
  readonly compacting: boolean;
}

export const noSlices: SlicesContext = {
  facts: null,
  pass: 0,
  done: null,
  version: '',
  endedAt: 0,
  burst: 0,
  failures: 0,
  retryAfterMs: 0,
  compactable: false,
  compacting: false,
};

interface Holder {
  readonly namespace: string;
  readonly name: string;
  readonly slices: SlicesContext;
  readonly lastError: string | null;
}
type Input = ServiceEvent & Stamp;
interface Args {
  readonly context: Holder;
  readonly event: Input;
}

/** 5 ms, doubled with each failure, up to 1,000 s; after 15 retries the Service is stuck: the endpoints specification. */
const retryMs = 5;
const retryMaxMs = 1_000_000;
const retriesMax = 15;
/**
 * A pass that begins so soon after the last one, ms, shows that changes come faster than they are written: a burst. One who waits to see
 * each change written before making the next takes longer than that, and must not be kept waiting for more.
 */
const denseMs = 4;
/** A burst lasts as long as passes follow each other within this time, ms. */
const burstMs = 100;
/**
 * How long a pass gathers. The first of a Service: while everything is being listed. Alone: no longer than it takes for what was deleted by
 * one command to arrive. In a burst: gaps of 15 ms end it, so that 50 changes a second are still written one by one; where it goes on, a
 * thousand changes become a pass each half second, then each second, and gaps of 30 ms end it: an API server that is busy takes changes
 * in clumps, and the last of them is to be written within 0.1 s.
 */
const gathering = {
  first: { quietMs: 20, maxMs: 200 },
  burst: [
    { quietMs: 2, maxMs: 10 },
    { quietMs: 15, maxMs: 500 },
    { quietMs: 30, maxMs: 1_000 },
  ],
} as const;

const isDue = ({ facts, done }: SlicesContext) =>
  facts !== null &&
  !isIgnorable(facts) &&
  (done?.wanted !== facts.wanted || done.standing !== facts.standing);

const isIgnorable = ({ selects, empty }: EndpointsFacts) => !selects && empty;

export const slicesGuards = {
  isSlicesGone: ({ context, event }: Args) =>
    event.type === 'service.endpoints.observed' && event.facts === null && context.slices.facts !== null,
  isWithoutSlices: ({ context, event }: Args) =>
    event.type === 'service.observed' && event.facts === null && context.slices.facts === null,
  /** The first facts, or the first after there were none. */
  isSlicesReturning: ({ context, event }: Args) =>
    event.type === 'service.endpoints.observed' && event.facts !== null && context.slices.facts === null,
  isSlicesNews: ({ context, event }: Args) =>
    event.type === 'service.endpoints.observed' &&
    event.facts !== null &&
    !equal(event.facts, context.slices.facts),
  isPassDue: ({ context }: { context: Holder }) => isDue(context.slices),
  isSliceless: ({ context }: { context: Holder }) => {
    const { facts } = context.slices;
    return facts === null || isIgnorable(facts);
  },
  hasSlices: ({ context }: { context: Holder }) => context.slices.facts !== null,
  isCompactable: ({ context }: { context: Holder }) => context.slices.compactable,
  isThisPass: ({ context, event }: Args) => 'pass' in event && event.pass === context.slices.pass,
  isLastRetry: ({ context, event }: Args) =>
    (!('pass' in event) || event.pass === context.slices.pass) && context.slices.failures >= retriesMax,
};

/** What each step of the region changes in the chart's context. */
export const slicesChanges = {
  rememberSlices: ({ context, event }: Args) =>
    event.type === 'service.endpoints.observed' ? changed(context, { facts: event.facts }) : {},
  /** Whatever calls for slices again begins anew; versions and counts go on. */
  forgetSlices: ({ context }: Args) =>
    changed(context, { facts: null, done: null, failures: 0, compactable: false, compacting: false }),
  startPass: ({ context, event }: Args) => {
    const { pass, burst, endedAt } = context.slices;
    const isBurst = endedAt > 0 && event.at - endedAt < (burst > 0 ? burstMs : denseMs);
    return changed(context, { pass: pass + 1, burst: isBurst ? Math.min(burst + 1, 2) : 0 });
  },
  planCompaction: ({ context }: Args) => changed(context, { compacting: true }),
  noteReconciled: ({ context, event }: Args) => {
    if (event.type !== 'slices.reconciled') return {};
    const { made, standing, compactable } = event;
    const { failures } = context.slices;
    const ended = {
      done: { wanted: made, standing },
      failures: 0,
      retryAfterMs: 0,
      compactable,
      compacting: false,
    };
    const { slices } = changed(context, { ...ended, ...ending(context, event, event.at) });
    return { slices, ...(failures > 0 ? { lastError: null } : {}) };
  },
  noteSlicesFailure: ({ context, event }: Args) => {
    const isTold = event.type === 'slices.failed';
    const before = context.slices;
    const { slices } = changed(context, {
      failures: before.failures + 1,
      retryAfterMs: isTold ? event.retryAfterMs : 0,
      done: null,
      ...ending(context, isTold ? event.end : null, event.at),
    });
    return { slices, lastError: isTold ? event.message : 'no outcome of the pass over the slices in time' };
  },
  startAfresh: ({ context }: Args) => changed(context, { failures: 0 }),
};

function changed(context: Holder, change: Partial<SlicesContext>): { slices: SlicesContext } {
  return { slices: { ...context.slices, ...change } };
}

/** The pass saw the world at least as new as the last observation; its own writes are no news. */
function ending(context: Holder, end: PassEnd | null, at: number): Partial<SlicesContext> {
  const { facts } = context.slices;
  if (end === null) return { endedAt: at };
  const { wanted, standing, empty, version } = end;
  return { facts: facts && { ...facts, wanted, standing, empty }, version, endedAt: at };
}

export const slicesDelays = {
  /** The effect has a deadline of its own (30 s); past this its outcome is lost (I4). */
  passPatience: 45_000,
  retryPause: ({ context }: { context: Holder }) => {
    const { failures, retryAfterMs } = context.slices;
    return Math.max(retryAfterMs, Math.min(retryMs * 2 ** Math.max(failures - 1, 0), retryMaxMs));
  },
  /** No news for so long is a quiet moment: the endpoints specification. */
  compactionPause: 10_000,
};

export function reconcile({ context }: { context: Holder }): Omit<SlicesReconcile, 'type'> {
  const { pass, version, endedAt, burst, compacting, failures } = context.slices;
  const isAlone = compacting || failures > 0;
  const gather = endedAt === 0 ? gathering.first : (gathering.burst[burst] ?? gathering.burst[0]);
  return {
    namespace: context.namespace,
    name: context.name,
    pass,
    gather: isAlone ? { quietMs: 0, maxMs: 0 } : gather,
    version,
    reread: failures > 0,
    since: endedAt,
    compact: compacting,
  };
}

export function stuckWarning({ context, event }: Args): Omit<KubeEventWrite, 'type'> {
  const { namespace, name, lastError } = context;
  return {
    regarding: {
      apiVersion: 'v1',
      kind: 'Service',
      namespace,
      name,
      uid: context.slices.facts?.uid ?? '',
    },
    eventType: 'Warning',
    reason: 'EndpointSlicesStuck',
    note: `EndpointSlices of ${namespace}/${name} cannot be written and are not tried again until something changes: ${lastError ?? ''}`,
    at: event.at,
  };
}
