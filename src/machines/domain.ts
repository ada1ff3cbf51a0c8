/**
 * `domain/_/<host>`: one certificate for one host – obtained, stored, renewed in time, and never ordered twice.
 *
 * Who sends: the router (`domain.observed`), the Issuer's chart (`permit.*`), the effects (outcomes of each step), people
 * (`domain.renew`, `domain.recheck`). What it promises:
 * - A certificate that is stored, whole and not due is `valid`: a restart or a move orders nothing.
 * - It orders with a permit of its Issuer only, and holds one at most; whatever ends the attempt gives the permit back.
 * - The order is in the record before anything irreversible is done, so whoever takes over goes on with the same order.
 * - The number of refusals and the time of the next attempt are in the record; every wait is at least 1 s and at most 24 h.
 * - What is stored is left alone until the new certificate takes its place; a Secret of somebody else is never touched.
 * Absent: the protocol (effects over acme/), keys (they go from the maker into a Secret and are in no event), budgets (issuer.ts).
 */
import { assign, raise, setup } from 'xstate';
import type { ActorInput } from './actor-input.ts';
import {
  askPauseMs,
  authorization,
  confirmMs,
  type DomainContext,
  type DomainInput,
  discarding,
  finalization,
  inspection,
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
  newborn,
  ordering,
  pendingOf,
  pollPauseMs,
  question,
  refused,
  renewalQuestion,
  returned,
  stepPatience,
  storage,
  usable,
  windowOf,
} from './domain-context.ts';
import type { DomainEffect, DomainReport } from './domain-effects.ts';
import type { PermitReturned } from './domain-events.ts';
import {
  deferralText,
  entered,
  failedNotice,
  foreignNotice,
  foreignText,
  issuedNotice,
  limitedNotice,
  report,
} from './domain-report.ts';
import type { MessageSend } from './effects.ts';
import { equal } from './equal.ts';
import type { Stamp } from './events.ts';

export const domainVersion = 1;
export const domainDescription =
  'Keeps one certificate for one host: obtains it, stores it, renews it in time.';

type Args = { readonly context: DomainContext };
type Of<T extends DomainEffect['type']> = Omit<Extract<DomainEffect, { readonly type: T }>, 'type'>;

const timeOf = (event: unknown) => (event as Stamp).at;
const chanceOf = (event: unknown) => (event as Stamp).random;

/** Gives the permit back with this outcome. */
const giveBack = (outcome: PermitReturned['outcome'], again = false) =>
  ({
    type: 'message.send',
    params: (moment: { context: DomainContext; event: DomainInput }) => returned(moment, { outcome, again }),
  }) as const;

const tell = (notice: Parameters<typeof report>[1]['notice'] = null) =>
  ({
    type: 'domain.report',
    params: (moment: { context: DomainContext; event: DomainInput }) => report(moment, { notice }),
  }) as const;

const storeFrom = (from: DomainContext['storeFrom']) => ({ type: 'chooseSource', params: { from } }) as const;

const enter = (phase: string) => ({ type: 'enter', params: { phase } }) as const;

/** What follows from a step that failed, by what the failure means. */
const failure = [
  {
    guard: 'isHopeless',
    target: 'failed',
    actions: [giveBack('refused'), 'noteFailure', enter('failed'), tell(failedNotice)],
  },
  {
    guard: 'isForeign',
    target: 'failed',
    actions: [giveBack('unused'), 'noteFailure', enter('failed'), tell(failedNotice)],
  },
  {
    guard: 'isRateLimited',
    target: 'rateLimited',
    actions: [giveBack('rateLimited', true), 'noteLimit', tell(limitedNotice)],
  },
  { guard: 'isDown', target: 'issuerDown', actions: [giveBack('down', true), 'noteFailure'] },
  {
    guard: 'isClusterTrouble',
    target: 'backingOff',
    actions: [giveBack('unused'), 'noteFailure', 'waitBriefly'],
  },
  {
    guard: 'isThisAttempt',
    target: 'backingOff',
    actions: [giveBack('refused'), 'countFailure', tell(failedNotice)],
  },
] as const;

/** A granted permit: go on where the order stands. */
const granted = [
  { guard: 'isGrantOfAnother', actions: giveBack('unused') },
  { guard: 'isGrantOfCa', target: 'storing', actions: ['takePermit', 'startNew', storeFrom('ca')] },
  { guard: 'isOrderOpen', target: 'authorizing', actions: 'takePermit' },
  { target: 'ordering', actions: ['takePermit', 'startNew'] },
] as const;

/** A step of the order that ends without a word. */
const silence = { target: 'issuerDown', actions: [giveBack('down', true), 'noteFailure'] } as const;

/** A person wants a new look. */
const wishes = {
  'domain.renew': { target: 'checkingStored', actions: ['force', 'pollNow'] },
  'domain.recheck': { target: 'checkingStored', actions: 'pollNow' },
} as const;

/** What the Issuer says while its permit is waited for. */
const waiting = {
  'permit.granted': granted,
  'permit.deferred': [
    { guard: 'isDeferredByOutage', target: 'issuerDown', actions: ['noteDeferral', 'noteWait'] },
    { guard: 'isDeferredByLimit', target: 'rateLimited', actions: ['noteDeferral', 'noteWait'] },
    { guard: 'isDeferralNews', actions: ['noteDeferral', tell()] },
  ],
} as const;

export const domainMachine = setup({
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
}).createMachine({
  id: 'domain',
  context: ({ input }) => newborn(input),
  initial: 'waitingForIssuer',
  on: {
    'domain.observed': [
      {
        guard: 'isGoneMidway',
        target: '.retired',
        actions: [giveBack('unused'), { type: 'pending.discard', params: discarding }],
      },
      { guard: 'isGone', target: '.retired' },
      {
        guard: 'isIssuerNewsMidway',
        target: '.deciding',
        actions: [giveBack('unused'), 'remember', 'forgetFlow'],
      },
      { guard: 'isIssuerNews', target: '.deciding', actions: ['remember', 'forgetFlow'] },
      { guard: 'isNews', actions: 'remember' },
    ],
    'permit.granted': { guard: 'isNoPermitHeld', actions: giveBack('unused') },
    'effect.settled': { guard: 'isReportLost', actions: 'reportLater' },
    'report.due': { actions: tell() },
  },
  states: {
    waitingForIssuer: {
      description: 'No Issuer allows this host (yet); nothing is done until one does.',
      tags: 'settled',
      on: {
        'domain.observed': [
          { guard: 'isGone', target: 'retired' },
          { guard: 'isNews', target: 'deciding', actions: 'remember' },
        ],
      },
    },
    deciding: {
      description: 'Looks whether an Issuer allows the host.',
      tags: 'settled',
      always: [
        { guard: 'hasIssuer', target: 'checkingStored' },
        { target: 'waitingForIssuer', actions: [enter('waitingForIssuer'), tell()] },
      ],
    },
    checkingStored: {
      description: 'Looks whether the Secret holds a certificate that is good for a while.',
      entry: [enter('checkingStored'), 'numberAttempt', { type: 'certificate.inspect', params: inspection }],
      on: {
        'certificate.inspected': { guard: 'isThisAttempt', actions: 'learnInspection', target: 'judging' },
        'inspection.failed': { guard: 'isThisAttempt', actions: 'noteLookFailure', target: 'backingOff' },
        'domain.renew': { actions: ['force', 'pollNow'] },
        'domain.recheck': { actions: 'pollNow' },
        'domain.observed': { guard: 'isAskedAnew', actions: 'remember', target: 'deciding' },
      },
      after: { inspectPatience: { actions: 'noteLookFailure', target: 'backingOff' } },
    },
    judging: {
      description: 'Chooses what follows from what is stored.',
      tags: 'settled',
      always: [
        {
          guard: 'isAllForeign',
          target: 'failed',
          actions: ['noteForeign', enter('failed'), tell(foreignNotice)],
        },
        { guard: 'isGoodAndIncomplete', target: 'storing', actions: storeFrom('stored') },
        { guard: 'isGood', target: 'valid', actions: ['settle', enter('valid'), tell()] },
        { guard: 'isIssuedAlready', target: 'storing', actions: storeFrom('pending') },
        {
          guard: 'isUnprovable',
          target: 'failed',
          actions: ['noteUnprovable', enter('failed'), tell(failedNotice)],
        },
        { guard: 'isHeldBack', target: 'backingOff' },
        { target: 'waitingForPermit' },
      ],
    },
    waitingForPermit: {
      description: 'A certificate is wanted; its Issuer has been asked for the permit to order.',
      entry: [enter('waitingForPermit'), 'countAsking', { type: 'message.send', params: question }, tell()],
      on: waiting,
      after: { askAgain: { target: 'waitingForPermit', reenter: true } },
    },
    ordering: {
      description: 'The order is being made at the authority.',
      entry: [enter('ordering'), 'numberAttempt', { type: 'acme.order', params: ordering }, tell()],
      on: {
        'order.made': { guard: 'isThisAttempt', actions: 'keepOrder', target: 'authorizing' },
        'acquisition.failed': failure,
      },
      after: { orderPatience: silence },
    },
    authorizing: {
      description: 'The authority is being shown that the host is ours.',
      entry: [
        enter('authorizing'),
        'numberAttempt',
        { type: 'acme.authorize', params: authorization },
        tell(),
      ],
      on: {
        'order.authorized': { guard: 'isThisAttempt', target: 'finalizing' },
        'acquisition.failed': failure,
      },
      after: { authorizePatience: silence },
    },
    finalizing: {
      description: 'The key is kept in a Secret of its own, and the authority issues the certificate for it.',
      entry: [enter('finalizing'), 'numberAttempt', { type: 'acme.finalize', params: finalization }, tell()],
      on: {
        'certificate.received': {
          guard: 'isThisAttempt',
          actions: ['closeOrder', storeFrom('pending')],
          target: 'storing',
        },
        'acquisition.failed': failure,
      },
      after: { finalizePatience: silence },
    },
    storing: {
      description: 'The certificate is being written into the Secrets that were asked for.',
      entry: [enter('storing'), 'numberAttempt', { type: 'certificate.store', params: storage }, tell()],
      on: {
        'certificate.stored': [
          {
            guard: 'isStoredWithPermit',
            actions: [giveBack('issued'), 'succeed', 'dropPermit', enter('valid'), tell(issuedNotice)],
            target: 'valid',
          },
          {
            guard: 'isThisAttempt',
            actions: ['succeed', enter('valid'), tell(issuedNotice)],
            target: 'valid',
          },
        ],
        'acquisition.failed': failure,
        'domain.observed': { guard: 'isAskedAnew', actions: 'remember', target: 'storing', reenter: true },
      },
      after: {
        storePatience: { target: 'backingOff', actions: [giveBack('unused'), 'noteFailure', 'waitBriefly'] },
      },
    },
    valid: {
      description: 'A good certificate is stored; it is looked after now and then and renewed in time.',
      entry: 'dropPermit',
      on: {
        ...wishes,
        'domain.observed': [
          { guard: 'isIssuerNews', target: 'deciding', actions: ['remember', 'forgetFlow'] },
          { guard: 'isAskedAnew', actions: 'remember', target: 'checkingStored' },
          { guard: 'isTampered', actions: 'remember', target: 'checkingStored' },
        ],
        'ari.fetched': [
          {
            guard: 'isWindowNews',
            actions: ['learnWindow', enter('valid'), tell()],
            target: 'valid',
            reenter: true,
          },
          { guard: 'isOfMyCertificate', actions: 'learnWindow', target: 'valid', reenter: true },
        ],
        'ari.unavailable': {
          guard: 'isOfMyCertificate',
          actions: 'noteNoWindow',
          target: 'valid',
          reenter: true,
        },
      },
      after: {
        look: [
          {
            guard: 'isPollDue',
            actions: [{ type: 'ari.fetch', params: renewalQuestion }, 'postponePoll'],
            target: 'valid',
            reenter: true,
          },
          { target: 'checkingStored' },
        ],
      },
    },
    backingOff: {
      description:
        'The last attempt failed; the next one follows after a while, the longer the more have failed.',
      tags: 'wrong',
      entry: [enter('backingOff'), 'dropPermit', tell()],
      on: wishes,
      after: { backOff: 'checkingStored' },
    },
    rateLimited: {
      description: 'The authority asked to wait; the Issuer lets one domain try when the time is over.',
      tags: 'wrong',
      entry: [enter('rateLimited'), 'dropPermit', 'countAsking', tell()],
      on: waiting,
      after: { askInTime: { target: 'waitingForPermit' } },
    },
    issuerDown: {
      description:
        'The authority cannot be reached; its Issuer tries it and says when this domain may go on.',
      tags: 'wrong',
      entry: [enter('issuerDown'), 'dropPermit', tell()],
      on: waiting,
      after: {
        askAfterOutage: {
          actions: { type: 'message.send', params: question },
          target: 'issuerDown',
          reenter: true,
        },
      },
    },
    failed: {
      description:
        'No certificate can be had like this; it waits for a change of what is asked, of the Issuer, or for a message.',
      tags: ['settled', 'wrong'],
      entry: 'dropPermit',
      on: {
        ...wishes,
        'domain.observed': [
          { guard: 'isIssuerNews', target: 'deciding', actions: ['remember', 'forgetFlow'] },
          { guard: 'isAskedAnew', actions: 'remember', target: 'checkingStored' },
        ],
      },
    },
    retired: {
      description: 'Nothing asks for the host any more: nothing is ordered, and the Secret stays as it is.',
      type: 'final',
    },
  },
});
