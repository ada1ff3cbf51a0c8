/**
 * The setup of the issuer chart: its guards, delays and actions, under the names that issuer.ts uses. Pure.
 */
import { assign, cancel, enqueueActions, raise, setup } from 'xstate';
import { backOffMs } from '../../base/back-off.ts';
import { equal } from '../../base/equal.ts';
import { limits } from '../../base/limits.ts';
import type { ActorInput } from '../actor-input.ts';
import type { PermitAsked, PermitDeferred } from '../domain/domain-events.ts';
import { attemptMaxMs, limitMs } from '../domain/domain-schedule.ts';
import { actionsOf } from '../effect.ts';
import { send } from '../effects.ts';
import { leftOf, type Stamp } from '../stamp.ts';
import { isReportBack, isReportLost, lostReport } from '../unwritten.ts';
import type { IssuerContext, IssuerInput } from './issuer-context.ts';
import { called } from './issuer-crowd.ts';
import { issuerEffects } from './issuer-effects.ts';
import {
  factsAfter,
  grownMs,
  isForEverybody,
  isItsOwnTrouble,
  isRefusedAlone,
  isSpecRefused,
  isUnusableForItAlone,
  limitMet,
  limitsAfterEdit,
  withoutUnusable,
} from './issuer-limits.ts';
import { dayMs } from './issuer-periods.ts';
import { enqueued, inWorkMax, isDeaf, memoryMs, quietMs, returned, served } from './issuer-queue.ts';
import { deferral, grant, isMistold, noted, type Why, whyAllWait, whyWaiting } from './issuer-report.ts';
import type { StateWord } from './issuer-words.ts';

interface Args {
  readonly context: IssuerContext;
  readonly event: IssuerInput;
}

const timeOf = (event: unknown) => (event as Stamp).at;
const chanceOf = (event: unknown) => (event as Stamp).random;

/**
 * 10 s, doubling to 5 min: docs/features/certificates.md §7. Reduced by up to 10 %, so that 5 min is the
 * maximum.
 */
export function probePauseMs(probes: number, random: number): number {
  return Math.round(backOffMs(probes - 1, 10_000, 300_000) * (0.9 + 0.1 * random));
}

/** While the trouble lasts one domain tries for all; waiting for it needs no timer. */
const isOnTrial = ({ limitTimes, probes, refusals = 0 }: IssuerContext) =>
  limitTimes > 0 || probes > 0 || refusals > 0;

/** An action that decides by the context which effects to request. */
const composed = enqueueActions<
  IssuerContext,
  IssuerInput,
  undefined,
  IssuerInput,
  never,
  never,
  never,
  never,
  never
>;

const isReturned = ({ event }: Args, ...outcomes: readonly string[]) =>
  event.type === 'permit.returned' && outcomes.includes(event.outcome);
const isFailed = ({ context, event }: Args, outcome: string) =>
  event.type === 'issuer.failed' && event.check === context.check && event.outcome === outcome;

/** The domain that sent the event, if it waits for an answer. */
function askerIn({ event }: Args) {
  const isAsking = event.type === 'permit.asked' || (event.type === 'permit.returned' && event.again);
  return isAsking ? event : null;
}

/** Tells a domain that has no place why, and when it asks again. */
function turnAway(
  { context, event }: Args,
  enqueue: { assign(change: Partial<IssuerContext>): void },
  { domain, ...one }: Turned,
  why: Why = { reason: 'full', until: null, message: null },
): void {
  const caller = { at: timeOf(event), random: chanceOf(event), from: why.until };
  const { calls, until } = called(context, one, caller);
  enqueue.assign({ calls });
  send(enqueue, deferral(context, domain, { ...why, until }));
}

type Turned = Pick<PermitAsked, 'domain' | 'exempt' | 'namespace'>;

/** Grants permits up to a width, and tells the asking domain why it got none. */
const serving = (widthOf: (context: IssuerContext) => number) =>
  composed((args) => {
    const { context, event, enqueue } = args;
    const at = timeOf(event);
    const { change, granted } = served(context, at, widthOf(context));
    enqueue.assign(change);
    const asker = askerIn(args);
    const now = { ...context, ...change };
    const deaf = event.type === 'permit.asked' && isDeaf(context, event, at) ? [event.domain] : [];
    for (const to of [...granted, ...deaf]) send(enqueue, grant(now, to));
    if (asker === null || deaf.length > 0) return;
    const why = whyWaiting(now, asker, at, widthOf(context));
    if (why?.reason === 'full') turnAway({ context: now, event }, enqueue, asker, why);
    else if (why !== null) send(enqueue, deferral(context, asker.domain, why));
  });

/** Tells a domain that asks while nobody is served why. */
const deferring = (reason: PermitDeferred['reason']) =>
  composed((args) => {
    const { context, enqueue } = args;
    const asker = askerIn(args);
    if (asker === null) return;
    const why = whyAllWait(context, reason, asker, timeOf(args.event));
    const isKnown =
      context.inWork[asker.domain] !== undefined ||
      context.queue.some(({ domain }) => domain === asker.domain);
    if (isKnown) send(enqueue, deferral(context, asker.domain, why));
    else turnAway(args, enqueue, asker, why);
  });

export const issuerSetup = setup({
  types: {
    context: {} as IssuerContext,
    events: {} as IssuerInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone: ({ event }: Args) => event.type === 'issuer.observed' && event.facts === null,
    /** Another release may have understood the same specification otherwise. */
    isNewSpec: ({ context: { facts }, event }: Args) =>
      event.type === 'issuer.observed' &&
      (event.facts?.uid !== facts?.uid ||
        event.facts?.generation !== facts?.generation ||
        event.facts?.kind !== facts?.kind ||
        event.facts?.invalid !== facts?.invalid),
    isReadOtherwise: ({ context: { facts }, event }: Args) =>
      event.type === 'issuer.observed' && !equal(factsAfter(facts, event.facts), facts),
    isForgettable: ({ context, event }: Args) => memoryMs(context, timeOf(event)) <= 0,
    isInvalid: ({ context }: Args) => context.facts?.invalid != null,
    isThisCheckAgain: ({ context, event }: Args) =>
      'check' in event && event.check === context.check && (context.refusals ?? 0) > 0,
    isThisCheck: ({ context, event }: Args) => 'check' in event && event.check === context.check,
    isRefused: (args: Args) => isFailed(args, 'refused'),
    isCheckDown: (args: Args) => isFailed(args, 'down'),
    isCheckLimited: (args: Args) => isFailed(args, 'rateLimited'),
    isLimitForAll: (args: Args) =>
      args.event.type === 'permit.returned' &&
      args.event.outcome === 'rateLimited' &&
      isForEverybody(args.context, args.event, timeOf(args.event)),
    isVagueLimit: (args: Args) =>
      args.event.type === 'permit.returned' &&
      args.event.outcome === 'rateLimited' &&
      args.event.scope !== 'host' &&
      args.event.scope !== 'domain',
    isLimit: (args: Args) => isReturned(args, 'rateLimited'),
    isOutage: (args: Args) =>
      isReturned(args, 'down') && !('domain' in args.event && isItsOwnTrouble(args.context, args.event)),
    isSpecRefused: ({ context, event }: Args) =>
      event.type === 'permit.returned' && isSpecRefused(context, event),
    isUnusable: ({ context, event }: Args) =>
      event.type === 'permit.returned' &&
      event.outcome === 'unusable' &&
      !isRefusedAlone(context, event) &&
      !isUnusableForItAlone(context, event, timeOf(event)),
    isGoodAnswer: (args: Args) => isReturned(args, 'issued', 'refused'),
    isMistoldAnew: (args: Args, { word }: { readonly word: StateWord }) =>
      args.context.mistold !== true && isMistold(args, word),
    isToldAgain: (args: Args, { word }: { readonly word: StateWord }) =>
      args.context.mistold === true && !isMistold(args, word),
    isReportLost: (args: Args) => isReportLost(args, 'issuer.report'),
    isReportBack: (args: Args) => isReportBack(args, 'issuer.report'),
  },
  delays: {
    /** A message can arrive before the Issuer's observation; without an observation it was a mistake. */
    observePatience: 60_000,
    /** A little more than the effect's bound (limits.ts): after this its outcome is lost. */
    verifyPatience: 50_000,
    probe: ({ context, event }) => probePauseMs(context.probes, chanceOf(event)),
    limit: ({ context, event }) =>
      Math.min(Math.max(0, (context.limitedUntil ?? 0) - timeOf(event)), attemptMaxMs),
    quiet: ({ context, event }) =>
      quietMs(context, timeOf(event), isOnTrial(context) ? 1 : inWorkMax(context)),
    /** The authority's opinion of our account may have been corrected. */
    tryAnyway: ({ context }) => backOffMs(Math.max(0, (context.refusals ?? 0) - 1), 300_000, dayMs),
    untilForgettable: ({ context, event }) => memoryMs(context, timeOf(event)),
    reportAgain: 30_000,
    /** An Issuer whose certificates are ordered is checked by that. */
    checkAgain: ({ context, event }) =>
      leftOf(limits.restateMs, context.checkedAt ?? timeOf(event), timeOf(event)),
    restate: limits.restateMs,
  },
  actions: {
    remember: assign(({ context, event }) =>
      event.type === 'issuer.observed' ? { facts: factsAfter(context.facts, event.facts) } : {},
    ),
    forgetLimits: assign(({ context, event }) => limitsAfterEdit(context, event)),
    note: assign(({ context, event }, { word }: { readonly word: StateWord }) =>
      noted(context, word, timeOf(event)),
    ),
    numberCheck: assign(({ context, event }) => ({ check: context.check + 1, checkedAt: timeOf(event) })),
    noteVerified: assign(({ event }) =>
      event.type === 'issuer.verified' ? { ca: event.ca ?? null, account: event.account ?? null } : {},
    ),
    /** A domain whose Issuer is deleted leaves the queue by itself. */
    forgetObject: assign({
      queue: [],
      calls: {},
      limits: {},
      ca: null,
      account: null,
      isReady: false,
      readySince: 0,
      unwritten: null,
    }),
    noteReturn: assign({ limitedUntil: null, outageSince: null }),
    forgetTrouble: assign({
      limitedUntil: null,
      limitTimes: 0,
      outageSince: null,
      probes: 0,
      refusals: 0,
      lastError: null,
    }),
    enqueue: composed((args) => {
      const { context, event, enqueue } = args;
      if (event.type !== 'permit.asked' || isDeaf(context, event, timeOf(event))) return;
      const { queue, evicted } = enqueued(context, event, timeOf(event));
      enqueue.assign({ queue });
      if (evicted !== null && evicted.domain !== event.domain) turnAway(args, enqueue, evicted);
    }),
    takeBack: composed((args) => {
      const { context, event, enqueue } = args;
      if (event.type !== 'permit.returned') return;
      const { change, evicted } = returned(context, event, timeOf(event));
      enqueue.assign(change);
      if (evicted !== null && evicted.domain !== event.domain) turnAway(args, enqueue, evicted);
    }),
    serveAll: serving(inWorkMax),
    serveOne: serving(() => 1),
    deferAsNotReady: deferring('notReady'),
    deferAsLimited: deferring('rateLimited'),
    deferAsDown: deferring('down'),
    noteInvalid: assign(({ context }) => ({ lastError: context.facts?.invalid ?? null })),
    noteError: assign(({ event }) =>
      event.type === 'issuer.failed' ? { lastError: event.message, refusals: 0 } : {},
    ),
    noteRefusal: assign(({ context, event }) => ({
      lastError: saidBy(event) ?? 'the authority refuses it',
      refusals: (context.refusals ?? 0) + 1,
    })),
    /** Whoever asks for a check may have mended it; that it was refused only an order disproves. */
    beginRefusalsAnew: assign(({ context: { refusals = 0 } }) => (refusals > 1 ? { refusals: 1 } : {})),
    forgetUnusable: assign(({ context }) => withoutUnusable(context)),
    noteOutage: assign(({ context, event }) => ({
      outageSince: context.outageSince ?? timeOf(event),
      probes: context.probes + 1,
      limitedUntil: null,
      lastError: outageText(event),
    })),
    noteLimitMet: assign(({ context, event }) =>
      event.type === 'permit.returned' ? limitMet(context, event, timeOf(event)) : {},
    ),
    noteLimit: assign(({ context, event }) => {
      const limitTimes = context.limitTimes + 1;
      const until = timeOf(event) + grownMs(limitIn(event), limitTimes);
      return { limitTimes, limitedUntil: until, lastError: limitText(event) };
    }),
    noteUnwritten: assign((args) => lostReport(args)),
    noteWritten: assign({ unwritten: null }),
    reportLater: raise({ type: 'report.due', at: 0, random: 0 }, { delay: 'reportAgain', id: 'report' }),
    doubtTold: assign({ mistold: true }),
    trustTold: assign({ mistold: false }),
    retellLater: raise({ type: 'report.due', at: 0, random: 0 }, { delay: 'reportAgain', id: 'mistold' }),
    retellNot: cancel('mistold'),
    ...actionsOf(...issuerEffects),
  },
});

function limitIn(event: IssuerInput): number {
  if (event.type === 'permit.returned') return event.waitMs;
  return limitMs(event.type === 'issuer.failed' ? event.retryAfterMs : null, chanceOf(event));
}

const saidBy = (event: IssuerInput) =>
  event.type === 'issuer.failed' || event.type === 'permit.returned' ? event.message : undefined;
const outageText = (event: IssuerInput) => saidBy(event) ?? 'the authority did not answer';
const limitText = (event: IssuerInput) =>
  `the authority is rate limiting${saidBy(event) === undefined ? '' : `: ${saidBy(event)}`}`;
