/** Transitions that several states of the domain chart share, with the report that each makes. Pure data. */
import type { DomainContext, Moment } from './domain-context.ts';
import { givenUpNotice, lastReport, leftNotice, report } from './domain-report.ts';
import { question, renewalQuestion } from './domain-requests.ts';
import type { StateWord } from './domain-words.ts';

/**
 * People are told the state by its word. The word is noted afterwards, so that the notice still sees what
 * people knew before.
 */
export const tell = (word: StateWord, notice: Parameters<typeof report>[1]['notice'] = null) =>
  [
    { type: 'domain.report', params: (moment: Moment) => report(moment, { word, notice }) },
    { type: 'note', params: { word } },
  ] as const;

/** Of what stays behind, when nobody asks for the host any more. */
export const tellLeft = { type: 'domain.report', params: lastReport } as const;

export const asking = ['countAsking', { type: 'message.send', params: question }] as const;

/**
 * Events that every lasting state handles: a report to repeat, and the approaching expiry of the certificate.
 */
export const reports = (word: StateWord) =>
  ({
    'report.due': { actions: [...tell(word)] },
    'expiry.due': { actions: [...tell(word), 'watchExpiry'] },
    'challenge.cleared': [
      { guard: 'isSwept', actions: 'noteSwept' },
      { guard: 'isGivenUp', actions: [...tell(word, givenUpNotice), 'dropLeftovers'] },
      { actions: ['noteSwept', ...tell(word, leftNotice), 'sweepLater'] },
    ],
  }) as const;

/** Other sources changed: they are told, nothing else (docs/features/certificates.md §2.2). */
export const othersAreTold = (word: StateWord) =>
  ({ guard: 'isOthersNews', actions: ['remember', ...tell(word)] }) as const;

/** The sources changed during a step: they are told the state, and the step continues. */
export const askedMeanwhile = (word: StateWord) =>
  [
    { guard: 'isAskedAnew', actions: ['remember', ...tell(word)] },
    { guard: 'isWish', actions: ['remember', ...tell(word)] },
    othersAreTold(word),
  ] as const;

export const storeFrom = (from: DomainContext['storeFrom']) =>
  ({ type: 'chooseSource', params: { from } }) as const;

/** Observations that cause an inspection in waiting states: docs/features/certificates.md §7.5. */
export const looks = (word: StateWord) =>
  [
    { guard: 'isWish', target: '#domain.checkingStored', actions: ['remember', 'bringForward', 'pollNow'] },
    { guard: 'isAskedAnew', target: '#domain.checkingStored', actions: 'remember' },
    { guard: 'isTampered', target: '#domain.checkingStored', actions: 'remember' },
    othersAreTold(word),
  ] as const;

/** A person requests an inspection; one who may send messages passes every pause. */
export const wishes = {
  'domain.renew': { target: '#domain.checkingStored', actions: ['force', 'pollNow'] },
  'domain.recheck': { target: '#domain.checkingStored', actions: 'pollNow' },
} as const;

/** The consequences of a failed step, by the failure's meaning. The permit is returned on exit. */
export const failure = [
  { guard: 'isHopeless', target: 'resting.failed', actions: ['noteFailure', 'holdAsFailed', 'clearPending'] },
  { guard: 'isForeign', target: 'resting.failed', actions: ['noteFailure', 'holdAsFailed'] },
  { guard: 'isRateLimited', target: 'queued.rateLimited', actions: ['noteLimit', 'clearPending'] },
  { guard: 'isOverdue', target: 'resting.backingOff', actions: ['countFailure', 'clearPending'] },
  { guard: 'isDown', target: 'queued.issuerDown', actions: ['noteFailure', 'clearPending'] },
  {
    guard: 'isUnusable',
    target: 'queued.waitingForPermit',
    actions: ['noteFailure', ...asking, ...tell('waitingForPermit')],
  },
  { guard: 'isClusterTrouble', target: 'resting.backingOff', actions: ['noteFailure', 'waitBriefly'] },
  { guard: 'isUnfinished', target: 'resting.backingOff', actions: ['noteFailure', 'waitBriefly'] },
  { guard: 'isUnwritable', target: 'resting.backingOff', actions: ['noteFailure', 'waitForRoom'] },
  { guard: 'isThisAttempt', target: 'resting.backingOff', actions: ['countFailure', 'clearPending'] },
] as const;

/** A granted permit: continue with the order as it is. */
export const granted = [
  { guard: 'isGrantInVain', actions: 'returnGrant' },
  {
    guard: 'isGrantOfCa',
    target: 'acquiring.storing',
    actions: ['takePermit', 'discardPending', 'startNew', storeFrom('ca')],
  },
  { guard: 'isNotedOrderOpen', target: 'acquiring.preparing', actions: 'takePermit' },
  { guard: 'isOrderOpen', target: 'acquiring.authorizing', actions: 'takePermit' },
  { target: 'acquiring.ordering', actions: ['takePermit', 'discardElsewhere', 'startNew'] },
] as const;

/** A step at the authority that ended without an answer. */
export const silence = { target: '#domain.queued.issuerDown', actions: 'noteFailure' } as const;

export const byOutage = {
  guard: 'isDeferredByOutage',
  target: 'issuerDown',
  actions: ['noteDeferral', 'noteWait'],
} as const;
/** The Issuer makes a domain wait whose certificate has expired. */
export const expired = { guard: 'isDeferredThoughExpired', target: 'expired' } as const;
/** The authority is available again: what is left to wait for is the Issuer's own. */
export const byQueue = [
  { ...expired, actions: 'noteDeferral' },
  {
    guard: 'isDeferredByQueue',
    target: 'waitingForPermit',
    actions: ['noteDeferral', ...tell('waitingForPermit')],
  },
] as const;
/** The Issuer cannot be used, and says why; one that is only being checked says nothing yet. */
export const byIssuer = {
  guard: 'isDeferredAsUnusable',
  target: 'issuerUnusable',
  actions: 'noteDeferral',
} as const;
export const byLimit = {
  guard: 'isDeferredByLimit',
  target: 'rateLimited',
  actions: ['noteDeferral', 'noteWait'],
} as const;

/** While a valid certificate is stored, wherever it is lacking. */
export const stored = {
  on: {
    ...wishes,
    ...reports('valid'),
    'domain.observed': looks('valid'),
    'ari.fetched': [
      {
        guard: 'isWindowNews',
        actions: ['learnWindow', ...tell('valid')],
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
      // Somebody else may have overwritten the status.
      { target: 'checkingStored', actions: 'forgetTold' },
    ],
  },
} as const;
