/**
 * The vocabulary of the domain chart: its guards, delays and actions, each by the name under which domain.ts uses it. Pure.
 */
import { assign, raise, setup } from 'xstate';
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type { MessageSend } from '../effects.ts';
import type { Stamp } from '../events.ts';
import {
  askPauseMs,
  confirmMs,
  type DomainContext,
  type DomainInput,
  isAskedAnew,
  isDeferredBy,
  isDue,
  isIssuerNews,
  isMidway,
  isPollable,
  isTampered,
  isUnprovable,
  limitMs,
  lookInMs,
  lookPauseMs,
  pendingOf,
  pollPauseMs,
  refused,
  stepPatience,
  usable,
  windowOf,
} from './domain-context.ts';
import type { DomainEffect, DomainReport } from './domain-effects.ts';
import { deferralText, entered, foreignText, isToldValid } from './domain-report.ts';

type Args = { readonly context: DomainContext };
type Of<T extends DomainEffect['type']> = Omit<Extract<DomainEffect, { readonly type: T }>, 'type'>;

const timeOf = (event: unknown) => (event as Stamp).at;
const chanceOf = (event: unknown) => (event as Stamp).random;

export const domainSetup = setup({
  types: {
    context: {} as DomainContext,
    events: {} as DomainInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone: ({ event }) => event.type === 'domain.observed' && event.facts === null,
    isGoneMidway: ({ context, event }) =>
      event.type === 'domain.observed' && event.facts === null && isMidway(context),
    isNews: ({ context, event }) => event.type === 'domain.observed' && !equal(event.facts, context.facts),
    isAllowed: ({ event }) => event.type === 'domain.observed' && event.facts?.issuer != null,
    isIssuerNews: ({ context, event }) =>
      event.type === 'domain.observed' && event.facts !== null && isIssuerNews(context.facts, event.facts),
    isIssuerNewsMidway: ({ context, event }) =>
      event.type === 'domain.observed' && isMidway(context) && isIssuerNews(context.facts, event.facts),
    isAskedAnew: ({ context, event }) =>
      event.type === 'domain.observed' && event.facts !== null && isAskedAnew(context.facts, event.facts),
    isTampered: ({ context, event }) =>
      event.type === 'domain.observed' && event.facts !== null && isTampered(context, event.facts),
    hasIssuer: ({ context }: Args) => context.facts?.issuer != null,
    isAllForeign: ({ context }: Args) => usable(context).length === 0,
    isGoodAndIncomplete: ({ context, event }) => !isDue(context, timeOf(event)) && context.missing.length > 0,
    isGoodAsTold: ({ context, event }) => !isDue(context, timeOf(event)) && isToldValid(context),
    isGood: ({ context, event }) => !isDue(context, timeOf(event)),
    isIssuedAlready: ({ context }: Args) => context.isIssued,
    isUnprovable: ({ context }: Args) => isUnprovable(context),
    isHeldBack: ({ context, event }) =>
      !context.forced && context.nextAttempt !== null && timeOf(event) < context.nextAttempt,
    isThisAttempt: ({ context, event }) => 'attempt' in event && event.attempt === context.attempt,
    isStoredWithPermit: ({ context, event }) =>
      event.type === 'certificate.stored' && event.attempt === context.attempt && context.permit !== null,
    isHopeless: ({ context, event }) =>
      event.type === 'acquisition.failed' &&
      event.attempt === context.attempt &&
      event.outcome === 'hopeless',
    isForeign: ({ context, event }) =>
      event.type === 'acquisition.failed' && event.attempt === context.attempt && event.outcome === 'foreign',
    isRateLimited: ({ context, event }) =>
      event.type === 'acquisition.failed' &&
      event.attempt === context.attempt &&
      event.outcome === 'rateLimited',
    isDown: ({ context, event }) =>
      event.type === 'acquisition.failed' && event.attempt === context.attempt && event.outcome === 'down',
    isClusterTrouble: ({ context, event }) =>
      event.type === 'acquisition.failed' && event.attempt === context.attempt && event.outcome === 'cluster',
    isGrantOfAnother: ({ context, event }) =>
      event.type === 'permit.granted' && event.issuer !== context.facts?.issuer?.name,
    isGrantOfCa: ({ context }: Args) => context.facts?.issuer?.kind === 'ca',
    isOrderOpen: ({ context, event }) => context.order !== null && timeOf(event) < context.order.expires,
    isDeferredByOutage: ({ context, event }) => isDeferredBy(context, event, 'down'),
    isDeferredByLimit: ({ context, event }) => isDeferredBy(context, event, 'rateLimited'),
    isDeferralNews: ({ context, event }) =>
      event.type === 'permit.deferred' &&
      event.issuer === context.facts?.issuer?.name &&
      !equal(context.deferral, { reason: event.reason, until: event.until }),
    isPollDue: ({ context, event }) =>
      isPollable(context) && context.pollAt <= timeOf(event) && !isDue(context, timeOf(event)),
    isOfMyCertificate: ({ context, event }) =>
      'fingerprint' in event && event.fingerprint === context.certificate?.fingerprint,
    isWindowNews: ({ context, event }) =>
      event.type === 'ari.fetched' &&
      event.fingerprint === context.certificate?.fingerprint &&
      (event.start !== context.window?.start || event.end !== context.window.end),
    isNoPermitHeld: ({ context }: Args) => context.permit === null,
    isReportLost: ({ event }) =>
      event.type === 'effect.settled' && event.effect === 'domain.report' && event.error !== null,
  },
  delays: {
    /** The bound on the effect (limits.ts) and a little more: then its outcome is lost. */
    inspectPatience: 35_000,
    orderPatience: ({ context, event }) => stepPatience(context, timeOf(event), 60_000),
    /** DNS may take minutes to spread; the authority's own checks take seconds. */
    authorizePatience: ({ context, event }) => stepPatience(context, timeOf(event), 210_000),
    finalizePatience: ({ context, event }) => stepPatience(context, timeOf(event), 120_000),
    storePatience: ({ context, event }) => stepPatience(context, timeOf(event), 60_000),
    /** The Issuer remembers who asked, so this only mends a question that was lost (I4). */
    askAgain: ({ context, event }) => askPauseMs(context, timeOf(event)),
    /** The Issuer says when; this only mends what was lost. */
    askInTime: ({ context, event }) => Math.max(0, (context.nextAttempt ?? 0) - timeOf(event)) + 60_000,
    askAfterOutage: 60_000,
    backOff: ({ context, event }) => Math.max(0, (context.nextAttempt ?? 0) - timeOf(event)),
    look: ({ context, event }) => lookInMs(context, timeOf(event)),
    /** What could not be told is told again: Kubernetes was away. */
    reportAgain: 30_000,
  },
  actions: {
    remember: assign(({ event }) => (event.type === 'domain.observed' ? { facts: event.facts } : {})),
    enter: assign(({ context, event }, { phase }: { readonly phase: string }) =>
      entered(context, phase, timeOf(event)),
    ),
    force: assign({ forced: true, nextAttempt: null }),
    pollNow: assign({ pollAt: 0 }),
    numberAttempt: assign(({ context }) => ({ attempt: context.attempt + 1 })),
    forgetFlow: assign({ order: null, permit: null, nextAttempt: null, deferral: null, askings: 0 }),
    dropPermit: assign({ permit: null }),
    learnInspection: assign(({ context, event }) => {
      if (event.type !== 'certificate.inspected') return {};
      const isSame = event.good?.fingerprint === context.certificate?.fingerprint;
      return {
        certificate: event.good,
        missing: event.missing,
        foreign: event.foreign,
        ...(isSame ? {} : { window: null, pollAt: 0 }),
        ...pendingOf(context, event),
        lookAt: event.at + lookPauseMs(event.random),
      };
    }),
    noteForeign: assign(({ context }) => ({ lastError: foreignText(context), nextAttempt: null })),
    noteUnprovable: assign(({ context }) => ({
      lastError: `${context.host} is a wildcard, and Issuer ${context.facts?.issuer?.name ?? ''} proves control over HTTP (http01): a wildcard needs dns01.`,
      nextAttempt: null,
    })),
    noteLookFailure: assign(({ event }) => ({
      lastError: event.type === 'inspection.failed' ? event.message : 'the Secrets were not read in time',
      nextAttempt: timeOf(event) + 5_000 + Math.round(5_000 * chanceOf(event)),
    })),
    countAsking: assign(({ context }) => ({ askings: context.askings + 1 })),
    noteDeferral: assign(({ event }) =>
      event.type === 'permit.deferred' ? { deferral: { reason: event.reason, until: event.until } } : {},
    ),
    noteWait: assign(({ context, event }) =>
      event.type === 'permit.deferred'
        ? { lastError: deferralText(context.facts?.issuer ?? null, event), nextAttempt: event.until }
        : {},
    ),
    takePermit: assign(({ event }) => ({
      permit: event.type === 'permit.granted' ? event.issuer : null,
      startedAt: timeOf(event),
      deferral: null,
      askings: 0,
      nextAttempt: null,
    })),
    startNew: assign(({ context }) => ({ order: null, pendingAt: usable(context)[0] ?? null })),
    chooseSource: assign((_, { from }: { readonly from: DomainContext['storeFrom'] }) => ({
      storeFrom: from,
    })),
    keepOrder: assign(({ event }) => (event.type === 'order.made' ? { order: event.order } : {})),
    closeOrder: assign({ order: null }),
    noteFailure: assign(({ context, event }) => ({
      lastError: event.type === 'acquisition.failed' ? event.message : 'no outcome of the step in time',
      order: event.type === 'acquisition.failed' && event.orderLost ? null : context.order,
      nextAttempt: null,
    })),
    noteLimit: assign(({ context, event }) => {
      if (event.type !== 'acquisition.failed') return {};
      const waitMs = limitMs(event.retryAfterMs, event.random);
      return {
        lastError: event.message,
        order: event.orderLost ? null : context.order,
        nextAttempt: event.at + waitMs,
      };
    }),
    waitBriefly: assign(({ event }) => ({
      nextAttempt: timeOf(event) + 5_000 + Math.round(5_000 * chanceOf(event)),
    })),
    countFailure: assign(({ context, event }) =>
      event.type === 'acquisition.failed' ? refused(context, event) : {},
    ),
    succeed: assign(({ event }) =>
      event.type === 'certificate.stored'
        ? {
            certificate: event.certificate,
            foreign: event.foreign,
            missing: [],
            window: null,
            pollAt: event.at + Math.round(pollPauseMs(null, event.random) * event.random),
            lookAt: event.at + confirmMs,
            order: null,
            pendingAt: null,
            isIssued: false,
            forced: false,
            failures: 0,
            lastError: null,
            nextAttempt: null,
          }
        : {},
    ),
    settle: assign({ lastError: null, nextAttempt: null, failures: 0, pendingAt: null, order: null }),
    postponePoll: assign(({ event }) => ({ pollAt: timeOf(event) + 15 * 60_000 })),
    learnWindow: assign(({ context, event }) =>
      event.type === 'ari.fetched'
        ? {
            window: windowOf(context.window, event, event.random),
            pollAt: event.at + pollPauseMs(event.retryAfterMs, event.random),
          }
        : {},
    ),
    noteNoWindow: assign(({ event }) =>
      event.type === 'ari.unavailable'
        ? { pollAt: event.at + pollPauseMs(event.retryAfterMs, event.random) }
        : {},
    ),
    reportLater: raise({ type: 'report.due', at: 0, random: 0 }, { delay: 'reportAgain', id: 'report' }),
    'message.send': (_, _params: Omit<MessageSend, 'type'>) => {},
    'certificate.inspect': (_, _params: Of<'certificate.inspect'>) => {},
    'acme.order': (_, _params: Of<'acme.order'>) => {},
    'acme.authorize': (_, _params: Of<'acme.authorize'>) => {},
    'acme.finalize': (_, _params: Of<'acme.finalize'>) => {},
    'certificate.store': (_, _params: Of<'certificate.store'>) => {},
    'ari.fetch': (_, _params: Of<'ari.fetch'>) => {},
    'pending.discard': (_, _params: Of<'pending.discard'>) => {},
    'domain.report': (_, _params: Omit<DomainReport, 'type'>) => {},
  },
});
