/**
 * The Service chart's context for EndpointSlices, and the pure functions over it: when a pass is due, how
 * long it gathers changes, when it is retried.
 */

import { equal } from '../../base/equal.ts';
import type { KubeEventWrite } from '../effects.ts';
import { hasPassed, type Stamp } from '../stamp.ts';
import { eventsOf } from '../typed-events.ts';
import type { ServiceEvent } from './route-events.ts';
import { afterEdit, type Contest, contestNote, contestPause, isToBeTold } from './slices-contest.ts';
import type { SlicesReconcile } from './slices-effects.ts';
import type { EndpointsFacts, PassEnd } from './slices-events.ts';

export interface SlicesContext {
  readonly facts: EndpointsFacts | null;
  /** Number of the pass in progress, or of the last one. */
  readonly pass: number;
  /**
   * Number of the last successful pass; 0: none. Passes that failed since then are repeated with the same
   * names.
   */
  readonly good: number;
  /** The tokens that the last pass left; null if there was none or it failed. */
  readonly done: { readonly wanted: string; readonly standing: string } | null;
  /** The newest resourceVersion that a pass left. */
  readonly version: string;
  /** When the last pass ended, ms since the epoch; 0: there was none. */
  readonly endedAt: number;
  /** Failed passes in a row. */
  readonly failures: number;
  /** Why the last of them failed; null: it did not; absent: an earlier release noted it. */
  readonly error?: string | null;
  /** How long the API server asked to wait before the next pass, ms. */
  readonly retryAfterMs: number;
  readonly compactable: boolean;
  /** The other controller that a warning named; '' if none. */
  readonly toldOf: string;
  /** Others keep changing the slices; null or absent: nobody does. */
  readonly contest?: Contest | null;
}

export const noSlices: SlicesContext = {
  facts: null,
  pass: 0,
  good: 0,
  done: null,
  version: '',
  endedAt: 0,
  failures: 0,
  retryAfterMs: 0,
  compactable: false,
  toldOf: '',
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
const { when, change } = eventsOf<Holder, Input>();

/**
 * 5 ms, doubled with each failure up to 1,000 s; after 15 retries the Service is stuck:
 * docs/features/endpoints.md §6.1, §6.2.
 */
const retryMs = 5;
const retryMaxMs = 1_000_000;
const retriesMax = 15;
/**
 * A stuck Service is tried every 3 minutes (± 25 %): soon after the cause is mended, at a cost that nobody
 * notices.
 */
const stuckMs = 180_000;
/**
 * A pass that begins within this many ms of the last one shows a burst: changes come faster than they are
 * written. A client that waits to see each change written before it makes the next takes longer than that,
 * and must not be kept waiting. This is no state of its own, because its deadline would cost one more saved
 * step after every pass.
 */
const denseMs = 4;
/**
 * How long a pass gathers: until nothing has changed for `quietMs`, at most `maxMs`. The first pass of a
 * Service: while everything is being listed. Alone: not at all; what changed while the step was saved is in
 * the same pass. In a burst: gaps of 15 ms end it, so that 50 changes a second are still written one by one.
 * A removal begins one, because endpoints are mostly removed in company, and each would cost a write of a
 * slice that the next writes again. In a flood gaps of 30 ms end it. A busy API server accepts changes in
 * clumps, and the last of them is to be written within 0.1 s. A pass in a burst may write every slice, so
 * Services with many slices gather longer: five slices are written a second.
 */
const gathering = {
  none: { quietMs: 0, maxMs: 0 },
  first: { quietMs: 20, maxMs: 200 },
  burst: { quietMs: 15, maxMs: 500, perSliceMs: 200 },
  flood: { quietMs: 30, maxMs: 1_000, perSliceMs: 200 },
} as const;

const isDue = ({ facts, done }: SlicesContext) =>
  facts !== null &&
  !isIgnorable(facts) &&
  (done?.wanted !== facts.wanted || done.standing !== facts.standing);

/** Only the slices themselves have changed: not by us. */
const isEdited = ({ facts, done }: SlicesContext) =>
  facts !== null && done !== null && done.wanted === facts.wanted && done.standing !== facts.standing;

const contestOf = ({ contest = null }: SlicesContext) => contest;

const otherWriter = ({ facts }: SlicesContext) => facts?.otherWriter ?? '';

const isIgnorable = ({ selects, empty }: EndpointsFacts) => !selects && empty;

export const slicesGuards = {
  isSlicesGone: when(
    'service.endpoints.observed',
    ({ slices }, { facts }) => facts === null && slices.facts !== null,
  ),
  isWithoutSlices: when(
    'service.observed',
    ({ slices }, { facts }) => facts === null && slices.facts === null,
  ),
  /** The first facts, or the first after there were none. */
  isSlicesReturning: when(
    'service.endpoints.observed',
    ({ slices }, { facts }) => facts !== null && slices.facts === null,
  ),
  isSlicesNews: when(
    'service.endpoints.observed',
    ({ slices }, { facts }) => facts !== null && !equal(facts, slices.facts),
  ),
  isPassDue: ({ context }: { context: Holder }) => isDue(context.slices),
  isFirstPassDue: ({ context }: { context: Holder }) => isDue(context.slices) && context.slices.endedAt === 0,
  isDensePassDue: ({ context, event }: Args) =>
    isDue(context.slices) && !hasPassed(denseMs, context.slices.endedAt, event.at),
  /** Others keep changing the slices, and the next revert is not due yet. */
  isRevertHeld: ({ context: { slices }, event }: Args) =>
    isDue(slices) && isEdited(slices) && contestPause(contestOf(slices), event.at) > 0,
  isOtherPassDue: ({ context: { slices } }: { context: Holder }) => isDue(slices) && !isEdited(slices),
  isNothingDue: ({ context: { slices } }: { context: Holder }) => !isDue(slices),
  isContestNews: ({ context: { slices } }: { context: Holder }) => isToBeTold(contestOf(slices)),
  isSlicesSeen: when('service.endpoints.observed', (_, { facts }) => facts !== null),
  isSliceless: ({ context }: { context: Holder }) => {
    const { facts } = context.slices;
    return facts === null || isIgnorable(facts);
  },
  hasSlices: ({ context }: { context: Holder }) => context.slices.facts !== null,
  isCompactable: ({ context }: { context: Holder }) => context.slices.compactable,
  isThisPass: ({ context, event }: Args) => isOfPass(context, event),
  isLastRetry: ({ context, event }: Args) =>
    isOfPass(context, event) && context.slices.failures >= retriesMax,
  isOtherWriterNews: ({ context: { slices } }: { context: Holder }) =>
    otherWriter(slices) !== '' && otherWriter(slices) !== slices.toldOf,
  isOtherWriterGone: ({ context: { slices } }: { context: Holder }) =>
    otherWriter(slices) === '' && slices.toldOf !== '',
};

/** An outcome of an earlier pass does not count; a deadline belongs to the pass in progress. */
function isOfPass({ slices }: Holder, event: Input): boolean {
  return !('pass' in event) || event.pass === slices.pass;
}

/** What each step of the region changes in the chart's context. */
export const slicesChanges = {
  rememberSlices: change('service.endpoints.observed', (context, { facts }) => changed(context, { facts })),
  /** If something calls for slices again, they start afresh; versions and counts continue. */
  forgetSlices: ({ context }: Args) =>
    changed(context, { facts: null, done: null, failures: 0, compactable: false, toldOf: '', contest: null }),
  startPass: ({ context, event }: Args) => {
    const { slices } = context;
    const contest = isEdited(slices) ? { contest: afterEdit(contestOf(slices), event.at) } : {};
    return changed(context, { pass: slices.pass + 1, ...contest });
  },
  noteContestTold: ({ context }: Args) => {
    const contest = contestOf(context.slices);
    return changed(context, { contest: contest && { ...contest, toldAt: contest.at } });
  },
  noteOtherWriter: ({ context }: Args) => changed(context, { toldOf: otherWriter(context.slices) }),
  noteReconciled: change('slices.reconciled', (context, event) => {
    const { made, standing, compactable, editor } = event;
    const { failures, pass } = context.slices;
    const contest = contestOf(context.slices);
    const ended = {
      done: { wanted: made, standing },
      good: pass,
      failures: 0,
      retryAfterMs: 0,
      compactable,
      error: null,
      ...(contest === null || editor === undefined ? {} : { contest: { ...contest, by: editor } }),
    };
    const { slices } = changed(context, { ...ended, ...ending(context, event, event.at) });
    return { slices, ...(failures > 0 ? { lastError: null } : {}) };
  }),
  noteSlicesFailure: change('slices.failed', (context, { message, retryAfterMs, end, at }) =>
    failed(context, message, { retryAfterMs, ...ending(context, end, at) }),
  ),
  noteSlicesSilence: ({ context, event }: Args) =>
    failed(context, 'the pass over the slices timed out', {
      retryAfterMs: 0,
      ...ending(context, null, event.at),
    }),
  startAfresh: ({ context }: Args) => changed(context, { failures: 0 }),
};

/** The rounds of the region `routes` have errors of their own, which replace the Service's last one. */
export const sliceError = ({ slices, lastError }: Pick<Holder, 'slices' | 'lastError'>): string =>
  slices.error ?? lastError ?? 'unknown error';

function changed(context: Holder, change: Partial<SlicesContext>): { slices: SlicesContext } {
  return { slices: { ...context.slices, ...change } };
}

function failed(context: Holder, lastError: string, how: Partial<SlicesContext>): Partial<Holder> {
  const failures = context.slices.failures + 1;
  return { ...changed(context, { failures, error: lastError, done: null, ...how }), lastError };
}

/** The pass saw the world at least as new as the last observation; its own writes are no news. */
function ending(context: Holder, end: PassEnd | null, at: number): Partial<SlicesContext> {
  const { facts } = context.slices;
  if (end === null) return { endedAt: at };
  const { wanted, standing, empty, version } = end;
  return { facts: facts && { ...facts, wanted, standing, empty }, version, endedAt: at };
}

const retryPause = ({ failures, retryAfterMs }: SlicesContext) =>
  Math.max(retryAfterMs, Math.min(retryMs * 2 ** Math.max(failures - 1, 0), retryMaxMs));

export const slicesDelays = {
  /** The effect has a deadline of its own (30 s); past this one its outcome is lost (I4). */
  passPatience: 45_000,
  retryPause: ({ context }: { context: Holder }) => retryPause(context.slices),
  /** News restarts the retries, and their pauses are as short as ever. */
  stuckPause: ({ context: { slices }, event }: Args) =>
    slices.failures > retriesMax
      ? Math.max(slices.retryAfterMs, stuckMs * (0.75 + 0.5 * event.random))
      : retryPause(slices),
  /** Complete lists wake everybody; this is for whoever missed that. */
  listPatience: 10_000,
  /** A burst lasts as long as passes follow each other within this time, ms. */
  burstLull: 100,
  contestPause: ({ context, event }: Args) => contestPause(contestOf(context.slices), event.at),
  /** This long without news is a quiet moment: docs/features/endpoints.md §4.4. */
  compactionPause: 10_000,
};

interface Moment {
  readonly context: Holder;
}
type Pass = Omit<SlicesReconcile, 'type'>;

export const firstPass = (moment: Moment): Pass => passOf(moment, gathering.first);
export const alonePass = (moment: Moment): Pass =>
  passOf(moment, { ...gathering.none, burst: gathering.burst });
export const burstPass = (moment: Moment): Pass => passOf(moment, gathering.burst);
export const floodPass = (moment: Moment): Pass => passOf(moment, gathering.flood);
export const retryPass = (moment: Moment): Pass => passOf(moment, gathering.none);
export const compactingPass = (moment: Moment): Pass => ({
  ...passOf(moment, gathering.none),
  compact: true,
});

function passOf({ context }: Moment, gather: Pass['gather']): Pass {
  const { pass, good, version, endedAt } = context.slices;
  return {
    namespace: context.namespace,
    name: context.name,
    pass,
    series: good + 1,
    gather,
    version,
    since: endedAt,
    compact: false,
  };
}

export function stuckWarning({ context, event }: Args): Omit<KubeEventWrite, 'type'> {
  const { namespace, name } = context;
  return {
    regarding: regarding(context),
    eventType: 'Warning',
    reason: 'EndpointSlicesStuck',
    note: `EndpointSlices of ${namespace}/${name} cannot be written; retried every few minutes and whenever something changes: ${sliceError(context)}`,
    at: event.at,
  };
}

export function otherWarning({ context, event }: Args): Omit<KubeEventWrite, 'type'> {
  const other = otherWriter(context.slices);
  return {
    regarding: regarding(context),
    eventType: 'Warning',
    reason: 'OtherControllerWrites',
    note: `${other} also writes EndpointSlices for this Service: its endpoints appear twice, and the two may contradict each other. Stop one of them; --take-over-slices ${other} adopts what it left.`,
    at: event.at,
  };
}

export function contestWarning({ context, event }: Args): Omit<KubeEventWrite, 'type'> {
  const contest = contestOf(context.slices) ?? afterEdit(null, event.at);
  return { regarding: regarding(context), ...contestNote(contest), at: event.at };
}

function regarding({ namespace, name, slices }: Holder): KubeEventWrite['regarding'] {
  return { apiVersion: 'v1', kind: 'Service', namespace, name, uid: slices.facts?.uid ?? '' };
}
