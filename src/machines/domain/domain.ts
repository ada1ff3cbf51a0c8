/**
 * `domain/_/<host>`: one certificate for one host – obtained, stored, renewed in time, and never ordered
 * twice.
 *
 * Who sends: the router (`domain.observed`), the Issuer's chart (`permit.*`), the effects (outcomes of each
 * step), people (`domain.renew`, `domain.recheck`). What it promises (docs/features/certificates.md):
 * - A certificate that is stored, whole and not due is `valid`: a restart or a move orders nothing.
 * - It orders with a permit of its Issuer only, and holds one at most; whatever ends the attempt gives the
 *   permit back.
 * - The order is in the record before anything irreversible is done, so whoever takes over goes on with the
 *   same order.
 * - The number of refusals and the time of the next attempt are in the record; every wait is at least 1 s and
 *   at most 24 h. Whoever asks for the host anew meets it: the actor stays that long in `clearing`.
 * - What is stored is left alone until the new certificate takes its place; a Secret of somebody else is
 *   never touched.
 * - A host is one namespace's at a time; when it passes to another, nothing of the old certificate is taken
 *   over.
 * Absent: the protocol (effects over acme/), keys (they go from the maker into a Secret and are in no
 *   event), budgets (issuer.ts).
 */
import type { Chart } from '../chart.ts';
import { tells } from '../tell.ts';
import { isUnwritten } from '../unwritten.ts';
import { type DomainContext, newborn } from './domain-context.ts';
import { domainEffects } from './domain-effects.ts';
import { queued } from './domain-queued.ts';
import { domainForm, domainMigrations } from './domain-record.ts';
import { hopelessNotice, issuedNotice, refusedNotice } from './domain-report.ts';
import { authorization, finalization, inspection, ordering, planning, storage } from './domain-requests.ts';
import { isKeptLong } from './domain-schedule.ts';
import { domainSetup } from './domain-setup.ts';
import { tellDomain } from './domain-tell.ts';
import {
  askedMeanwhile,
  asking,
  failure,
  looks,
  othersAreTold,
  reports,
  silence,
  stored,
  storeFrom,
  tell,
  tellLeft,
  wishes,
} from './domain-transitions.ts';

const domainMachine = domainSetup.createMachine({
  id: 'domain',
  context: ({ input }) => newborn(input),
  initial: 'waitingForIssuer',
  on: {
    'domain.observed': [
      {
        guard: 'isGoneWithLeftovers',
        target: '.clearing',
        actions: ['leavePlace', 'discardPending', 'forgetAll'],
      },
      {
        guard: 'isGoneInWait',
        target: '.clearing',
        actions: ['leavePlace', 'discardPending', 'forgetAll'],
      },
      { guard: 'isGone', target: '.retired', actions: ['leavePlace', 'discardPending'] },
      {
        guard: 'isOwnerNews',
        target: '.deciding',
        actions: ['leavePlace', 'discardPending', 'changeOwner', 'watchExpiry'],
      },
      {
        guard: 'isIssuerNews',
        target: '.deciding',
        actions: ['leavePlace', 'changeIssuer', 'watchExpiry'],
      },
      { guard: 'isLesserNews', actions: ['remember', 'watchExpiry'] },
    ],
    'permit.granted': { guard: 'isNoRepetition', actions: 'returnGrant' },
    'effect.settled': [
      { guard: 'isReportLost', actions: ['noteUnwritten', 'reportLater'] },
      { guard: 'isReportBack', actions: 'noteWritten' },
    ],
    'domain.status.observed': [
      { guard: 'isMistoldAnew', actions: ['doubtTold', 'retellLater'] },
      { guard: 'isToldAgain', actions: ['trustTold', 'retellNot'] },
    ],
    'sweep.due': { actions: 'sweep' },
    // Transient states make no report, so none gives up.
    'challenge.cleared': [
      { guard: 'isSwept', actions: 'noteSwept' },
      { actions: ['noteSwept', 'sweepLater'] },
    ],
  },
  states: {
    waitingForIssuer: {
      description: 'No Issuer allows this host; nothing happens until one does.',
      tags: ['settled', 'wrong'],
      on: {
        ...reports('waitingForIssuer'),
        'domain.renew': { actions: 'want' },
        'domain.observed': { guard: 'isLesserNews', target: 'deciding', actions: 'remember' },
      },
      after: { restate: 'deciding' },
    },
    deciding: {
      description: 'Checks whether an Issuer allows the host.',
      tags: 'settled',
      always: [
        { guard: 'hasIssuer', target: 'checkingStored' },
        { target: 'waitingForIssuer', actions: ['clearPending', ...tell('waitingForIssuer')] },
      ],
    },
    checkingStored: {
      description: 'Checks whether the Secret holds a certificate that stays valid long enough.',
      entry: ['numberAttempt', { type: 'certificate.inspect', params: inspection }],
      on: {
        'certificate.inspected': {
          guard: 'isThisAttempt',
          actions: ['learnInspection', 'watchExpiry'],
          target: 'judging',
        },
        'inspection.failed': {
          guard: 'isThisAttempt',
          actions: 'noteLookFailure',
          target: 'resting.backingOff',
        },
        // What is told next depends on what is found, which may be that nothing has to be told.
        'report.due': { actions: 'reportLater' },
        'expiry.due': { actions: ['reportLater', 'watchExpiry'] },
        'domain.renew': { actions: ['force', 'pollNow'] },
        'domain.recheck': { actions: 'pollNow' },
        'domain.observed': [
          { guard: 'isWish', actions: ['remember', 'bringForward', 'pollNow'], target: 'deciding' },
          { guard: 'isAskedAnew', actions: 'remember', target: 'deciding' },
          // What was read may have been there before.
          { guard: 'isTampered', actions: 'remember', target: 'deciding' },
        ],
      },
      after: { inspectPatience: { actions: 'noteLookFailure', target: 'resting.backingOff' } },
    },
    judging: {
      description: 'Decides what to do about what is stored.',
      tags: 'settled',
      always: [
        { guard: 'isNowhere', target: 'resting.failed', actions: 'noteForeign' },
        { guard: 'isGoodAndIncomplete', target: 'acquiring.storing', actions: storeFrom('stored') },
        { guard: 'isGoodAsTold', target: 'valid', actions: ['putAside', 'discardPending', 'settle'] },
        {
          guard: 'isGood',
          target: 'valid',
          actions: ['putAside', 'discardPending', 'settle', ...tell('valid')],
        },
        { guard: 'isIssuedAlready', target: 'acquiring.storing', actions: storeFrom('pending') },
        { guard: 'isUnprovable', target: 'resting.failed', actions: 'noteUnprovable' },
        { guard: 'isHeldBack', target: 'resting.backingOff', actions: 'takeUp' },
        { guard: 'isHeldAsFailed', target: 'resting.failed', actions: 'takeUp' },
        { target: 'queued.waitingForPermit', actions: ['takeUp', ...asking, ...tell('waitingForPermit')] },
      ],
    },
    queued,
    acquiring: {
      description: 'A certificate is being obtained or stored; the permit is returned however this ends.',
      initial: 'ordering',
      exit: ['breakOff', 'returnPermit'],
      on: { 'acquisition.failed': failure, 'domain.renew': { actions: 'want' } },
      states: {
        ordering: {
          id: 'domain.ordering',
          description: 'Places the order with the authority.',
          entry: ['numberAttempt', { type: 'acme.order', params: ordering }, ...tell('ordering')],
          on: {
            ...reports('ordering'),
            'domain.observed': askedMeanwhile('ordering'),
            'order.made': [
              { guard: 'isThisNoted', actions: 'keepOrder', target: 'preparing' },
              { guard: 'isThisAttempt', actions: 'keepOrder', target: 'authorizing' },
            ],
          },
          after: { orderPatience: silence },
        },
        preparing: {
          id: 'domain.preparing',
          description: 'Finds out what the challenge needs and records it before creating anything.',
          entry: ['numberAttempt', { type: 'challenge.plan', params: planning }, ...tell('authorizing')],
          on: {
            ...reports('authorizing'),
            'domain.observed': askedMeanwhile('authorizing'),
            'challenge.planned': { guard: 'isThisAttempt', actions: 'noteExhibit', target: 'authorizing' },
          },
          after: { planPatience: silence },
        },
        authorizing: {
          id: 'domain.authorizing',
          description: 'Proves control of the host to the authority.',
          entry: ['numberAttempt', { type: 'acme.authorize', params: authorization }, ...tell('authorizing')],
          exit: 'endShowing',
          on: {
            ...reports('authorizing'),
            'domain.observed': askedMeanwhile('authorizing'),
            'order.authorized': { guard: 'isThisAttempt', target: 'finalizing' },
          },
          after: { authorizePatience: silence },
        },
        finalizing: {
          id: 'domain.finalizing',
          description:
            'Stores the key in a Secret of its own and has the authority issue the certificate for it.',
          entry: ['numberAttempt', { type: 'acme.finalize', params: finalization }, ...tell('finalizing')],
          on: {
            ...reports('finalizing'),
            'domain.observed': askedMeanwhile('finalizing'),
            'certificate.received': {
              guard: 'isThisAttempt',
              actions: ['closeOrder', storeFrom('pending')],
              target: 'storing',
            },
          },
          after: { finalizePatience: silence },
        },
        storing: {
          id: 'domain.storing',
          description: 'Writes the certificate into the requested Secrets.',
          entry: ['numberAttempt', { type: 'certificate.store', params: storage }, ...tell('storing')],
          on: {
            ...reports('storing'),
            'certificate.stored': {
              guard: 'isThisAttempt',
              actions: ['succeed', 'watchExpiry', ...tell('valid', issuedNotice)],
              target: '#domain.valid',
            },
            'domain.observed': [
              { guard: 'isWish', actions: 'remember', target: 'storing', reenter: true },
              { guard: 'isAskedAnew', actions: 'remember', target: 'storing', reenter: true },
              { guard: 'hasNewTarget', actions: 'remember', target: 'storing', reenter: true },
              othersAreTold('storing'),
            ],
          },
          after: {
            storePatience: {
              target: '#domain.resting.backingOff',
              actions: ['noteFailure', 'waitBriefly'],
            },
          },
        },
      },
    },
    valid: {
      ...stored,
      description: 'A valid certificate is stored; it is checked now and then and renewed in time.',
      tags: 'settled',
      always: { guard: 'isLacking', target: 'lacking' },
    },
    lacking: {
      ...stored,
      description: 'As valid, but a Secret that an object names lacks the certificate, and says why.',
      tags: ['settled', 'wrong'],
      always: { guard: 'isWhole', target: 'valid' },
    },
    resting: {
      description: 'The last attempt failed; waits for the next one.',
      initial: 'backingOff',
      tags: 'wrong',
      on: wishes,
      states: {
        backingOff: {
          id: 'domain.backingOff',
          description:
            'The last attempt failed; the next one follows after a pause that grows with each failure.',
          entry: [...tell('backingOff', refusedNotice)],
          on: { ...reports('backingOff'), 'domain.observed': looks('backingOff') },
          after: { backOff: '#domain.checkingStored' },
        },
        failed: {
          id: 'domain.failed',
          description:
            'No certificate can be issued as things are; tries again when the request or the Issuer changes, on a message, or after a day; after five minutes where only a Secret stands in the way.',
          entry: [...tell('failed', hopelessNotice)],
          on: {
            ...reports('failed'),
            'domain.recheck': { target: '#domain.checkingStored', actions: ['letGo', 'pollNow'] },
            'domain.observed': [
              { guard: 'isUndated', target: 'failed', reenter: true, actions: ['remember', 'holdAsFailed'] },
              {
                guard: 'isAskedAnew',
                target: '#domain.checkingStored',
                actions: ['remember', 'bringForward'],
              },
              ...looks('failed'),
            ],
          },
          after: { backOff: '#domain.checkingStored' },
        },
      },
    },
    clearing: {
      description:
        'Nothing asks for the host any more; removes what its challenges left behind, and remembers how long it has to wait, for whoever asks again.',
      // Nobody's trouble any more: it ends with what asked for the host.
      tags: 'settled',
      entry: 'sweep',
      on: {
        'domain.observed': [
          { guard: 'isGone' },
          { target: 'deciding', actions: ['comeBack', 'watchExpiry'] },
        ],
        // What was still on its way was about objects that are gone.
        'effect.settled': {},
        'challenge.cleared': [
          { guard: 'isSweptAndOver', target: 'retired', actions: 'noteSwept' },
          { guard: 'isGivenUpAndOver', target: 'retired', actions: tellLeft },
          { guard: 'isSwept', actions: 'noteSwept' },
          { guard: 'isGivenUp', actions: [tellLeft, 'dropLeftovers'] },
          { actions: ['noteSwept', 'sweepLater'] },
        ],
      },
      after: {
        memory: { guard: 'hasNoLeftovers', target: 'retired' },
        sweepPatience: [
          { guard: 'hasNoLeftovers', target: 'retired' },
          { target: 'retired', actions: tellLeft },
        ],
      },
    },
    retired: {
      description: 'Nothing asks for the host any more; nothing is ordered, and the Secret is kept.',
      type: 'final',
    },
  },
});

export const domainChart: Chart = {
  name: 'domain',
  shortName: 'dom',
  version: 6,
  description: 'Keeps one certificate for one host: obtains it, stores it and renews it in time.',
  machine: domainMachine,
  durable: true,
  createdBy: ['domain.observed'],
  effects: domainEffects,
  migrations: domainMigrations,
  form: domainForm,
  needsLook: (context) => isUnwritten(context) || isKeptLong(context as Partial<DomainContext>),
  tell: tells(tellDomain),
};
