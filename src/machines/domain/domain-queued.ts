/**
 * The states of the domain chart in which a certificate is needed and the Issuer knows: it says whose turn it
 * is, and why not yet (docs/features/certificates.md §5 and §7). Guards, delays and actions are in
 * domain-setup.ts.
 */
import { limitedNotice } from './domain-report.ts';
import {
  asking,
  byIssuer,
  byLimit,
  byOutage,
  byQueue,
  expired,
  granted,
  looks,
  reports,
  tell,
  wishes,
} from './domain-transitions.ts';

/** As `waitingForPermit`, but somebody should look. @param elsewhere where other reasons to wait lead */
const keptWaiting = <const Name extends string, const Elsewhere extends readonly object[]>(
  name: Name,
  description: string,
  elsewhere: Elsewhere,
) =>
  ({
    id: `domain.${name}`,
    description,
    tags: 'wrong',
    entry: [...tell('waitingForPermit')],
    on: {
      ...reports('waitingForPermit'),
      'domain.observed': looks('waitingForPermit'),
      'permit.deferred': [
        byOutage,
        byLimit,
        ...elsewhere,
        { guard: 'isDeferralNews', target: name, reenter: true, actions: 'noteDeferral' },
      ],
    },
    after: { askAgain: { actions: asking, target: name, reenter: true } },
  }) as const;

export const queued = {
  description: "A certificate is needed; the Issuer knows and says when it is this domain's turn.",
  initial: 'waitingForPermit',
  exit: 'leaveQueue',
  on: { ...wishes, 'permit.granted': granted },
  states: {
    waitingForPermit: {
      id: 'domain.waitingForPermit',
      description:
        'A certificate is needed; the Issuer has been asked for a permit to order it, and may have said why not yet and when to ask again.',
      on: {
        ...reports('waitingForPermit'),
        'domain.observed': looks('waitingForPermit'),
        'expiry.due': [
          { guard: 'isExpired', target: 'expired', actions: 'watchExpiry' },
          { actions: [...tell('waitingForPermit'), 'watchExpiry'] },
        ],
        'permit.deferred': [
          byOutage,
          byLimit,
          byIssuer,
          { ...expired, actions: 'noteDeferral' },
          {
            guard: 'isDeferralNews',
            target: 'waitingForPermit',
            reenter: true,
            actions: ['noteDeferral', ...tell('waitingForPermit')],
          },
        ],
      },
      after: {
        askAgain: [
          { guard: 'isExpired', target: 'expired', actions: asking },
          { target: 'waitingForPermit', reenter: true, actions: asking },
        ],
      },
    },
    expired: keptWaiting(
      'expired',
      "The certificate has expired while the domain waits for its turn; nothing but the Issuer's permit helps.",
      [byIssuer],
    ),
    issuerUnusable: keptWaiting(
      'issuerUnusable',
      'The Issuer itself does not work, and says why; it says when this domain may continue.',
      byQueue,
    ),
    rateLimited: {
      id: 'domain.rateLimited',
      description: "The authority is rate limiting; the Issuer says when it is this domain's turn again.",
      tags: 'wrong',
      entry: ['countAsking', ...tell('rateLimited', limitedNotice)],
      on: {
        ...reports('rateLimited'),
        'domain.observed': looks('rateLimited'),
        'permit.deferred': [
          byOutage,
          ...byQueue,
          byIssuer,
          {
            guard: 'isDeferralNews',
            target: 'rateLimited',
            reenter: true,
            actions: ['noteDeferral', 'noteWait'],
          },
        ],
      },
      after: { askInTime: { target: 'waitingForPermit', actions: [...asking, ...tell('waitingForPermit')] } },
    },
    issuerDown: {
      id: 'domain.issuerDown',
      description:
        'The authority cannot be reached; the Issuer keeps checking and says when this domain may continue.',
      tags: 'wrong',
      entry: [...tell('issuerDown')],
      on: {
        ...reports('issuerDown'),
        'domain.observed': looks('issuerDown'),
        'permit.deferred': [
          byLimit,
          ...byQueue,
          byIssuer,
          {
            guard: 'isDeferralNews',
            target: 'issuerDown',
            reenter: true,
            actions: ['noteDeferral', 'noteWait'],
          },
        ],
      },
      after: {
        askAfterOutage: { actions: asking, target: 'issuerDown', reenter: true },
      },
    },
  },
} as const;
