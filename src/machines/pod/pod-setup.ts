/** The setup of the pod chart: its guards, delays and actions, for pod.ts to combine. Pure. */

import { assign, enqueueActions, setup } from 'xstate';
import { backOffMs } from '../../base/back-off.ts';
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import { actionsOf } from '../effect.ts';
import { send } from '../effects.ts';
import { leftOf } from '../stamp.ts';
import { eventsOf } from '../typed-events.ts';
import {
  adopted,
  askPauseMs,
  doubted,
  doubtPatienceMs,
  isAllProven,
  isAnotherPod,
  isConditionTrue,
  isDoubtNews,
  isMoved,
  isOfMine,
  isOwed,
  isOwnLoss,
  isQuestionLost,
  isTakenBack,
  isVerifiedSince,
  isWithdrawn,
  longHeldNotes,
  oldestDoubt,
  ownAnswers,
  ownProofs,
  type PodContext,
  type PodInput,
  provable,
  spokenNow,
  takenBack,
  unasked,
  unproven,
  withAnswer,
  withoutProof,
  withVerdict,
} from './pod-context.ts';
import { podEffects } from './pod-effects.ts';
import { returnMs, withLastLeft } from './pod-last-service.ts';
import { overdueMs } from './pod-overdue.ts';
import {
  confirmedBy,
  isWatched,
  provenAndWatched,
  rememberedWatches,
  toldToWatch,
  toTell,
  unconfirmed,
  unwatched,
  watchPauseMs,
  withWatches,
} from './pod-watches.ts';
import {
  askedByName,
  askedNow,
  curiousQuestion,
  isToldWrongly,
  isUntold,
  question,
  telling,
  watching,
  withdrawalFromLeft,
  withdrawn,
} from './pod-words.ts';

/**
 * How long a Pod waits before its condition says why. By then most have their address, or their routes; and
 * after 3 s Services say what answers in a Pod's place, so the first message can name it.
 */
const firstWordMs = 4_000;

/** Time between two writes of why the Pod is held back: as long as it has waited, between 3 s and 30 s. */
const tellPauseMs = (waitedMs: number): number => Math.min(30_000, Math.max(3_000, waitedMs));

type Args = { readonly context: PodContext };
const { when, change } = eventsOf<PodContext, PodInput>();

export const podSetup = setup({
  types: {
    context: {} as PodContext,
    events: {} as PodInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone: when('pod.observed', (_, { facts }) => facts === null),
    isGoneWhileAsking: when(
      'pod.observed',
      (context, { facts }) => facts === null && context.asked.length > 0,
    ),
    isAnotherPod: when('pod.observed', isAnotherPod),
    isNews: when('pod.observed', (context, { facts }) => !equal(facts, context.facts)),
    isConditionTakenBack: when('pod.observed', isTakenBack),
    isMoved: when('pod.observed', isMoved),
    isProofForMe: when('route.proven', (context, event) => ownProofs(context, event).length > 0),
    isVerdictForMe: when('route.unverifiable', isOwed),
    isLossForMe: when('route.lost', isOwnLoss),
    isQuestionLost: when('route.lost', isQuestionLost),
    isWatchForMe: when('route.watching', (context, event) => confirmedBy(context, event).length > 0),
    isAnswerForMe: when('route.missed', (context, event) => ownAnswers(context, event).length > 0),
    isSaidTrue: when(
      'condition.patched',
      (context, event) => isOfMine(context, event) && event.status === 'True',
    ),
    isSaidFalse: when(
      'condition.patched',
      (context, event) => isOfMine(context, event) && event.status === 'False',
    ),
    isRefused: when('condition.refused', isOfMine),
    /** docs/features/routes.md §7.14: the eighth time is a minute after the first; then each half hour. */
    isRefusedForLong: when(
      'condition.refused',
      (context, event) => isOfMine(context, event) && context.failures % 60 === 7,
    ),
    isRefusedAsGone: when(
      'condition.refused',
      (context, event) => isOfMine(context, event) && event.reason === 'gone',
    ),
    isKnown: ({ context }) => context.facts !== null,
    isTerminating: ({ context }: Args) => context.facts?.deleting === true,
    isUngated: ({ context }: Args) => context.facts?.gated === false,
    isGated: ({ context }: Args) => context.facts?.gated === true,
    isGroupMissing: ({ context }: Args) => context.facts?.groupResource === 'missing',
    isGroupFound: ({ context }: Args) =>
      context.facts?.groupResource !== 'missing' && !isToldWrongly(context),
    isToldWrongly: ({ context }: Args) => isToldWrongly(context),
    isNotApplicable: ({ context }: Args) => context.facts?.groupResource === 'mismatch',
    isApplicable: ({ context }: Args) => context.facts?.groupResource !== 'mismatch',
    hasNoAddress: ({ context }: Args) => context.facts?.address === null,
    hasAddress: ({ context }: Args) => context.facts !== null && context.facts.address !== null,
    isAddressInvalid: ({ context }: Args) =>
      context.facts?.address != null && 'invalid' in context.facts.address,
    isAddressReadable: ({ context }: Args) =>
      context.facts !== null && (context.facts.address === null || 'ip' in context.facts.address),
    isConditionTrue: ({ context }: Args) => isConditionTrue(context),
    isUnseen: ({ context }: Args) => !isConditionTrue(context),
    isConditionFalse: ({ context }: Args) => context.facts?.condition === 'False',
    isWatched: ({ context }: Args) => isWatched(context),
    isUnwatched: ({ context }: Args) => unwatched(context).length > 0,
    isUnconfirmed: ({ context }: Args) => isWatched(context) && unconfirmed(context).length > 0,
    isUnprovable: ({ context }: Args) => !provable(context.facts),
    isAskingInVain: ({ context }: Args) =>
      !(provable(context.facts) && context.facts.verifiable) && context.asked.length > 0,
    isAnythingAsked: ({ context }: Args) => context.asked.length > 0,
    isAllProven: ({ context }: Args) => isAllProven(context),
    isLastJustLeft: ({ context }: Args) => context.lastLeft === 'untimed',
    isLastAway: ({ context }: Args) => context.lastLeft === 'timed',
    isNotAllProven: ({ context }: Args) => !isAllProven(context),
    isRouteUnasked: ({ context }: Args) => provable(context.facts) && unasked(context).length > 0,
    isRouteOwedAndWithdrawn: ({ context }: Args) =>
      isWithdrawn(context) && context.facts?.deleting === false && unproven(context).length > 0,
    isVerifiedSince: ({ context }: Args) => isVerifiedSince(context),
    isDoubtNews: ({ context }: Args) => isDoubtNews(context),
    isDoubtOver: ({ context }: Args) => !isWithdrawn(context) || unproven(context).length === 0,
    isUntold: ({ context }: Args) => isUntold(context),
    isStranded: ({ context }: Args) => context.facts?.condition !== 'True',
    /** docs/features/routes.md §7.11: the first time that the Services are asked again after that. */
    isLongHeld: ({ context: { waitsSince, askedAt }, event }) =>
      longHeldNotes(event.at - waitsSince) > longHeldNotes(askedAt - waitsSince),
  },
  delays: {
    askAgain: ({ context, event }) =>
      context.lastLeft ? returnMs : leftOf(askPauseMs(context), context.askedAt, event.at),
    /**
     * A Pod that waits for a moment needs no explanation. After that it is written every 3 s at most, and
     * less often the longer the Pod waits: a thousand Pods that wait together must not be busy explaining.
     */
    tellPause: ({ context, event }) =>
      Math.max(
        leftOf(firstWordMs, context.waitsSince, event.at),
        leftOf(tellPauseMs(event.at - context.waitsSince), context.told?.at ?? 0, event.at),
      ),
    /** Computed again whenever the Services are asked again: what hinders them may come to be known. */
    overduePatience: ({ context, event }) => leftOf(overdueMs(context), context.waitsSince, event.at),
    /** Kubernetes reports every change; this only catches a report that was lost. */
    lookAgain: 300_000,
    watchAgain: ({ context }) => watchPauseMs(context),
    /** docs/features/routes.md §7.11: Events expire. */
    remind: 1_800_000,
    /** docs/features/routes.md §2.6: a missing group resource is reported after 30 s. */
    missingPatience: ({ context, event }) => leftOf(30_000, context.waitsSince, event.at),
    /**
     * docs/features/routes.md §6.3: a lost route must be proven again within 30 s, counted for each by
     * itself.
     */
    doubtPatience: ({ context, event }) =>
      leftOf(doubtPatienceMs, oldestDoubt(context)?.since ?? event.at, event.at),
    /**
     * Much longer than the effect may take (pod-effects.ts): past it, the outcome is lost. It counts from the
     * step, which may have waited long to be saved, because a second patch must not overtake one that begins
     * only then.
     */
    patchPatience: 30_000,
    /** For a patch to False, which is repeated as it is: early enough for the 31 s. */
    withdrawalPatience: 12_000,
    /** 0.25 s doubling to 30 s, ± 25 % so that many Pods do not come back together. */
    backOff: ({ context, event }) => backOffMs(context.failures, 250, 30_000) * (0.75 + 0.5 * event.random),
    /**
     * The same up to 10 s: after a patch that was lost on its way there is time for another within the 31 s.
     */
    withdrawalBackOff: ({ context, event }) =>
      backOffMs(context.failures, 250, 10_000) * (0.75 + 0.5 * event.random),
  },
  actions: {
    remember: assign(
      change('pod.observed', (context, { facts }) => ({
        ...rememberedWatches(context, facts),
        ...withLastLeft(context, facts),
      })),
    ),
    keepProof: assign(change('route.proven', provenAndWatched)),
    keepVerdict: assign(change('route.unverifiable', withVerdict)),
    keepAnswer: assign(change('route.missed', withAnswer)),
    dropProof: assign(change('route.lost', (context, event) => withoutProof(context, event, event.at))),
    noteWaiting: assign(({ event }) => ({ waitsSince: event.at })),
    noteTelling: assign((moment) => telling(moment)),
    /** Nothing counts as written, so it is tried again after the pause. */
    noteUntold: assign(({ event }) => ({ told: { reason: '', message: '', at: event.at } })),
    noteRefusal: assign(change('condition.refused', (_, { message }) => ({ lastError: message }))),
    noteSilence: assign({ lastError: 'the condition patch timed out' }),
    noteWithdrawn: assign((moment) => withdrawn(moment)),
    noteSpeaking: assign(({ context, event }) => ({ spokenAt: spokenNow(context, event.at) })),
    ask: enqueueActions(({ context, enqueue }) =>
      send(enqueue, curiousQuestion({ context }), question({ context })),
    ),
    tellToWatch: enqueueActions(({ context, enqueue }) => send(enqueue, watching(context, toTell(context)))),
    noteWatchTold: assign(({ context }) => toldToWatch(context, toTell(context))),
    noteWatch: assign(change('route.watching', withWatches)),
    askAnew: assign(
      change('route.lost', ({ asked }, { service }) => ({ asked: asked.filter((name) => name !== service) })),
    ),
    hold: assign(({ context, event }) => ({
      heldSince: context.heldSince ?? event.at,
      asked: [],
      askings: 0,
      askedAt: event.at,
    })),
    withdrawFromLeft: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'pod.observed' || event.facts === null) return;
      send(enqueue, withdrawalFromLeft(context, event.facts));
    }),
    forgetAsked: assign({ asked: [] }),
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    release: assign(({ context }) => ({
      ...(context.lastLeft && { lastLeft: null }),
      heldSince: null,
      heldBefore: context.heldSince,
      lostRoute: null,
      told: null,
      awaitsFalse: false,
      failures: 0,
      lastError: null,
    })),
    timeReturn: assign({ lastLeft: 'timed' }),
    giveUpReturn: assign({ lastLeft: null }),
    noteRestated: assign({ restated: true }),
    forgetLoss: assign({ lostRoute: null, doubts: {} }),
    /**
     * The proofs have been owed since the Pod began to wait: a True that nobody proved gets no extra time.
     */
    noteDebts: assign(({ context }) => ({ doubts: doubted(context, context.waitsSince) })),
    noteDoubts: assign(({ context, event }) => ({ doubts: doubted(context, event.at) })),
    noteLoss: assign(({ context }) => ({ lostRoute: oldestDoubt(context)?.service ?? '' })),
    startAfresh: assign({
      lastLeft: null,
      proofs: {},
      unverified: {},
      adopted: [],
      answers: {},
      asked: [],
      watches: {},
      failures: 0,
      lastError: null,
    }),
    noteAsked: assign(({ context }) => askedNow(context)),
    askByName: assign(({ context }) => askedByName(context)),
    countAsking: assign(({ context, event }) => ({
      askings: context.askings + 1,
      askedAt: event.at,
    })),
    adoptProofs: assign(({ context }) => adopted(context)),
    dropAdopted: assign(({ context }) => takenBack(context)),
    ...actionsOf(...podEffects),
  },
});
