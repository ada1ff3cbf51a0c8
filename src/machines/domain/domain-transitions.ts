/** Transitions that several states of the domain chart share, and how each tells of itself. Pure data. */
import type { DomainContext, Moment } from './domain-context.ts';
import { givenUpNotice, leftNotice, report } from './domain-report.ts';
import type { StateWord } from './domain-words.ts';

/**
 * People are told of the state by its word; the note of it follows, so that the notice still sees what they
 * knew before.
 */
export const tell = (word: StateWord, notice: Parameters<typeof report>[1]['notice'] = null) =>
  [
    { type: 'domain.report', params: (moment: Moment) => report(moment, { word, notice }) },
    { type: 'note', params: { word } },
  ] as const;

/**
 * What is heard in every state that lasts: a report to repeat, and the end of the certificate that comes
 * near.
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

/** Others who ask have changed: they are told, nothing else (docs/features/certificates.md §2.2). */
export const othersAreTold = (word: StateWord) =>
  ({ guard: 'isOthersNews', actions: ['remember', ...tell(word)] }) as const;

/**
 * Those who ask have changed in the middle of something: they are told how it stands, and the step goes on.
 */
export const askedMeanwhile = (word: StateWord) =>
  [
    { guard: 'isAskedAnew', actions: ['remember', ...tell(word)] },
    { guard: 'isWish', actions: ['remember', ...tell(word)] },
    othersAreTold(word),
  ] as const;

export const storeFrom = (from: DomainContext['storeFrom']) =>
  ({ type: 'chooseSource', params: { from } }) as const;

/** News that a new look follows from, in states that wait: docs/features/certificates.md §7.5. */
export const looks = (word: StateWord) =>
  [
    { guard: 'isWish', target: '#domain.checkingStored', actions: ['remember', 'force', 'pollNow'] },
    { guard: 'isAskedAnew', target: '#domain.checkingStored', actions: 'remember' },
    { guard: 'isTampered', target: '#domain.checkingStored', actions: 'remember' },
    othersAreTold(word),
  ] as const;

/** A person wants a new look. */
export const wishes = {
  'domain.renew': { target: '#domain.checkingStored', actions: ['force', 'pollNow'] },
  'domain.recheck': { target: '#domain.checkingStored', actions: 'pollNow' },
} as const;

/** What follows from a step that failed, by what the failure means. The permit goes back on the way out. */
export const failure = [
  { guard: 'isHopeless', target: 'resting.failed', actions: ['noteFailure', 'holdDaily', 'clearPending'] },
  { guard: 'isForeign', target: 'resting.failed', actions: ['noteFailure', 'holdDaily'] },
  { guard: 'isRateLimited', target: 'queued.rateLimited', actions: ['noteLimit', 'clearPending'] },
  { guard: 'isDown', target: 'queued.issuerDown', actions: ['noteFailure', 'clearPending'] },
  { guard: 'isUnusable', target: 'queued.waitingForPermit', actions: 'noteFailure' },
  { guard: 'isClusterTrouble', target: 'resting.backingOff', actions: ['noteFailure', 'waitBriefly'] },
  { guard: 'isUnwritable', target: 'resting.backingOff', actions: ['noteFailure', 'waitForRoom'] },
  { guard: 'isThisAttempt', target: 'resting.backingOff', actions: ['countFailure', 'clearPending'] },
] as const;

/** A granted permit: go on where the order stands. */
export const granted = [
  { guard: 'isGrantOfAnother', actions: 'returnGrant' },
  { guard: 'isGrantOfCa', target: 'acquiring.storing', actions: ['takePermit', 'startNew', storeFrom('ca')] },
  { guard: 'isNotedOrderOpen', target: 'acquiring.preparing', actions: 'takePermit' },
  { guard: 'isOrderOpen', target: 'acquiring.authorizing', actions: 'takePermit' },
  { target: 'acquiring.ordering', actions: ['takePermit', 'startNew'] },
] as const;

/** A step of the authority that ends without a word. */
export const silence = { target: '#domain.queued.issuerDown', actions: 'noteFailure' } as const;

export const byOutage = {
  guard: 'isDeferredByOutage',
  target: 'issuerDown',
  actions: ['noteDeferral', 'noteWait'],
} as const;
/** The authority is there again: what is waited for now is the Issuer's own. */
export const byQueue = {
  guard: 'isDeferredByQueue',
  target: 'waitingForPermit',
  actions: 'noteDeferral',
} as const;
export const byLimit = {
  guard: 'isDeferredByLimit',
  target: 'rateLimited',
  actions: ['noteDeferral', 'noteWait'],
} as const;
