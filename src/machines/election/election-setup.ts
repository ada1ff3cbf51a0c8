/**
 * The setup of the election chart: its guards, delays and actions, under the names that the chart uses.
 *
 * Each is one line over a pure function of election-candidates.ts and election-lease.ts, which decide.
 */

import { assign, cancel, enqueueActions, raise, setup } from 'xstate';
import { equal } from '../../base/equal.ts';
import { limits } from '../../base/limits.ts';
import type { ActorInput } from '../actor-input.ts';
import { actionsOf } from '../effect.ts';
import type { Stamp } from '../stamp.ts';
import { withUnwritten } from '../unwritten.ts';
import {
  deadlineOf,
  holderLeftMs,
  isCandidate,
  isDeadlineOver,
  isFull,
  isHolder,
  isHolderOver,
  isImpostor,
  isOfReign,
  renewalAt,
  withCandidate,
  withoutCandidate,
  withRenewal,
  withTimesAnew,
} from './election-candidates.ts';
import {
  type ElectionContext,
  type ElectionInput,
  forgiven,
  isElsewhere,
  placeOf,
  remembered,
  requestMs,
  shifted,
  timingOf,
} from './election-context.ts';
import { electionEffects } from './election-effects.ts';
import {
  candidateInTurn,
  isAnotherPreferred,
  isFormerResigning,
  isOverdue,
  isOwnClaim,
  isSeenNews,
  isSpent,
  isStolen,
  isTermRemembered,
  isToBeReleased,
  isWiped,
  nextLeader,
  quietMs,
  toldLeftMs,
  withClaim,
  withEndKnown,
  withHeld,
  withoutReign,
  withReign,
  withReignTaken,
  withRenewalAsked,
  withSeen,
  withTermRemembered,
} from './election-lease.ts';
import {
  isMistold,
  isStatusNews,
  leaderNote,
  overdueText,
  refusedPauseMs,
  spentText,
  statusOf,
  unrenewedText,
} from './election-words.ts';

type Args = { readonly context: ElectionContext; readonly event: ElectionInput };

const at = ({ event }: { readonly event: unknown }) => (event as Stamp).at;
const isCurrent = ({ context, event }: Args) => 'attempt' in event && event.attempt === context.attempt;
const isUnheard = (context: ElectionContext, event: ElectionInput) =>
  isImpostor(context, event) ||
  (event.type === 'election.campaign' && isFull(context, event.candidate, event.at));
/** Consecutive conflicts before a pause: somebody else writes each time. */
const conflictsMax = 3;

/** The names that election.ts combines. */
export const electionSetup = setup({
  types: {
    context: {} as ElectionContext,
    events: {} as ElectionInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isNews: ({ context, event }) =>
      event.type === 'election.observed' && !(equal(event.facts, context.facts) && !context.ending),
    isGone: ({ event }) => event.type === 'election.observed' && event.facts === null,
    isInvalid: ({ context }: { readonly context: ElectionContext }) => context.facts?.invalid != null,
    isEnding: ({ context }: { readonly context: ElectionContext }) => context.ending,
    isElsewhere: ({ context, event }) => isElsewhere(context, event),
    isMadeInvalid: ({ context, event }) =>
      event.type === 'election.observed' &&
      event.facts?.invalid != null &&
      !equal(event.facts, context.facts),
    isMadeValid: ({ event }) => event.type === 'election.observed' && event.facts?.invalid === null,
    isMistold: ({ context, event }) => isMistold(context, event),
    isTermRemembered: ({ context, event }) => isTermRemembered(context, event),
    isMoved: ({ event }) => (event as Stamp).moved === true,
    isUnseen: ({ context }: { readonly context: ElectionContext }) => context.seen === null,
    isSeenNews: ({ context, event }) => isSeenNews(context, event),
    isNewForeignLeader: ({ context, event }) =>
      event.type === 'lease.seen' &&
      isSeenNews(context, event) &&
      event.record !== null &&
      event.record.holder !== '' &&
      context.seen !== null &&
      event.record.holder !== context.seen.record?.holder,
    isOwnClaim: ({ context, event }) => isOwnClaim(context, event),
    isStolen: ({ context, event }) => isStolen(context, event),
    isWiped: ({ context, event }) => isWiped(context, event),
    isLeaderWaiting: (args) => nextLeader(args.context, at(args)) !== undefined,
    /** Somebody could lead, but the Lease counts no further. */
    isSpent: (args) => isSpent(args.context) && candidateInTurn(args.context, at(args)) !== undefined,
    isOverdue: (args) => isOverdue(args.context, at(args)),
    isCurrent,
    isConflict: (args) =>
      isCurrent(args) &&
      args.event.type === 'lease.refused' &&
      args.event.reason === 'conflict' &&
      args.context.failures < conflictsMax,
    isDeadlineOver: (args) => isDeadlineOver(args.context, at(args)),
    isHolderOver: (args) => isHolderOver(args.context, at(args)),
    isHolder: ({ context, event }) => isHolder(context, event),
    isOfReign: ({ context, event }) => isOfReign(context, event),
    isCandidate: ({ context, event }) => isCandidate(context, event),
    isUnheard: ({ context, event }) => isUnheard(context, event),
    isNewcomer: ({ context, event }) =>
      !isUnheard(context, event) && !isCandidate(context, event) && event.type === 'election.campaign',
    isImpostor: ({ context, event }) => isImpostor(context, event),
    isHeld: (args) => isCurrent(args) && args.event.type === 'lease.refused' && args.event.reason === 'held',
    /** A status outcome of an earlier Election with this name. */
    isOfAnother: ({ context, event }) =>
      'uid' in event && event.uid !== undefined && event.uid !== context.facts?.uid,
    /** The Lease is still ours, and no other holder is preferred any more. */
    isPreferenceGone: ({ context, event }) =>
      event.type === 'lease.seen' &&
      isSeenNews(context, event) &&
      !isAnotherPreferred({ seen: { ...event, at: event.at } }, context.reign?.holder),
    isAnotherPreferred: ({ context }: { readonly context: ElectionContext }) =>
      isAnotherPreferred(context, context.reign?.holder),
    isToldStill: (args) => toldLeftMs(args.context, at(args)) > 0,
    isFormerResigning: ({ context, event }) => isFormerResigning(context, event),
    isToBeReleased: (args) => isToBeReleased(args.context, at(args)),
    isFollowedElsewhere: ({ context, event }) =>
      event.type === 'lease.followed' &&
      (!equal(event.place, placeOf(context)) || (event.round ?? context.follows) !== context.follows),
    hasFollowFailed: ({ event }) => event.type === 'lease.followed' && event.error !== null,
  },
  delays: {
    /** The request itself ends earlier (requestMs); this is for a lost outcome. */
    requestPatience: ({ context }) => requestMs(context) + 1_000,
    /** As client-go: the retry period plus up to a fifth, so that candidates do not return together. */
    backOff: ({ context, event }) => timingOf(context).retryMs * (1 + 0.2 * (event as Stamp).random),
    retryPeriod: ({ context }) => timingOf(context).retryMs,
    renewalDue: ({ context, event }) => Math.max(0, renewalAt(context) - (event as Stamp).at),
    deadlineLeft: ({ context, event }) => Math.max(0, deadlineOf(context) - (event as Stamp).at),
    holderLeft: ({ context, event }) => holderLeftMs(context, (event as Stamp).at),
    toldLeft: ({ context, event }) => toldLeftMs(context, (event as Stamp).at),
    restate: limits.restateMs,
    quiet: ({ context, event }) => quietMs(context, (event as Stamp).at),
    /** A following that ends is restarted at once; after a failure it waits. */
    followPause: 5_000,
    /** After a failed status write: soon, but spread out. */
    tellPause: ({ event }) => refusedPauseMs * (1 + (event as Stamp).random),
  },
  actions: {
    remember: assign(({ context, event }) =>
      event.type === 'election.observed' ? remembered(context, event.facts, event.at) : {},
    ),
    /** Only for an actor that has moved. */
    renewTimes: assign((args) =>
      (args.event as Stamp).moved === true ? withTimesAnew(args.context, at(args)) : {},
    ),
    noteCandidate: assign(({ context, event }) =>
      event.type === 'election.campaign' ? withCandidate(context, event, event.at) : {},
    ),
    noteHeard: assign(({ context, event }) =>
      event.type === 'election.renew' ? withRenewal(context, event, event.at) : {},
    ),
    dropCandidate: assign(({ context, event }) =>
      event.type === 'election.resign' ? withoutCandidate(context, event.candidate) : {},
    ),
    noteSeen: assign(({ context, event }) =>
      event.type === 'lease.seen' ? { ...withSeen(context, event, event.at), lastError: null } : {},
    ),
    noteReleased: assign(({ context, event }) => {
      if (event.type !== 'lease.released') return {};
      if (event.resourceVersion === null) return { lastError: event.error };
      return { ...withSeen(context, event, event.at), lastError: event.error };
    }),
    noteHeld: assign(({ context, event }) => withHeld(context, event)),
    shift: assign(({ context, event }) => (event.type === 'clock.leapt' ? shifted(context, event.byMs) : {})),
    askClaim: assign((args) => withClaim(args.context, at(args))),
    askRenewal: assign((args) => withRenewalAsked(args.context, at(args))),
    countFollow: assign(({ context }) => ({ follows: context.follows + 1 })),
    countAttempt: assign(({ context }) => ({ attempt: context.attempt + 1 })),
    noteFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      lastError: 'message' in event ? event.message : 'the Kubernetes API did not answer in time',
    })),
    noteOverdue: assign(({ context }) => ({ lastError: overdueText(context) })),
    noteSpent: assign(({ context }) => ({ lastError: spentText(context) })),
    forgetFailures: assign({ failures: 0 }),
    beginReign: assign(({ context, event }) =>
      withReign(context, 'resourceVersion' in event ? event.resourceVersion : null),
    ),
    loseByDeadline: assign(({ context }) => withoutReign(context, unrenewedText(context))),
    loseByTheft: assign(({ context }) => withoutReign(context, 'another candidate took the Lease')),
    loseByWiping: assign(({ context }) => withoutReign(context, 'the Lease was deleted or cleared', true)),
    endByResigning: assign(({ context }) => withoutReign(context, 'the leader resigned')),
    endBySilence: assign(({ context }) => withoutReign(context, 'the leader did not renew in time')),
    endByChange: assign((args) => withReignTaken(args.context, at(args))),
    noteEndKnown: assign(({ context }) => withEndKnown(context)),
    armDeadline: raise({ type: 'election.deadline.due' } as ElectionInput, {
      id: 'deadline',
      delay: 'deadlineLeft',
    }),
    armHolder: raise({ type: 'election.holder.due' } as ElectionInput, { id: 'holder', delay: 'holderLeft' }),
    armFollowing: raise({ type: 'election.follow.due' } as ElectionInput, {
      id: 'follow',
      delay: 'followPause',
    }),
    armTelling: raise({ type: 'election.telling.due' } as ElectionInput, {
      id: 'telling',
      delay: 'tellPause',
    }),
    disarmDeadline: cancel('deadline'),
    disarmHolder: cancel('holder'),
    /** Writes what the resource does not say yet; during a write the next one waits. */
    tell: enqueueActions(({ context, event, enqueue }) => {
      const now = (event as Stamp).at;
      const { uid } = context.facts ?? {};
      if (!uid || !isStatusNews(context, now)) return;
      const { namespace, name } = context;
      const status = statusOf(context, now);
      const isTurned = (context.told?.reason === 'TermsUsedUp') !== (status.reason === 'TermsUsedUp');
      const at = isTurned ? now : (context.validSince ?? now);
      enqueue.assign({ telling: status, validSince: at });
      enqueue({ type: 'election-status.patch', params: { namespace, name, uid, status, at } } as never);
    }),
    noteLeader: enqueueActions(({ context, event, enqueue }) => {
      if (!context.facts?.uid) return;
      enqueue({ type: 'kube-event.write', params: leaderNote(context, event) } as never);
    }),
    recallTerm: assign(({ context, event }) => withTermRemembered(context, event)),
    doubtTold: assign(({ context }) => (context.telling === null ? { told: null } : { doubted: true })),
    noteTold: assign(({ context, event }) => ({
      told: context.doubted ? null : context.telling,
      toldAt: (event as Stamp).at,
      telling: null,
      ...(context.doubted ? { doubted: false } : {}),
      ...forgiven(context),
    })),
    noteUntold: assign(({ context, event }) => ({
      telling: null,
      ...(event.type === 'election-status.refused' ? withUnwritten(context, event.message, event.at) : {}),
    })),
    ...actionsOf(...electionEffects),
  },
});
