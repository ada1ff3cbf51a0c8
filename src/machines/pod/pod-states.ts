/**
 * The states of the pod chart. Guards, delays and actions are in pod-setup.ts, their calculations in
 * pod-context.ts and pod-words.ts.
 *
 * A patch in progress is awaited before the next one is requested, so that the last one requested is the last
 * one to arrive.
 */
import { keepIds } from '../state-ids.ts';
import { heldStates } from './pod-held-states.ts';
import {
  lostPatch,
  openedNote,
  openedPatch,
  strandedNote,
  unopenedNote,
  unwithdrawnNote,
  withdrawal,
  withdrawnNote,
} from './pod-words.ts';

/** Nobody knows whether the patch landed. */
const unanswered = <const T extends string>(target: T) =>
  ({ target, actions: ['countFailure', 'noteSilence'] }) as const;

/** The patch was refused; now and then an Event says so. */
const refused = <const T extends string>(target: T, note: typeof unopenedNote) =>
  [
    {
      guard: 'isRefusedForLong',
      target,
      actions: ['countFailure', 'noteRefusal', { type: 'kube-event.write', params: note }],
    },
    { guard: 'isRefused', target, actions: ['countFailure', 'noteRefusal'] },
  ] as const;

const gatedStates = keepIds('pod', {
  choosing: {
    description: 'Decides what the Pod needs.',
    always: [
      { guard: 'isConditionTrue', target: 'ready', actions: 'adoptProofs' },
      { guard: 'isGroupMissing', target: 'groupMissing' },
      { guard: 'isToldWrongly', target: 'groupMissing' },
      { guard: 'isNotApplicable', target: 'notApplicable' },
      { guard: 'hasNoAddress', target: 'waitingForAddress' },
      { guard: 'isAddressInvalid', target: 'invalid' },
      { target: 'proving' },
    ],
  },
  notApplicable: {
    description:
      'The RouteGate does not apply to the Pod: not to the object that owns its group, or it does not select the Pod.',
    tags: 'settled',
    always: { guard: 'isApplicable', target: '#pod.deciding' },
    // From then on it is missed anew.
    on: {
      'pod.observed': {
        guard: 'isConditionTakenBack',
        target: 'notApplicable',
        reenter: true,
        actions: ['withdrawFromLeft', 'remember'],
      },
    },
    after: { lookAgain: { guard: 'isStranded', target: 'stranded' } },
  },
  stranded: {
    description:
      'The RouteGate does not apply to the Pod, which waits for its condition all the same; nobody has set it.',
    tags: ['settled', 'wrong'],
    entry: { type: 'kube-event.write', params: strandedNote },
    always: [
      { guard: 'isApplicable', target: '#pod.deciding' },
      { guard: 'isConditionTrue', target: 'notApplicable' },
    ],
    after: { remind: { target: 'stranded', reenter: true } },
  },
  ...heldStates,
  marking: {
    description: 'Every route is proven; the condition is being set to True.',
    initial: 'patching',
    on: { 'pod.recheck': { actions: 'startAfresh' } },
    states: {
      patching: {
        description:
          'The patch is on its way to the Kubernetes API. Changes are acted on once it has landed.',
        entry: { type: 'pod-condition.patch', params: openedPatch },
        // Observed before the patch's answer came, or instead of an answer that was lost.
        always: {
          guard: 'isConditionTrue',
          target: '#pod.gated.ready',
          actions: [{ type: 'kube-event.write', params: openedNote }, 'release'],
        },
        on: {
          'condition.patched': {
            guard: 'isSaidTrue',
            target: '#pod.gated.ready',
            actions: [{ type: 'kube-event.write', params: openedNote }, 'release'],
          },
          'condition.refused': [
            { guard: 'isRefusedAsGone', target: '#pod.gated.marking.retrying.waitingForNews' },
            ...refused('#pod.gated.marking.retrying.backingOff', unopenedNote),
          ],
          'pod.observed': { guard: 'isMoved', actions: 'remember', target: 'outdated' },
        },
        after: { patchPatience: unanswered('#pod.gated.marking.retrying.backingOff') },
      },
      outdated: {
        description:
          "The Pod's address changed while the patch was on its way; the condition is withdrawn once the patch has landed.",
        on: {
          'condition.patched': { guard: 'isSaidTrue', target: '#pod.gated.lost' },
          'condition.refused': { guard: 'isRefused', target: '#pod.deciding' },
        },
        after: { patchPatience: '#pod.gated.lost' },
      },
      retrying: {
        description: 'The patch failed; it is repeated if it is still correct.',
        initial: 'backingOff',
        on: { 'pod.recheck': { actions: 'startAfresh', target: '#pod.deciding' } },
        always: [
          { guard: 'isUnprovable', target: '#pod.deciding' },
          { guard: 'isConditionTrue', target: '#pod.gated.ready', actions: 'release' },
          { guard: 'isNotAllProven', target: '#pod.gated.proving' },
        ],
        states: keepIds('pod.marking', {
          backingOff: {
            description: 'The patch failed; it is retried after a pause.',
            tags: 'wrong',
            after: { backOff: '#pod.gated.marking.patching' },
          },
          waitingForNews: {
            description: 'The Pod was missing or had been replaced; waits to observe what happened to it.',
            after: { lookAgain: '#pod.gated.marking.patching' },
          },
        } as const),
      },
    },
  },
  ready: {
    description: 'Every route is proven and the condition is True.',
    tags: 'settled',
    initial: 'proven',
    on: {
      'pod.observed': [
        {
          guard: 'isConditionTakenBack',
          actions: ['dropAdopted', 'withdrawFromLeft', 'remember'],
          target: 'proving',
        },
      ],
      // Adopted proofs do not count: the routes have to be seen.
      'pod.recheck': [
        { guard: 'isWatched', actions: 'startAfresh' },
        { actions: 'startAfresh', target: '#pod.deciding' },
      ],
    },
    states: {
      proven: {
        description: 'Nothing is left to do.',
        tags: 'settled',
        always: [
          {
            guard: 'isUnwatched',
            target: 'proven',
            reenter: true,
            actions: ['noteSpeaking', 'tellToWatch', 'noteWatchTold'],
          },
          { guard: 'isRouteOwedAndWithdrawn', actions: 'forgetAsked', target: 'doubted' },
          // It passed because nothing could be verified; Services that came since have reached it. The patch
          // changes no status, so nothing waits for it.
          { guard: 'isVerifiedSince', actions: 'noteRestated', target: '#pod.gated.marking.patching' },
        ],
        // Somebody took the condition away before the world had shown it. Meanwhile a Service may have come
        // that has proven nothing yet.
        after: {
          lookAgain: { guard: 'isUnseen', actions: 'dropAdopted', target: '#pod.gated.proving' },
          watchAgain: {
            guard: 'isUnconfirmed',
            target: 'proven',
            reenter: true,
            actions: ['noteSpeaking', 'tellToWatch', 'noteWatchTold'],
          },
        },
      },
      doubted: {
        description:
          'A proof is missing again; the Service is asked once more before the condition is withdrawn.',
        tags: 'wrong',
        entry: 'noteDoubts',
        always: [
          { guard: 'isDoubtOver', target: 'proven', actions: 'forgetLoss' },
          { guard: 'isRouteUnasked', actions: ['noteSpeaking', 'ask', 'noteAsked'] },
          { guard: 'isDoubtNews', target: 'doubted', reenter: true },
        ],
        after: { doubtPatience: { target: '#pod.gated.lost', actions: 'noteLoss' } },
      },
    },
  },
  lost: {
    description: 'A route was not proven again in time; the condition is being set to False.',
    tags: 'wrong',
    initial: 'withdrawing',
    on: { 'pod.recheck': { actions: 'startAfresh' } },
    states: {
      withdrawing: {
        description: 'The patch is on its way to the Kubernetes API.',
        entry: { type: 'pod-condition.patch', params: lostPatch },
        on: {
          'condition.patched': {
            guard: 'isSaidFalse',
            target: '#pod.gated.proving',
            actions: [{ type: 'kube-event.write', params: withdrawnNote }, 'noteWithdrawn', 'dropAdopted'],
          },
          'condition.refused': refused('backingOff', unwithdrawnNote),
        },
        after: {
          withdrawalPatience: unanswered('backingOff'),
          // Records of 0.1.0 (be27528) wait for this deadline, which never comes first.
          patchPatience: unanswered('backingOff'),
        },
      },
      backingOff: {
        description: 'The patch failed; it is retried after a pause, unless the routes are proven by then.',
        always: [
          { guard: 'isConditionFalse', target: '#pod.gated.proving', actions: 'dropAdopted' },
          { guard: 'isDoubtOver', target: '#pod.gated.ready', actions: 'forgetLoss' },
        ],
        // Records of 0.1.0 (be27528) wait for the second deadline, which never comes first.
        after: { withdrawalBackOff: 'withdrawing', backOff: 'withdrawing' },
      },
    },
  },
} as const);

export const podStates = {
  deciding: {
    description: 'Checks whether there is anything to do for the Pod.',
    tags: 'settled',
    always: [
      { guard: 'isTerminating', target: 'terminating' },
      { guard: 'isUngated', target: 'ungated' },
      { guard: 'isKnown', target: 'gated' },
    ],
  },
  ungated: {
    description: 'The Pod does not have the readiness gate, so it is left alone.',
    tags: 'settled',
    always: [
      { guard: 'isTerminating', target: 'terminating' },
      { guard: 'isGated', target: 'deciding' },
    ],
  },
  gated: {
    description: 'The Pod has the readiness gate and is held back until every route is proven.',
    initial: 'choosing',
    always: [
      { guard: 'isTerminating', target: 'terminating' },
      { guard: 'isUngated', target: 'ungated' },
    ],
    states: gatedStates,
  },
  terminating: {
    description: 'The Pod is being deleted or has ended; nothing more is asked or written.',
    tags: 'settled',
    always: {
      guard: 'isAnythingAsked',
      actions: [{ type: 'message.send', params: withdrawal }, 'forgetAsked'],
    },
  },
  gone: {
    description: 'The Pod no longer exists; its record is removed.',
    type: 'final',
  },
} as const;
