/**
 * `pod/<ns>/<name>`: holds a Pod's readiness gate closed until every Service of its group was seen to reach it.
 *
 * Who sends: the router (`pod.observed`: the Pod's facts, whole), the group's Services (`route.*`), the condition patch
 * (`condition.*`), people (`pod.recheck`). What it promises:
 * - The condition is asked to be True only when each verifiable Service has answered with this Pod's own address (never Ready early).
 * - A proof is kept per (Service, Pod uid, address) until one of the three changes: what is proven is not probed again.
 * - Proofs are in the record, so a move or a restart asks for none of them twice.
 * Absent: probing (the Service chart does it), any knowledge of other Pods.
 */

import { assign, setup } from 'xstate';
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Chart } from '../chart.ts';
import { actionsOf } from '../effect.ts';
import type { Stamp } from '../stamp.ts';
import {
  adopted,
  conditionOf,
  doubted,
  invalidNote,
  isAnotherPod,
  isConditionTrue,
  isDoubtNews,
  isOwed,
  isOwnLoss,
  isOwnProof,
  isTakenBack,
  isWatched,
  isWatchNews,
  lostMessage,
  missingNote,
  newborn,
  oldestDoubt,
  openedNote,
  type PodContext,
  type PodInput,
  provable,
  question,
  remembered,
  takenBack,
  unasked,
  unproven,
  valid,
  verifiedMessage,
  watching,
  withdrawal,
  withdrawnNote,
  withoutProof,
  withProof,
} from './pod-context.ts';
import { podEffects } from './pod-effects.ts';

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
    isConditionTakenBack: ({ context, event }) => isTakenBack(context, event),
    isWatchNews: ({ context, event }) => isWatchNews(context, event),
    isUnprovable: ({ context }: Args) => !provable(context.facts),
    isAskingInVain: ({ context }: Args) => !provable(context.facts) && context.asked.length > 0,
    isAnythingAsked: ({ context }: Args) => context.asked.length > 0,
    isAllProven: ({ context }: Args) => provable(context.facts) && unproven(context).length === 0,
    isRouteOwed: ({ context }: Args) => provable(context.facts) && unproven(context).length > 0,
    isRouteUnasked: ({ context }: Args) => provable(context.facts) && unasked(context).length > 0,
    isRouteOwedAndWithdrawn: ({ context }: Args) => isWatched(context) && unproven(context).length > 0,
    isProofForMe: ({ context, event }) => event.type === 'route.proven' && isOwnProof(context, event),
    isVerdictForMe: ({ context, event }) => event.type === 'route.unverifiable' && isOwed(context, event),
    isLossForMe: ({ context, event }) => event.type === 'route.lost' && isOwnLoss(context, event),
    isDoubtNews: ({ context }: Args) => isDoubtNews(context),
    isDoubtOver: ({ context }: Args) => !isWatched(context) || unproven(context).length === 0,
    isRefusedAsGone: ({ event }) => event.type === 'condition.refused' && event.reason === 'gone',
  },
  delays: {
    /** 5 s doubling to 60 s: Services remember what they were asked, so this only mends a question that was lost (I4). */
    askAgain: ({ context }) => Math.min(5_000 * 2 ** Math.min(context.askings, 4), 60_000),
    /** Kubernetes says when something changes; this only catches what was never said. */
    lookAgain: 300_000,
    /** docs/features/routes.md §2.6: tell about a missing group resource after 30 s. */
    missingPatience: 30_000,
    /** docs/features/routes.md §6.3: a route must be proven again within 30 s, each one counted for itself. */
    doubtPatience: ({ context, event }) => 30_000 + (oldestDoubt(context)?.since ?? 0) - (event as Stamp).at,
    /** The bound on an effect (limits.ts); then its outcome is lost. */
    patchPatience: 30_000,
    /** 0.25 s doubling to 30 s, moved by ± 25 % so that many Pods do not come back together. */
    backOff: ({ context, event }) =>
      Math.min(250 * 2 ** Math.min(context.failures, 7), 30_000) * (0.75 + 0.5 * (event as Stamp).random),
  },
  actions: {
    remember: assign(({ context, event }) =>
      event.type === 'pod.observed' ? remembered(context, event.facts) : {},
    ),
    keepProof: assign(({ context, event }) =>
      event.type === 'route.proven' || event.type === 'route.unverifiable' ? withProof(context, event) : {},
    ),
    dropProof: assign(({ context, event }) =>
      event.type === 'route.lost' ? withoutProof(context, event.service) : {},
    ),
    hold: assign(({ context, event }) => ({
      heldSince: context.heldSince ?? (event as Stamp).at,
      asked: [],
      askings: 0,
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
      failures: 0,
      lastError: null,
    })),
    beginToDoubt: assign({ asked: [], doubts: {} }),
    forgetLoss: assign({ lostRoute: null }),
    noteDoubts: assign(({ context, event }) => ({ doubts: doubted(context, (event as Stamp).at) })),
    noteLoss: assign(({ context }) => ({ lostRoute: oldestDoubt(context)?.service ?? '' })),
    startAfresh: assign({ proofs: {}, asked: [], failures: 0, lastError: null }),
    noteAsked: assign(({ context }) => ({ asked: [...context.asked, ...unasked(context)] })),
    countAsking: assign(({ context }) => ({ askings: context.askings + 1 })),
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
    'route.unverifiable': { guard: 'isVerdictForMe', actions: 'keepProof' },
    'route.lost': { guard: 'isLossForMe', actions: 'dropProof' },
    'pod.recheck': { actions: 'startAfresh', target: '.deciding' },
  },
  states: {
    deciding: {
      description: 'Looks at what is known of the Pod and chooses what has to be done.',
      tags: 'settled',
      always: [
        { guard: 'isTerminating', target: 'terminating' },
        { guard: 'isUngated', target: 'ungated' },
        {
          guard: 'isConditionTrueAndWatched',
          target: 'ready',
          actions: ['adoptProofs', { type: 'message.send', params: watching }],
        },
        { guard: 'isConditionTrue', target: 'ready', actions: 'adoptProofs' },
        { guard: 'isGroupMissing', target: 'groupMissing' },
        { guard: 'isNotApplicable', target: 'notApplicable' },
        { guard: 'hasNoAddress', target: 'waitingForAddress' },
        { guard: 'isAddressInvalid', target: 'invalid' },
        { guard: 'isKnown', target: 'proving' },
      ],
    },
    ungated: {
      description: 'The Pod does not have the readiness gate: nothing holds it back and nothing is done.',
      tags: 'settled',
      always: [
        { guard: 'isTerminating', target: 'terminating' },
        { guard: 'isGated', target: 'deciding' },
      ],
    },
    notApplicable: {
      description: 'The object that owns the group is of a sort that the RouteGate does not speak of.',
      tags: 'settled',
      always: [
        { guard: 'isTerminating', target: 'terminating' },
        { guard: 'isUngated', target: 'ungated' },
        { guard: 'isApplicable', target: 'deciding' },
      ],
    },
    groupMissing: {
      description: 'The object that owns the group does not exist (yet).',
      tags: 'wrong',
      always: [
        { guard: 'isTerminating', target: 'terminating' },
        { guard: 'isUngated', target: 'ungated' },
        { guard: 'isGroupFound', target: 'deciding' },
      ],
      initial: 'patient',
      states: {
        patient: {
          description: 'It may still be on its way.',
          after: { missingPatience: 'reported' },
        },
        reported: {
          description: 'A Warning Event says so on the Pod.',
          tags: 'settled',
          entry: { type: 'kube-event.write', params: missingNote },
        },
      },
    },
    waitingForAddress: {
      description: 'The Pod has no address yet.',
      always: [
        { guard: 'isTerminating', target: 'terminating' },
        { guard: 'isUngated', target: 'ungated' },
        { guard: 'hasAddress', target: 'deciding' },
      ],
      after: { lookAgain: { target: 'waitingForAddress', reenter: true } },
    },
    invalid: {
      description: "The Pod's address cannot be read, so no answer can be told to be its own.",
      tags: ['settled', 'wrong'],
      entry: { type: 'kube-event.write', params: invalidNote },
      always: [
        { guard: 'isTerminating', target: 'terminating' },
        { guard: 'isUngated', target: 'ungated' },
        { guard: 'isAddressValid', target: 'deciding' },
        { guard: 'hasNoAddress', target: 'deciding' },
      ],
    },
    proving: {
      description: 'Waits until each Service of the group has been seen to reach this Pod.',
      entry: 'hold',
      always: [
        { guard: 'isTerminating', target: 'terminating' },
        {
          guard: 'isAskingInVain',
          actions: [{ type: 'message.send', params: withdrawal }, 'forgetAsked'],
        },
        { guard: 'isUnprovable', target: 'deciding' },
        { guard: 'isAllProven', target: 'marking' },
        { guard: 'isRouteUnasked', actions: [{ type: 'message.send', params: question }, 'noteAsked'] },
      ],
      initial: 'asking',
      states: {
        asking: {
          description:
            'The Services that owe a proof have been asked for it; after a while they are asked again.',
          after: { askAgain: { actions: ['countAsking', 'forgetAsked'], target: 'asking', reenter: true } },
        },
      },
    },
    marking: {
      description: 'Every route is proven; the condition is being written.',
      initial: 'patching',
      always: [
        { guard: 'isTerminating', target: 'terminating' },
        { guard: 'isUnprovable', target: 'deciding' },
        { guard: 'isRouteOwed', target: 'proving' },
      ],
      states: {
        patching: {
          description: 'The patch is on its way to the Kubernetes API.',
          entry: {
            type: 'pod-condition.patch',
            params: ({ context, event }) => ({
              ...conditionOf(context),
              status: 'True' as const,
              reason: 'RoutesVerified',
              message: verifiedMessage(context),
              at: (event as Stamp).at,
            }),
          },
          on: {
            'condition.patched': {
              target: '#pod.ready',
              actions: [{ type: 'kube-event.write', params: openedNote }, 'release'],
            },
            'condition.refused': [
              { guard: 'isRefusedAsGone', target: 'waitingForNews' },
              { target: 'backingOff', actions: 'countFailure' },
            ],
          },
          after: { patchPatience: { target: 'backingOff', actions: 'countFailure' } },
        },
        backingOff: {
          description: 'The patch failed; it is tried again after a while.',
          tags: 'wrong',
          after: { backOff: 'patching' },
        },
        waitingForNews: {
          description: 'The Pod was not there, or was another one; what became of it will be observed.',
          after: { lookAgain: 'patching' },
        },
      },
    },
    ready: {
      description: 'Every route was proven and the condition is True.',
      tags: 'settled',
      initial: 'proven',
      always: [
        { guard: 'isTerminating', target: 'terminating' },
        { guard: 'isUngated', target: 'ungated' },
      ],
      on: {
        'pod.observed': [
          { guard: 'isConditionTakenBack', actions: ['dropAdopted', 'remember'], target: 'proving' },
          { guard: 'isWatchNews', actions: ['remember', { type: 'message.send', params: watching }] },
        ],
      },
      states: {
        proven: {
          description: 'Nothing is left to do.',
          tags: 'settled',
          always: { guard: 'isRouteOwedAndWithdrawn', actions: 'beginToDoubt', target: 'doubted' },
        },
        doubted: {
          description: 'A route is owed again; it is asked for once more before the condition is withdrawn.',
          tags: 'wrong',
          entry: 'noteDoubts',
          always: [
            { guard: 'isDoubtOver', target: 'proven', actions: 'forgetLoss' },
            { guard: 'isRouteUnasked', actions: [{ type: 'message.send', params: question }, 'noteAsked'] },
            { guard: 'isDoubtNews', target: 'doubted', reenter: true },
          ],
          after: { doubtPatience: { target: '#pod.lost', actions: 'noteLoss' } },
        },
      },
    },
    lost: {
      description: 'A route was not proven again in time; the condition is being set to False.',
      tags: 'wrong',
      initial: 'withdrawing',
      always: { guard: 'isTerminating', target: 'terminating' },
      states: {
        withdrawing: {
          description: 'The patch is on its way to the Kubernetes API.',
          entry: {
            type: 'pod-condition.patch',
            params: ({ context, event }) => ({
              ...conditionOf(context),
              status: 'False' as const,
              reason: 'RouteLost',
              message: lostMessage(context),
              at: (event as Stamp).at,
            }),
          },
          on: {
            'condition.patched': {
              target: '#pod.proving',
              actions: { type: 'kube-event.write', params: withdrawnNote },
            },
            'condition.refused': { target: 'backingOff', actions: 'countFailure' },
          },
          after: { patchPatience: { target: 'backingOff', actions: 'countFailure' } },
        },
        backingOff: {
          description: 'The patch failed; it is tried again after a while.',
          after: { backOff: 'withdrawing' },
        },
      },
    },
    terminating: {
      description: 'The Pod is being deleted; nothing more is asked or written.',
      tags: 'settled',
      always: {
        guard: 'isAnythingAsked',
        actions: [{ type: 'message.send', params: withdrawal }, 'forgetAsked'],
      },
    },
    gone: {
      description: 'The Pod does not exist any more; its record is removed.',
      type: 'final',
    },
  },
});

export const podChart: Chart = {
  name: 'pod',
  version: 1,
  description: 'Holds a Pod back until traffic through every Service of its group is seen to reach it.',
  machine: podMachine,
  durable: true,
  createdBy: ['pod.observed'],
  effects: podEffects,
};
