/**
 * The setup of the domain chart: its guards, delays and actions, under the names that domain.ts uses. Pure.
 */
import { assign, cancel, enqueueActions, raise, setup } from 'xstate';
import { equal } from '../../base/equal.ts';
import { limits } from '../../base/limits.ts';
import type { ActorInput } from '../actor-input.ts';
import { actionsOf } from '../effect.ts';
import type { Stamp } from '../stamp.ts';
import { isReportBack, isReportLost, lostReport } from '../unwritten.ts';
import { type DomainContext, type DomainInput, keyOf, pendingPlace, usable } from './domain-context.ts';
import { domainEffects } from './domain-effects.ts';
import type { FailureOutcome, PermitDeferred } from './domain-events.ts';
import { lackingIn } from './domain-lacking.ts';
import { hasNewTarget, newsIn } from './domain-observation.ts';
import { isMistold, isToldValid, lastingError, noted } from './domain-report.ts';
import {
  clearing,
  discarding,
  lateQuestionIn,
  nextQuestion,
  outcomeOf,
  returned,
} from './domain-requests.ts';
import {
  askPauseMs,
  dayMs,
  expiryInMs,
  isAhead,
  isCopyTime,
  isDue,
  isInTime,
  isPollable,
  isPollTime,
  isToRemember,
  lookInMs,
  outagePauseMs,
  rememberedUntil,
  stepPatience,
  untilAttempt,
} from './domain-schedule.ts';
import * as step from './domain-steps.ts';
import * as wait from './domain-waits.ts';
import type { StateWord } from './domain-words.ts';
import * as exhibit from './exhibit-steps.ts';

interface Args {
  readonly context: DomainContext;
  readonly event: DomainInput;
}

const timeOf = (event: unknown) => (event as Stamp).at;

const isFailure = ({ context, event }: Args, outcome: FailureOutcome) =>
  event.type === 'acquisition.failed' && event.attempt === context.attempt && event.outcome === outcome;

const isExpired = ({ context, event }: Args) =>
  context.certificate !== null && !isInTime(context, timeOf(event));

/** The Issuer works, and others have their turn before. */
const byTheQueue = ['budget', 'full', 'busy'] as const;

/** Whether the Issuer makes the domain wait, for one of these reasons, and that is new. */
function isDeferral({ context, event }: Args, reasons?: ReadonlyArray<PermitDeferred['reason']>): boolean {
  if (event.type !== 'permit.deferred' || event.issuer !== context.facts?.issuer?.name) return false;
  return reasons === undefined
    ? !equal(context.deferral, step.deferralIn(event))
    : reasons.includes(event.reason);
}

/** Whether the failures of a host that nobody asks for count no more. */
const isForgotten = ({ context, event }: Args) => timeOf(event) >= rememberedUntil(context);

/** An action that decides by the context which effects to request. */
const composed = enqueueActions<
  DomainContext,
  DomainInput,
  undefined,
  DomainInput,
  never,
  never,
  never,
  never,
  never
>;

export const domainSetup = setup({
  types: {
    context: {} as DomainContext,
    events: {} as DomainInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone: (args: Args) => newsIn(args) === 'gone',
    isGoneWithLeftovers: (args: Args) =>
      newsIn(args) === 'gone' && (args.context.leftovers.length > 0 || args.context.showing !== null),
    isGoneInWait: (args: Args) => newsIn(args) === 'gone' && isToRemember(args.context),
    hasNoLeftovers: ({ context }: Args) => context.leftovers.length === 0,
    isSweptAndOver: (args: Args) => exhibit.isSwept(args) && isForgotten(args),
    isGivenUpAndOver: (args: Args) => exhibit.isGivenUp(args) && isForgotten(args),
    isOwnerNews: (args: Args) => newsIn(args) === 'owner',
    isIssuerNews: (args: Args) => newsIn(args) === 'issuer',
    isWish: (args: Args) => newsIn(args) === 'wish',
    isAskedAnew: (args: Args) => newsIn(args) === 'asked',
    isTampered: (args: Args) => newsIn(args) === 'tampered',
    hasNewTarget: (args: Args) => hasNewTarget(args),
    isOthersNews: (args: Args) => newsIn(args) === 'others',
    isLesserNews: (args: Args) => ['wish', 'asked', 'tampered', 'others', 'other'].includes(newsIn(args)),
    /** Set in a record of a release that never retried by itself. */
    isUndated: (args: Args) =>
      args.context.nextAttempt === null && !['gone', 'owner', 'issuer'].includes(newsIn(args)),
    hasIssuer: ({ context }: Args) => context.facts?.issuer != null,
    isNowhere: ({ context }: Args) => usable(context).length === 0,
    isGoodAndIncomplete: ({ context, event }: Args) =>
      context.missing.length > 0 && isInTime(context, timeOf(event)) && isCopyTime(context, timeOf(event)),
    isGoodAsTold: ({ context, event }: Args) => !isDue(context, timeOf(event)) && isToldValid(context),
    isGood: ({ context, event }: Args) => !isDue(context, timeOf(event)),
    isLacking: ({ context }: Args) => lackingIn(context).length > 0,
    isWhole: ({ context }: Args) => lackingIn(context).length === 0,
    isIssuedAlready: ({ context }: Args) => context.issued !== null,
    isUnprovable: ({ context }: Args) => step.isUnprovable(context),
    isHeldBack: (args: Args) => isHeld(args, 'backingOff'),
    isHeldAsFailed: (args: Args) => isHeld(args, 'failed'),
    isThisAttempt: ({ context, event }: Args) => 'attempt' in event && event.attempt === context.attempt,
    isThisNoted: ({ context, event }: Args) =>
      'attempt' in event && event.attempt === context.attempt && exhibit.isNoted(context),
    isSwept: (args: Args) => exhibit.isSwept(args),
    isGivenUp: (args: Args) => exhibit.isGivenUp(args),
    isHopeless: (args: Args) => isFailure(args, 'hopeless'),
    isForeign: (args: Args) => isFailure(args, 'foreign'),
    isRateLimited: (args: Args) => isFailure(args, 'rateLimited'),
    isDown: (args: Args) => isFailure(args, 'down'),
    isUnusable: (args: Args) => isFailure(args, 'unusable'),
    isClusterTrouble: (args: Args) => isFailure(args, 'cluster'),
    isUnfinished: (args: Args) => isFailure(args, 'unfinished'),
    isOverdue: (args: Args) => step.isOverdue(args),
    isUnwritable: (args: Args) => isFailure(args, 'unwritable'),
    isGrantInVain: ({ context, event }: Args) =>
      event.type === 'permit.granted' &&
      (event.issuer !== context.facts?.issuer?.name || lateQuestionIn({ context, event }) !== null),
    isGrantOfCa: ({ context }: Args) => context.facts?.issuer?.kind === 'ca',
    isOrderOpen: ({ context, event }: Args) => step.isOpen(context, timeOf(event)),
    isNotedOrderOpen: ({ context, event }: Args) =>
      exhibit.isNoted(context) && step.isOpen(context, timeOf(event)),
    isDeferredByOutage: (args: Args) => isDeferral(args, ['down']),
    isDeferredByLimit: (args: Args) => isDeferral(args, ['rateLimited']),
    isDeferredByQueue: (args: Args) => isDeferral(args, byTheQueue),
    isDeferredThoughExpired: (args: Args) => isDeferral(args, byTheQueue) && isExpired(args),
    isExpired: (args: Args) => isExpired(args),
    isDeferredAsUnusable: (args: Args) =>
      isDeferral(args, ['notReady']) &&
      args.event.type === 'permit.deferred' &&
      (args.event.message ?? '') !== '',
    isDeferralNews: (args: Args) => isDeferral(args),
    isPollDue: ({ context, event }: Args) =>
      isPollable(context) && isPollTime(context, timeOf(event)) && !isDue(context, timeOf(event)),
    isOfMyCertificate: ({ context, event }: Args) =>
      'fingerprint' in event && event.fingerprint === context.certificate?.fingerprint,
    isWindowNews: ({ context, event }: Args) =>
      event.type === 'ari.fetched' &&
      event.fingerprint === context.certificate?.fingerprint &&
      (event.start !== context.window?.start ||
        event.end !== context.window.end ||
        event.why !== context.window.why),
    isNoRepetition: ({ context, event }: Args) =>
      context.permit === null || lateQuestionIn({ context, event }) !== null,
    isMistoldAnew: (args: Args) => !args.context.mistold && isMistold(args),
    isToldAgain: (args: Args) => args.context.mistold && !isMistold(args),
    isReportLost: (args: Args) => isReportLost(args, 'domain.report'),
    isReportBack: (args: Args) => isReportBack(args, 'domain.report'),
  },
  delays: {
    restate: limits.restateMs,
    /** A little more than the effect's bound (limits.ts): after this its outcome is lost. */
    inspectPatience: 35_000,
    orderPatience: ({ context, event }) => stepPatience(context, timeOf(event), 60_000),
    planPatience: ({ context, event }) => stepPatience(context, timeOf(event), 60_000),
    /** DNS may take minutes to propagate; the authority's own checks take seconds. */
    authorizePatience: ({ context, event }) => stepPatience(context, timeOf(event), 210_000),
    finalizePatience: ({ context, event }) => stepPatience(context, timeOf(event), 120_000),
    storePatience: ({ context, event }) => stepPatience(context, timeOf(event), 60_000),
    /** The Issuer remembers requests, so this only repairs a lost one (I4). */
    askAgain: ({ context, event }) => askPauseMs(context, timeOf(event)),
    /** The Issuer names the time; this only repairs a lost message. */
    askInTime: ({ context, event }) => untilAttempt(context, timeOf(event)) + 60_000,
    askAfterOutage: ({ context, event }) => outagePauseMs(context, timeOf(event)),
    backOff: ({ context, event }) => untilAttempt(context, timeOf(event)),
    look: ({ context, event }) => lookInMs(context, timeOf(event)),
    /** Reports that could not be written, because Kubernetes was away, are repeated. */
    reportAgain: 30_000,
    sweepAgain: ({ context }) => exhibit.sweepPauseMs(context),
    /**
     * Longer than all removal attempts together; whatever is left then stays. No wait is longer, so that none
     * that is remembered is cut short.
     */
    sweepPatience: dayMs,
    memory: ({ context, event }) => {
      const until = rememberedUntil(context);
      return until === 0 ? dayMs : Math.max(0, until - timeOf(event));
    },
  },
  actions: {
    forgetTold: assign({ told: '' }),
    remember: assign((args) => step.remembered(args)),
    changeOwner: assign((args) => step.ownerChanged(args)),
    note: assign(({ context, event }, { word }: { readonly word: StateWord }) =>
      noted(context, word, timeOf(event)),
    ),
    want: assign({ forced: true }),
    force: assign({ forced: true, nextAttempt: null, hold: null, aside: null }),
    takeUp: assign((args) => wait.takenUp(args)),
    putAside: assign((args) => wait.putAside(args)),
    bringForward: assign((args) => wait.broughtForward(args)),
    letGo: assign({ nextAttempt: null, hold: null }),
    pollNow: assign({ pollAt: 0 }),
    numberAttempt: assign(({ context }) => ({ attempt: context.attempt + 1 })),
    changeIssuer: assign((args) => step.issuerChanged(args)),
    breakOff: assign((args) => step.brokenOff(args)),
    comeBack: assign((args) => step.cameBack(args)),
    dropPermit: assign({ permit: null }),
    learnInspection: assign((args) => step.inspected(args)),
    noteForeign: assign((args) => step.nowhere(args)),
    noteUnprovable: assign((args) => step.unprovable(args)),
    noteLookFailure: assign((args) => step.lookFailed(args)),
    countAsking: assign(({ context, event }) => ({
      askings: context.askings + 1,
      askedAt: timeOf(event),
      waitsSince: context.askings === 0 ? timeOf(event) : context.waitsSince || timeOf(event),
      question: context.question || timeOf(event),
    })),
    noteDeferral: assign(({ event }) =>
      event.type === 'permit.deferred' ? { deferral: step.deferralIn(event) } : {},
    ),
    noteWait: assign((args) => step.waiting(args)),
    takePermit: assign((args) => step.permitTaken(args)),
    startNew: assign(({ context }) => ({
      order: null,
      pendingAt: context.facts?.issuer?.kind === 'ca' ? null : pendingPlace(context),
    })),
    chooseSource: assign((_, { from }: { readonly from: DomainContext['storeFrom'] }) => ({
      storeFrom: from,
    })),
    keepOrder: assign(({ event }) => (event.type === 'order.made' ? { order: event.order } : {})),
    noteExhibit: assign((args) => exhibit.planned(args)),
    noteSwept: assign((args) => exhibit.swept(args)),
    dropLeftovers: assign({ leftovers: [], sweeps: 0 }),
    forgetAll: assign((args) => wait.forgotten(args)),
    closeOrder: assign(({ event }) => ({
      order: null,
      ...(event.type === 'certificate.received' ? { issued: event.fingerprint } : {}),
    })),
    noteFailure: assign((args) => step.failed(args)),
    noteLimit: assign((args) => step.limited(args)),
    holdAsFailed: assign((args) => step.heldAsFailed(args)),
    waitBriefly: assign(({ event }) => step.heldBriefly(event)),
    waitForRoom: assign(({ event }) => step.heldForRoom(event)),
    countFailure: assign((args) => step.refused(args)),
    succeed: assign((args) => step.stored(args)),
    settle: assign(({ context }) => ({
      lastError: lastingError(context),
      nextAttempt: null,
      hold: null,
      failures: 0,
      waitsSince: 0,
      askedAt: 0,
      pendingAt: null,
      order: null,
      issued: null,
    })),
    postponePoll: assign(({ event }) => ({ pollAt: timeOf(event) + 15 * 60_000 })),
    learnWindow: assign((args) => step.windowLearned(args)),
    noteNoWindow: assign((args) => step.windowMissing(args)),
    noteUnwritten: assign((args) => lostReport(args)),
    noteWritten: assign({ unwritten: null }),
    reportLater: raise({ type: 'report.due', at: 0, random: 0 }, { delay: 'reportAgain', id: 'report' }),
    /**
     * Sets the time at which people are told that the certificate expires; in every state,
     * docs/features/certificates.md §9.1.
     */
    watchExpiry: composed(({ context, event, enqueue }) => {
      const delay = expiryInMs(context, timeOf(event));
      if (delay === null) enqueue.cancel('expiry');
      else enqueue.raise({ type: 'expiry.due', at: 0, random: 0 }, { delay, id: 'expiry' });
    }),
    /** Returns the permit, if one is held, however the attempt ends. */
    returnPermit: composed((args) => {
      const { context, event, enqueue } = args;
      if (context.permit === null) return;
      say(enqueue, returned(args, context.permit, outcomeOf(args)));
      enqueue.assign({ permit: null, question: nextQuestion(context, timeOf(event)) });
    }),
    /**
     * A domain that no longer asks, or asks another Issuer, gives up its place. One that only inspects keeps
     * it, and its turn: a permit that arrives meanwhile is returned.
     */
    leaveQueue: composed((args) => {
      const { context, event, enqueue } = args;
      const isOver = ['gone', 'owner', 'issuer'].includes(newsIn({ context, event }));
      if (isOver) withdraw(args, enqueue);
    }),
    /** The same for a place that was kept while it inspects. */
    leavePlace: composed((args) => {
      if (args.context.askings > 0) withdraw(args, args.enqueue);
    }),
    /** A permit that arrives when the domain does not wait for it. */
    returnGrant: composed((args) => {
      const { context, event, enqueue } = args;
      if (event.type !== 'permit.granted') return;
      const unused = { outcome: 'unused', again: false } as const;
      const question = lateQuestionIn(args);
      const given = question === null ? unused : ({ ...unused, question, late: true } as const);
      say(enqueue, returned(args, event.issuer, given));
      if (question === null) enqueue.assign({ question: nextQuestion(context, timeOf(event)) });
    }),
    doubtTold: assign({ mistold: true }),
    trustTold: assign({ mistold: false }),
    retellLater: raise({ type: 'report.due', at: 0, random: 0 }, { delay: 'reportAgain', id: 'mistold' }),
    retellNot: cancel('mistold'),
    sweepLater: raise({ type: 'sweep.due', at: 0, random: 0 }, { delay: 'sweepAgain', id: 'sweep' }),
    /** The challenge is over: removes at once what may still exist. */
    endShowing: composed(({ context, event, enqueue }) => {
      const change = exhibit.ended({ context, event });
      enqueue.assign(change);
      const { leftovers } = { ...context, ...change };
      if (leftovers.length > 0) run(enqueue, 'challenge.clear', clearing({ ...context, leftovers }));
    }),
    sweep: composed(({ context, enqueue }) => {
      if (context.leftovers.length > 0) run(enqueue, 'challenge.clear', clearing(context));
    }),
    /** Removes a key that will never have a certificate. */
    clearPending: composed(({ context, event, enqueue }) => {
      if (context.pendingAt === null || context.order !== null || context.issued !== null) return;
      run(enqueue, 'pending.discard', discarding({ context, event }));
      enqueue.assign({ pendingAt: null });
    }),
    /** The next order keeps its key beside another Secret. */
    discardElsewhere: composed(({ context, event, enqueue }) => {
      const { pendingAt } = context;
      const next = pendingPlace(context);
      if (pendingAt !== null && (next === null || keyOf(next) !== keyOf(pendingAt)))
        run(enqueue, 'pending.discard', discarding({ context, event }));
    }),
    /** For a host without an owner, or with a new one; and where a certificate came by another way. */
    discardPending: composed(({ context, event, enqueue }) => {
      if (context.pendingAt !== null) run(enqueue, 'pending.discard', discarding({ context, event }));
    }),
    ...actionsOf(...domainEffects),
  },
});

function isHeld(args: Args, state: DomainContext['hold']): boolean {
  const context = { ...args.context, ...wait.takenUp(args) };
  return context.hold === state && isAhead(context, timeOf(args.event));
}

/** The Issuer hears that the domain's question is not asked any more. */
function withdraw(moment: Args, enqueue: { assign(change: Partial<DomainContext>): void }): void {
  const { context, event } = moment;
  const issuer = context.facts?.issuer?.name;
  if (issuer === undefined) return;
  say(enqueue, returned(moment, issuer, { outcome: 'unused', again: false }));
  enqueue.assign({ question: nextQuestion(context, timeOf(event)), askings: 0 });
}

/** Requests an effect from within an action; the setup's type does not know its own effects yet. */
function run(enqueue: unknown, type: string, params: object): void {
  (enqueue as (action: { type: string; params: object }) => void)({ type, params });
}

const say = (enqueue: unknown, message: object) => run(enqueue, 'message.send', message);
