/**
 * `election/<ns>/<name>`: decides who leads, by one Lease that other programs contend for too. The same chart
 * runs for candidates that campaign over NATS and, in memory, for one process that campaigns for itself.
 *
 * Who sends: the world or the command line (`election.observed`), candidates
 * (`election.campaign|renew|resign`), the Lease and what was asked of it (`lease.*`). What it promises:
 * - A holder that is not ours is respected for the duration that its record names, counted from when the
 *   record was seen to change.
 * - Nobody leads by us past the renew deadline, counted from before the last request that succeeded was asked
 *   for; leading ends first, then others are talked to. It ends at once when the Lease is seen in other
 *   hands.
 * - Each reign has a term of its own, greater than any before: the Lease's transitions + 1, kept when the
 *   Lease is recreated.
 * - Every renewal changes the Lease by a whole second. Nothing is written for a reign whose Lease is over.
 * Absent: the API server (effects), who asks how (requests, command line), clocks of other machines.
 */

import type { Chart } from '../chart.ts';
import { isUnwritten } from '../unwritten.ts';
import { followOf, lookOf, releaseOf, writeOf } from './election-asks.ts';
import { newborn } from './election-context.ts';
import { electionEffects } from './election-effects.ts';
import { isDeferrable, isHeartbeat } from './election-heartbeat.ts';
import { electionMigrations } from './election-migrations.ts';
import { tellElection } from './election-reason.ts';
import { electionSetup } from './election-setup.ts';

/** The Lease is followed again; events of an earlier following no longer count. */
const follows = ['countFollow', { type: 'lease.follow', params: followOf }] as const;

/** The Lease was written or found in the name of our candidate. */
const won = { actions: ['beginReign', 'noteLeader', 'tell'], target: '#election.leading' } as const;

/** The Lease is in other hands, or nobody's. */
const takenAway = [
  {
    guard: 'isStolen',
    actions: ['loseByTheft', 'noteSeen', 'noteLeader', 'tell'],
    target: '#election.observing',
  },
  { guard: 'isWiped', actions: ['loseByWiping', 'noteSeen'], target: '#election.observing' },
] as const;

/** Both deadlines of a term, set again. */
const rearmed = ['disarmDeadline', 'armDeadline', 'disarmHolder', 'armHolder'] as const;

const electionMachine = electionSetup.createMachine({
  id: 'election',
  context: ({ input }) => newborn(input),
  initial: 'starting',
  on: {
    'election.observed': [
      { guard: 'isGone', actions: 'remember', target: '.released' },
      { guard: 'isMadeInvalid', actions: ['remember', 'tell'], target: '.invalid' },
      { guard: 'isElsewhere', actions: ['remember', ...follows], target: '.looking' },
      { guard: 'isNews', actions: ['renewTimes', 'remember', 'tell'] },
      { guard: 'isMoved', actions: 'renewTimes' },
    ],
    'election.status.observed': [
      { guard: 'isTermRemembered', actions: 'recallTerm' },
      { guard: 'isMistold', actions: ['renewTimes', 'doubtTold', 'tell'] },
    ],
    'election.campaign': [{ guard: 'isUnheard' }, { actions: ['renewTimes', 'noteCandidate', 'tell'] }],
    'election.renew': [
      { guard: 'isUnheard' },
      { guard: 'isCandidate', actions: ['renewTimes', 'noteHeard', 'tell'] },
    ],
    'election.resign': [
      { guard: 'isImpostor' },
      { guard: 'isCandidate', actions: ['dropCandidate', 'tell'] },
    ],
    'clock.leapt': { actions: 'shift' },
    'lease.seen': [
      { guard: 'isNewForeignLeader', actions: ['noteSeen', 'noteLeader', 'tell'] },
      { guard: 'isSeenNews', actions: ['noteSeen', 'tell'] },
    ],
    'lease.followed': [
      { guard: 'isFollowedElsewhere' },
      { guard: 'hasFollowFailed', actions: 'armFollowing' },
      { actions: [...follows] },
    ],
    'election.follow.due': { actions: [...follows] },
    'election-status.patched': [{ guard: 'isOfAnother' }, { actions: ['noteTold', 'tell'] }],
    'election-status.refused': [{ guard: 'isOfAnother' }, { actions: ['noteUntold', 'armTelling'] }],
    'election.telling.due': { actions: 'tell' },
  },
  states: {
    starting: {
      description: "Waits for the Election's spec.",
      tags: 'settled',
    },
    invalid: {
      description: "The Election's spec is not valid; its status says why.",
      tags: ['settled', 'wrong'],
      on: {
        'election.observed': [
          { guard: 'isGone', actions: 'remember', target: 'released' },
          {
            guard: 'isMadeValid',
            actions: ['remember', ...follows, 'tell'],
            target: 'looking',
          },
        ],
        // A Lease that the election may not use is not read either.
        'lease.seen': {},
        'lease.followed': {},
        'election.follow.due': {},
      },
      after: { restate: { actions: 'tell', target: 'invalid', reenter: true } },
    },
    looking: {
      description: 'Reads the Lease: who holds it, and when it last changed.',
      initial: 'asking',
      always: [
        { guard: 'isEnding', target: 'released' },
        { guard: 'isInvalid', target: 'invalid', actions: 'tell' },
      ],
      on: {
        'clock.leapt': { actions: 'shift', target: '.asking' },
        'lease.seen': [
          { guard: 'isOwnClaim', ...won },
          { guard: 'isNewForeignLeader', actions: ['noteSeen', 'noteLeader', 'tell'], target: 'observing' },
          { guard: 'isSeenNews', actions: ['noteSeen', 'tell'], target: 'observing' },
        ],
      },
      states: {
        asking: {
          description: 'Asks the Kubernetes API for the Lease.',
          entry: ['countAttempt', { type: 'lease.look', params: lookOf }],
          on: { 'lease.unseen': { guard: 'isCurrent', actions: 'noteFailure', target: 'backingOff' } },
          after: { requestPatience: { actions: 'noteFailure', target: 'backingOff' } },
        },
        backingOff: {
          description: 'The Lease could not be read; retries after a pause.',
          tags: 'wrong',
          after: { backOff: 'asking' },
        },
      },
    },
    observing: {
      description: 'Somebody else holds the Lease, or nobody campaigns; follows the Lease.',
      tags: 'settled',
      always: [
        { guard: 'isEnding', target: 'released' },
        { guard: 'isUnseen', target: 'looking' },
        { guard: 'isSpent', actions: ['noteSpent', 'tell'], target: 'contending.backingOff' },
        { guard: 'isLeaderWaiting', target: 'contending' },
        { guard: 'isOverdue', actions: 'noteOverdue', target: 'contending.backingOff' },
      ],
      // Who is new may be gone sooner than anything that was waited for.
      on: {
        'lease.seen': [
          { guard: 'isOwnClaim', ...won },
          {
            guard: 'isNewForeignLeader',
            actions: ['noteSeen', 'noteLeader', 'tell'],
            target: 'observing',
            reenter: true,
          },
        ],
        'election.campaign': {
          guard: 'isNewcomer',
          actions: ['renewTimes', 'noteCandidate', 'tell'],
          target: 'observing',
          reenter: true,
        },
        'clock.leapt': { actions: 'shift', target: 'observing', reenter: true },
      },
      after: { quiet: { actions: 'tell', target: 'observing', reenter: true } },
    },
    contending: {
      description: 'The Lease is free; acquires it for the candidate that has waited longest.',
      initial: 'claiming',
      // A claim in progress may be won; a Lease that was won is given back properly.
      on: {
        'election.observed': { guard: 'isGone', actions: 'remember' },
        'clock.leapt': { actions: 'shift', target: 'looking' },
      },
      states: {
        claiming: {
          description: 'The write is on its way; it succeeds only if the Lease has not changed.',
          entry: ['askClaim', { type: 'lease.write', params: writeOf }],
          on: {
            'lease.written': { guard: 'isCurrent', ...won },
            'lease.refused': [
              { guard: 'isHeld', actions: 'noteHeld', target: '#election.observing' },
              { guard: 'isConflict', actions: 'noteFailure', target: '#election.looking' },
              { guard: 'isCurrent', actions: 'noteFailure', target: 'backingOff' },
            ],
          },
          after: { requestPatience: { actions: 'noteFailure', target: 'backingOff' } },
        },
        backingOff: {
          description: 'The Lease could not be acquired; reads it again after a pause.',
          tags: 'wrong',
          after: { backOff: { actions: 'forgetFailures', target: '#election.looking' } },
        },
      },
    },
    leading: {
      description: 'A candidate leads; renews the Lease in its name.',
      entry: ['armDeadline', 'armHolder'],
      exit: ['disarmDeadline', 'disarmHolder'],
      initial: 'holding',
      always: [
        { guard: 'isDeadlineOver', actions: ['loseByDeadline', 'tell'], target: 'observing' },
        { guard: 'isEnding', actions: 'endByChange', target: 'steppingDown' },
      ],
      on: {
        'election.observed': [
          { guard: 'isGone', actions: ['renewTimes', 'endByChange', 'remember'], target: 'steppingDown' },
          {
            guard: 'isMadeInvalid',
            actions: ['renewTimes', 'endByChange', 'remember', 'tell'],
            target: 'steppingDown',
          },
          {
            guard: 'isElsewhere',
            actions: ['renewTimes', 'endByChange', 'remember', ...follows, 'tell'],
            target: 'steppingDown',
          },
          {
            guard: 'isNews',
            actions: ['renewTimes', 'remember', ...rearmed, 'tell'],
          },
          { guard: 'isMoved', actions: ['renewTimes', 'disarmHolder', 'armHolder'] },
        ],
        'election.campaign': [
          { guard: 'isUnheard' },
          { guard: 'isHolder', actions: ['renewTimes', 'noteCandidate', 'disarmHolder', 'armHolder'] },
        ],
        'election.renew': [
          { guard: 'isUnheard' },
          { guard: 'isOfReign', actions: ['renewTimes', 'noteHeard', 'disarmHolder', 'armHolder'] },
          // A message about another term does not prolong this one.
          { guard: 'isHolder' },
        ],
        'election.resign': [
          { guard: 'isImpostor' },
          { guard: 'isOfReign', actions: 'endByResigning', target: 'steppingDown' },
          // A late message about an earlier term of the same candidate.
          { guard: 'isHolder' },
        ],
        'lease.seen': [...takenAway],
        // Times by the old clock are set again, and the Lease is renewed at once.
        'clock.leapt': {
          actions: ['shift', ...rearmed],
          target: '.lookingAgain',
        },
        'election.deadline.due': [
          { guard: 'isDeadlineOver', actions: ['loseByDeadline', 'tell'], target: 'observing' },
          { actions: 'armDeadline' },
        ],
        // Only this event ends a silent leader's term: a new owner of the election hears the world first, and
        // grants a grace period.
        'election.holder.due': [
          { guard: 'isHolderOver', actions: 'endBySilence', target: 'steppingDown' },
          { actions: 'armHolder' },
        ],
      },
      states: {
        holding: {
          description: 'The Lease is renewed; waits until the next renewal is due.',
          tags: 'settled',
          after: {
            renewalDue: [
              { guard: 'isDeadlineOver', actions: ['loseByDeadline', 'tell'], target: '#election.observing' },
              { guard: 'isAnotherPreferred', target: 'yielding' },
              { target: 'renewing' },
            ],
          },
        },
        renewing: {
          description: 'The renewal is on its way.',
          entry: ['askRenewal', { type: 'lease.write', params: writeOf }],
          on: {
            'lease.written': {
              guard: 'isCurrent',
              actions: ['beginReign', 'disarmDeadline', 'armDeadline', 'tell'],
              target: 'holding',
            },
            'lease.refused': [
              { guard: 'isConflict', actions: 'noteFailure', target: 'lookingAgain' },
              { guard: 'isCurrent', actions: 'noteFailure', target: 'retrying' },
            ],
          },
          after: { requestPatience: { actions: 'noteFailure', target: 'retrying' } },
        },
        lookingAgain: {
          description: 'The Lease is not as expected; reads it and renews it at once if it is still held.',
          entry: ['countAttempt', { type: 'lease.look', params: lookOf }],
          on: {
            'lease.seen': [...takenAway, { guard: 'isSeenNews', actions: 'noteSeen', target: 'renewing' }],
            'lease.unseen': { guard: 'isCurrent', actions: 'noteFailure', target: 'retrying' },
          },
          after: { requestPatience: { actions: 'noteFailure', target: 'retrying' } },
        },
        retrying: {
          description: 'The renewal failed; retries after the retry period, until the deadline.',
          tags: 'wrong',
          after: {
            retryPeriod: [
              { guard: 'isDeadlineOver', actions: ['loseByDeadline', 'tell'], target: '#election.observing' },
              { actions: 'forgetFailures', target: 'lookingAgain' },
            ],
          },
        },
        yielding: {
          description: 'A coordinated election prefers another leader; the Lease is no longer renewed.',
          on: {
            'lease.seen': [
              ...takenAway,
              { guard: 'isPreferenceGone', actions: 'noteSeen', target: 'renewing' },
            ],
            'clock.leapt': {
              actions: ['shift', ...rearmed],
              target: 'yielding',
              reenter: true,
            },
          },
          after: { deadlineLeft: { actions: ['loseByDeadline', 'tell'], target: '#election.observing' } },
        },
      },
    },
    steppingDown: {
      description: 'The term is ending; the Lease goes to the next candidate or is released.',
      initial: 'deciding',
      // What is left to do is done, whatever happens to the Election meanwhile; people are told at once.
      on: {
        'election.observed': [
          { guard: 'isGone', actions: 'remember' },
          { guard: 'isElsewhere', actions: ['remember', ...follows, 'tell'] },
          { guard: 'isNews', actions: ['renewTimes', 'remember', 'tell'] },
          { guard: 'isMoved', actions: 'renewTimes' },
        ],
      },
      states: {
        deciding: {
          description: 'Checks whether a candidate is waiting.',
          always: [
            { guard: 'isToldStill', target: 'expiring' },
            { guard: 'isLeaderWaiting', target: '#election.contending' },
            { guard: 'isToBeReleased', target: 'releasing' },
            { target: 'done' },
          ],
        },
        expiring: {
          description: 'The leader was promised a time until which it leads; until then nobody else may.',
          on: {
            'election.resign': [
              { guard: 'isImpostor' },
              { guard: 'isFormerResigning', actions: 'noteEndKnown', target: 'deciding' },
            ],
            'clock.leapt': { actions: 'shift', target: 'expiring', reenter: true },
          },
          after: { toldLeft: { actions: 'noteEndKnown', target: 'deciding' } },
        },
        releasing: {
          description: 'Releases the Lease so that others need not wait for it to expire.',
          entry: ['countAttempt', { type: 'lease.release', params: releaseOf }],
          on: { 'lease.released': { guard: 'isCurrent', actions: 'noteReleased', target: 'done' } },
          after: { requestPatience: { actions: 'noteFailure', target: 'done' } },
        },
        done: {
          description: 'The term has ended.',
          entry: 'tell',
          always: [
            { guard: 'isEnding', target: '#election.released' },
            { guard: 'isInvalid', target: '#election.invalid' },
            { target: '#election.observing' },
          ],
        },
      },
    },
    released: {
      description: 'The Election was deleted, and nobody leads.',
      type: 'final',
    },
  },
});

export const electionChart: Chart = {
  name: 'election',
  shortName: 'el',
  version: 5,
  description: 'Decides who leads: contends for a Lease on behalf of its candidates.',
  machine: electionMachine,
  durable: true,
  createdBy: ['election.observed'],
  effects: electionEffects,
  leaps: true,
  tell: tellElection,
  needsLook: isUnwritten,
  quiet: isHeartbeat,
  deferrable: isDeferrable,
  moves: true,
  migrations: electionMigrations,
};
