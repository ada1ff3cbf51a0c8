/**
 * `pod/<ns>/<name>`: holds a Pod's readiness gate closed until every Service of its group was seen to reach
 * it.
 *
 * Who sends: the router (`pod.observed`: the Pod's facts, whole), the group's Services (`route.*`), the
 * condition patch (`condition.*`), people (`pod.recheck`). What it promises:
 * - The condition is asked to be True only when each verifiable Service has answered with this Pod's own
 *   address (never Ready early).
 * - A proof is kept per (Service, Pod uid, address) until one of the three changes: what is proven is not
 *   probed again.
 * - Proofs are in the record, so a move or a restart asks for none of them twice.
 * - While it waits, the condition is False and says for what.
 * - No order of events leaves a True condition beside a route that is owed for longer than 31 s, where the
 *   gate withdraws.
 * Absent: probing (the Service chart does it), any knowledge of other Pods.
 */

import { and, assign, enqueueActions, not, setup, stateIn } from 'xstate';
import { backOffMs } from '../../base/back-off.ts';
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Chart } from '../chart.ts';
import { actionsOf } from '../effect.ts';
import { leftOf, type Stamp } from '../stamp.ts';
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
  isOwed,
  isOwnLoss,
  isTakenBack,
  isWatched,
  isWatchNews,
  isWithdrawn,
  newborn,
  oldestDoubt,
  ownAnswers,
  ownProofs,
  type PodContext,
  type PodInput,
  provable,
  remembered,
  takenBack,
  unasked,
  unproven,
  valid,
  withAnswer,
  withoutProof,
  withProof,
  withVerdict,
} from './pod-context.ts';
import { podEffects } from './pod-effects.ts';
import { withOwnWords } from './pod-migrations.ts';
import { tellPod } from './pod-reason.ts';
import { podStates } from './pod-states.ts';
import { mergedForPod } from './pod-waiting-events.ts';
import { curiousQuestion, isUntold, question, telling, withdrawal, withdrawn } from './pod-words.ts';

/** Between two writes of why the Pod is held back: 3 s, half of the time waited, 15 s at most. */
const tellPauseMs = (waitedMs: number): number => Math.min(15_000, Math.max(3_000, waitedMs / 2));

type Args = { readonly context: PodContext };

export const podMachine = setup({
  types: {
    context: {} as PodContext,
    events: {} as PodInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isNews: ({ context, event }) => event.type === 'pod.observed' && !equal(event.facts, context.facts),
    isAnotherPod: ({ context, event }) => isAnotherPod(context, event),
    isGone: ({ event }) => event.type === 'pod.observed' && event.facts === null,
    isGoneWhileAsking: ({ context, event }) =>
      event.type === 'pod.observed' && event.facts === null && context.asked.length > 0,
    isKnown: ({ context }) => context.facts !== null,
    isTerminating: ({ context }: Args) => context.facts?.deleting === true,
    isUngated: ({ context }: Args) => context.facts?.gated === false,
    isGated: ({ context }: Args) => context.facts?.gated === true,
    isGroupMissing: ({ context }: Args) => context.facts?.groupResource === 'missing',
    isGroupFound: ({ context }: Args) => context.facts?.groupResource !== 'missing',
    isNotApplicable: ({ context }: Args) => context.facts?.groupResource === 'mismatch',
    isApplicable: ({ context }: Args) => context.facts?.groupResource !== 'mismatch',
    hasNoAddress: ({ context }: Args) => context.facts?.address === null,
    hasAddress: ({ context }: Args) => context.facts !== null && context.facts.address !== null,
    isAddressInvalid: ({ context }: Args) =>
      context.facts?.address != null && 'invalid' in context.facts.address,
    isAddressValid: ({ context }: Args) => valid(context.facts) !== null,
    isConditionTrue: ({ context }: Args) => isConditionTrue(context),
    isConditionTrueAndWatched: ({ context }: Args) => isConditionTrue(context) && isWatched(context),
    isUnseen: ({ context }: Args) => !isConditionTrue(context),
    isConditionFalse: ({ context }: Args) => context.facts?.condition === 'False',
    isConditionTakenBack: ({ context, event }) => isTakenBack(context, event),
    isMoved: ({ context, event }) => isMoved(context, event),
    isWatched: ({ context }: Args) => isWatched(context),
    isWatchNews: ({ context, event }) => isWatchNews(context, event),
    isUnprovable: ({ context }: Args) => !provable(context.facts),
    isAskingInVain: ({ context }: Args) => !provable(context.facts) && context.asked.length > 0,
    isAnythingAsked: ({ context }: Args) => context.asked.length > 0,
    isAllProven: ({ context }: Args) => isAllProven(context),
    isNotAllProven: ({ context }: Args) => !isAllProven(context),
    isRouteUnasked: ({ context }: Args) => provable(context.facts) && unasked(context).length > 0,
    isRouteOwedAndWithdrawn: ({ context }: Args) =>
      isWithdrawn(context) && context.facts?.deleting === false && unproven(context).length > 0,
    isProofForMe: ({ context, event }) =>
      event.type === 'route.proven' && ownProofs(context, event).length > 0,
    isVerdictForMe: ({ context, event }) => event.type === 'route.unverifiable' && isOwed(context, event),
    isLossForMe: ({ context, event }) => event.type === 'route.lost' && isOwnLoss(context, event),
    isAnswerForMe: ({ context, event }) =>
      event.type === 'route.missed' && ownAnswers(context, event).length > 0,
    isDoubtNews: ({ context }: Args) => isDoubtNews(context),
    isDoubtOver: ({ context }: Args) => !isWithdrawn(context) || unproven(context).length === 0,
    isUntold: ({ context }: Args) => isUntold(context),
    isSaidTrue: ({ event }) => event.type === 'condition.patched' && event.status === 'True',
    isSaidFalse: ({ event }) => event.type === 'condition.patched' && event.status === 'False',
    isRefusedAsGone: ({ event }) => event.type === 'condition.refused' && event.reason === 'gone',
    /** What ends everything is taken once, here; where a state decides by itself, it asks first. */
    isEnding: and(['isTerminating', not(stateIn('#pod.terminating'))]),
    isReleased: and(['isUngated', not(stateIn('#pod.terminating')), not(stateIn('#pod.ungated'))]),
  },
  delays: {
    /**
     * 5 s doubling to 60 s: Services remember what they were asked, so this only mends a question that was
     * lost (I4).
     */
    askAgain: ({ context, event }) => leftOf(askPauseMs(context), context.askedAt, event.at),
    /**
     * A Pod that waits for less than a second needs no explanation; after that, one write each 3 s at most,
     * and fewer the longer it waits: a thousand Pods that wait together must not be busy with telling it.
     */
    tellPause: ({ context, event }) =>
      Math.max(
        leftOf(1_000, context.waitsSince, event.at),
        leftOf(tellPauseMs(event.at - context.waitsSince), context.told?.at ?? 0, event.at),
      ),
    /** Kubernetes says when something changes; this only catches what was never said. */
    lookAgain: 300_000,
    /** docs/features/routes.md §2.6: tell about a missing group resource after 30 s. */
    missingPatience: ({ context, event }) => leftOf(30_000, context.waitsSince, event.at),
    /**
     * docs/features/routes.md §6.3: a route must be proven again within 30 s, each one counted for itself.
     */
    doubtPatience: ({ context, event }) =>
      leftOf(doubtPatienceMs, oldestDoubt(context)?.since ?? event.at, event.at),
    /**
     * Much longer than the effect may take (pod-effects.ts); then its outcome is lost. It counts from the
     * step, which may have waited long to be saved: another patch must not overtake one that begins only
     * then.
     */
    patchPatience: 30_000,
    /** Of a patch that says False and is followed by the same, so that it is made again within the 31 s. */
    withdrawalPatience: 12_000,
    /** 0.25 s doubling to 30 s, moved by ± 25 % so that many Pods do not come back together. */
    backOff: ({ context, event }) =>
      backOffMs(context.failures, 250, 30_000) * (0.75 + 0.5 * (event as Stamp).random),
    /** The same to 10 s: after a patch that was lost on the way there is time for another within the 31 s. */
    withdrawalBackOff: ({ context, event }) =>
      backOffMs(context.failures, 250, 10_000) * (0.75 + 0.5 * (event as Stamp).random),
  },
  actions: {
    remember: assign(({ context, event }) =>
      event.type === 'pod.observed' ? remembered(context, event.facts) : {},
    ),
    keepProof: assign(({ context, event }) =>
      event.type === 'route.proven' ? withProof(context, event) : {},
    ),
    keepVerdict: assign(({ context, event }) =>
      event.type === 'route.unverifiable' ? withVerdict(context, event) : {},
    ),
    keepAnswer: assign(({ context, event }) =>
      event.type === 'route.missed' ? withAnswer(context, event) : {},
    ),
    dropProof: assign(({ context, event }) =>
      event.type === 'route.lost' ? withoutProof(context, event, event.at) : {},
    ),
    noteWaiting: assign(({ event }) => ({ waitsSince: (event as Stamp).at })),
    noteTelling: assign((moment) => telling(moment)),
    /** Tried again after the pause: whatever it says then is news. */
    noteUntold: assign(({ context, event }) => ({
      told: { reason: '', message: '', at: (event as Stamp).at },
      lastError: event.type === 'condition.refused' ? event.message : context.lastError,
    })),
    noteWithdrawn: assign((moment) => withdrawn(moment)),
    ask: enqueueActions(({ context, enqueue }) => {
      // Actions of a set-up do not know each other by type.
      for (const params of [curiousQuestion({ context }), question({ context })])
        if (params.to.length > 0) enqueue({ type: 'message.send', params } as never);
    }),
    hold: assign(({ context, event }) => ({
      heldSince: context.heldSince ?? (event as Stamp).at,
      asked: [],
      askings: 0,
      askedAt: (event as Stamp).at,
    })),
    forgetAsked: assign({ asked: [] }),
    countFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      lastError:
        event.type === 'condition.refused' ? event.message : 'no answer to the condition patch in time',
    })),
    release: assign(({ context }) => ({
      heldSince: null,
      heldBefore: context.heldSince,
      lostRoute: null,
      told: null,
      awaitsFalse: false,
      failures: 0,
      lastError: null,
    })),
    forgetLoss: assign({ lostRoute: null, doubts: {} }),
    /** What is owed was owed since the Pod began to wait: a True that nobody proved has no time to spare. */
    noteDebts: assign(({ context }) => ({ doubts: doubted(context, context.waitsSince) })),
    noteDoubts: assign(({ context, event }) => ({ doubts: doubted(context, (event as Stamp).at) })),
    noteLoss: assign(({ context }) => ({ lostRoute: oldestDoubt(context)?.service ?? '' })),
    startAfresh: assign({
      proofs: {},
      unverified: {},
      adopted: [],
      answers: {},
      asked: [],
      failures: 0,
      lastError: null,
    }),
    noteAsked: assign(({ context }) => ({ asked: [...context.asked, ...unasked(context)] })),
    countAsking: assign(({ context, event }) => ({
      askings: context.askings + 1,
      askedAt: (event as Stamp).at,
    })),
    adoptProofs: assign(({ context }) => adopted(context)),
    dropAdopted: assign(({ context }) => takenBack(context)),
    ...actionsOf(...podEffects),
  },
}).createMachine({
  id: 'pod',
  context: ({ input }) => newborn(input),
  initial: 'deciding',
  on: {
    'pod.observed': [
      { guard: 'isGoneWhileAsking', target: '.gone', actions: { type: 'message.send', params: withdrawal } },
      { guard: 'isGone', target: '.gone' },
      { guard: 'isAnotherPod', actions: 'remember', target: '.deciding' },
      { guard: 'isNews', actions: 'remember' },
    ],
    'route.proven': { guard: 'isProofForMe', actions: 'keepProof' },
    'route.unverifiable': { guard: 'isVerdictForMe', actions: 'keepVerdict' },
    'route.missed': { guard: 'isAnswerForMe', actions: 'keepAnswer' },
    'route.lost': { guard: 'isLossForMe', actions: 'dropProof' },
    'pod.recheck': { actions: 'startAfresh', target: '.deciding' },
  },
  always: [
    { guard: 'isEnding', target: '.terminating' },
    { guard: 'isReleased', target: '.ungated' },
  ],
  states: podStates,
});

export const podChart: Chart = {
  name: 'pod',
  shortName: 'po',
  version: 2,
  description: 'Holds a Pod back until traffic through every Service of its group is seen to reach it.',
  machine: podMachine,
  durable: true,
  createdBy: ['pod.observed'],
  effects: podEffects,
  merge: mergedForPod,
  tell: tellPod,
  migrations: { 1: withOwnWords },
};
