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
import {
  authorization,
  type DomainContext,
  type DomainInput,
  discarding,
  finalization,
  inspection,
  newborn,
  ordering,
  question,
  renewalQuestion,
  returned,
  storage,
} from './domain-context.ts';

import type { PermitReturned } from './domain-events.ts';
import { failedNotice, foreignNotice, issuedNotice, limitedNotice, report } from './domain-report.ts';

import { domainSetup } from './domain-setup.ts';

export const domainVersion = 1;
export const domainDescription =
  'Keeps one certificate for one host: obtains it, stores it, renews it in time.';

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

export const domainMachine = domainSetup.createMachine({
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
        { guard: 'isGoodAsTold', target: 'valid', actions: ['settle', enter('valid')] },
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
