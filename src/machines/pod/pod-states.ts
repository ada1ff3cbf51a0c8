/**
 * The states of the pod chart. Its guards, delays and actions stand in pod.ts, what they compute in pod-
 * context.ts and pod-words.ts.
 *
 * A patch that is on its way is waited for before another one is asked for: whichever lands last is then the
 * one that was asked for last.
 */
import {
  heldPatch,
  invalidNote,
  lostPatch,
  missingNote,
  openedNote,
  openedPatch,
  watching,
  withdrawal,
  withdrawnNote,
} from './pod-words.ts';

/** Writes why the Pod is held back, and comes to `then`. */
const tell = <const T extends string>(then: T) =>
  ({
    description: 'The condition is being told why the Pod is held back.',
    entry: ['noteTelling', { type: 'pod-condition.patch', params: heldPatch }],
    on: {
      'condition.patched': { guard: 'isSaidFalse', target: then },
      'condition.refused': { target: 'unsaid', actions: 'noteUntold' },
    },
    after: { patchPatience: { target: 'unsaid', actions: 'noteUntold' } },
  }) as const;

/** Soon the condition says why: what lasts a moment only is not worth a write. */
const unsaid = {
  description: 'The condition does not say yet why the Pod is held back; soon it does.',
  after: { tellPause: [{ guard: 'isUntold', target: 'telling' }, { target: 'told' }] },
} as const;

const askAgain = ['countAsking', 'forgetAsked'] as const;

export const podStates = {
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
    always: { guard: 'isGated', target: 'deciding' },
  },
  notApplicable: {
    description: 'The object that owns the group is of a sort that the RouteGate does not speak of.',
    tags: 'settled',
    always: { guard: 'isApplicable', target: 'deciding' },
  },
  groupMissing: {
    description: 'The object that owns the group does not exist (yet).',
    tags: 'wrong',
    entry: 'noteWaiting',
    always: { guard: 'isGroupFound', target: 'deciding' },
    initial: 'unsaid',
    states: {
      unsaid: {
        ...unsaid,
        after: { tellPause: [{ guard: 'isUntold', target: 'telling' }, { target: 'patient' }] },
      },
      telling: tell('patient'),
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
    entry: 'noteWaiting',
    always: { guard: 'hasAddress', target: 'deciding' },
    after: { lookAgain: { target: 'waitingForAddress', reenter: true } },
    initial: 'unsaid',
    states: {
      unsaid,
      telling: tell('told'),
      told: { description: 'The condition says that the Pod waits for an address.' },
    },
  },
  invalid: {
    description: "The Pod's address cannot be read, so no answer can be told to be its own.",
    tags: 'wrong',
    entry: ['noteWaiting', { type: 'kube-event.write', params: invalidNote }],
    always: [
      { guard: 'isAddressValid', target: 'deciding' },
      { guard: 'hasNoAddress', target: 'deciding' },
    ],
    initial: 'unsaid',
    states: {
      unsaid,
      telling: tell('told'),
      told: { description: 'The condition says that the address cannot be read.', tags: 'settled' },
    },
  },
  proving: {
    description: 'Waits until each Service of the group has been seen to reach this Pod.',
    entry: ['hold', 'noteWaiting'],
    always: [
      {
        guard: 'isAskingInVain',
        actions: [{ type: 'message.send', params: withdrawal }, 'forgetAsked'],
      },
      { guard: 'isUnprovable', target: 'deciding' },
      // Ours that landed late, or somebody else's: it counts as if every route were in doubt that is not
      // proven.
      { guard: 'isConditionTrue', target: 'ready', actions: 'noteDebts' },
      { guard: 'isRouteUnasked', actions: ['ask', 'noteAsked'] },
    ],
    initial: 'asking',
    states: {
      asking: {
        description:
          'The Services that owe a proof have been asked for it; after a while they are asked again, and the condition says who is missing.',
        always: { guard: 'isAllProven', target: '#pod.marking' },
        after: {
          askAgain: { actions: askAgain, target: 'asking', reenter: true },
          tellPause: [{ guard: 'isUntold', target: 'telling' }, { target: 'told' }],
        },
      },
      unsaid: {
        description: 'The condition does not say what holds; it does once it has stood for a few seconds.',
        always: { guard: 'isAllProven', target: '#pod.marking' },
        after: { tellPause: 'telling', askAgain: { actions: askAgain, target: 'unsaid', reenter: true } },
      },
      telling: tell('told'),
      told: {
        description:
          'The condition says which Services have not reached the Pod; they are asked again after a while.',
        always: [
          { guard: 'isAllProven', target: '#pod.marking' },
          { guard: 'isUntold', target: 'unsaid' },
        ],
        after: { askAgain: { actions: askAgain, target: 'told', reenter: true } },
      },
    },
  },
  marking: {
    description: 'Every route is proven; the condition is being written.',
    initial: 'patching',
    states: {
      patching: {
        description:
          'The patch is on its way to the Kubernetes API. What changes meanwhile is judged once it has landed.',
        entry: { type: 'pod-condition.patch', params: openedPatch },
        // Seen before its answer came, or in place of an answer that was lost.
        always: {
          guard: 'isConditionTrue',
          target: '#pod.ready',
          actions: [{ type: 'kube-event.write', params: openedNote }, 'release'],
        },
        on: {
          'condition.patched': {
            guard: 'isSaidTrue',
            target: '#pod.ready',
            actions: [{ type: 'kube-event.write', params: openedNote }, 'release'],
          },
          'condition.refused': [
            { guard: 'isRefusedAsGone', target: 'waitingForNews' },
            { target: 'backingOff', actions: 'countFailure' },
          ],
          'pod.observed': { guard: 'isMoved', actions: 'remember', target: 'outdated' },
          'pod.recheck': { actions: 'startAfresh' },
        },
        after: { patchPatience: { target: 'backingOff', actions: 'countFailure' } },
      },
      outdated: {
        description:
          'The Pod got another address while the patch was on its way: what it says is taken back once it has landed.',
        on: {
          'condition.patched': { guard: 'isSaidTrue', target: '#pod.lost' },
          'condition.refused': '#pod.deciding',
          'pod.recheck': { actions: 'startAfresh' },
        },
        after: { patchPatience: '#pod.lost' },
      },
      backingOff: {
        description: 'The patch failed; it is tried again after a while.',
        tags: 'wrong',
        always: [
          { guard: 'isUnprovable', target: '#pod.deciding' },
          { guard: 'isConditionTrue', target: '#pod.ready', actions: 'release' },
          { guard: 'isNotAllProven', target: '#pod.proving' },
        ],
        after: { backOff: 'patching' },
      },
      waitingForNews: {
        description: 'The Pod was not there, or was another one; what became of it will be observed.',
        always: [
          { guard: 'isUnprovable', target: '#pod.deciding' },
          { guard: 'isNotAllProven', target: '#pod.proving' },
        ],
        after: { lookAgain: 'patching' },
      },
    },
  },
  ready: {
    description: 'Every route was proven and the condition is True.',
    tags: 'settled',
    initial: 'proven',
    on: {
      'pod.observed': [
        { guard: 'isConditionTakenBack', actions: ['dropAdopted', 'remember'], target: 'proving' },
        { guard: 'isWatchNews', actions: ['remember', { type: 'message.send', params: watching }] },
      ],
      // Nothing that was adopted counts: the routes have to be seen.
      'pod.recheck': [
        { guard: 'isWatched', actions: 'startAfresh' },
        { actions: 'startAfresh', target: 'deciding' },
      ],
    },
    states: {
      proven: {
        description: 'Nothing is left to do.',
        tags: 'settled',
        always: { guard: 'isRouteOwedAndWithdrawn', actions: 'forgetAsked', target: 'doubted' },
        // Somebody took the condition away before the world had shown it.
        // Meanwhile a Service may have come that has proven nothing yet.
        after: { lookAgain: { guard: 'isUnseen', actions: 'dropAdopted', target: '#pod.proving' } },
      },
      doubted: {
        description: 'A route is owed again; it is asked for once more before the condition is withdrawn.',
        tags: 'wrong',
        entry: 'noteDoubts',
        always: [
          { guard: 'isDoubtOver', target: 'proven', actions: 'forgetLoss' },
          { guard: 'isRouteUnasked', actions: ['ask', 'noteAsked'] },
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
    on: { 'pod.recheck': { actions: 'startAfresh' } },
    states: {
      withdrawing: {
        description: 'The patch is on its way to the Kubernetes API.',
        entry: { type: 'pod-condition.patch', params: lostPatch },
        on: {
          'condition.patched': {
            guard: 'isSaidFalse',
            target: '#pod.proving',
            actions: [{ type: 'kube-event.write', params: withdrawnNote }, 'noteWithdrawn', 'dropAdopted'],
          },
          'condition.refused': { target: 'backingOff', actions: 'countFailure' },
        },
        after: {
          withdrawalPatience: { target: 'backingOff', actions: 'countFailure' },
          // The deadline that records of 0.1.0 (be27528) wait for; never the earlier one.
          patchPatience: { target: 'backingOff', actions: 'countFailure' },
        },
      },
      backingOff: {
        description:
          'The patch failed; it is tried again after a while, unless the routes are proven by then.',
        always: [
          { guard: 'isConditionFalse', target: '#pod.proving', actions: 'dropAdopted' },
          { guard: 'isDoubtOver', target: '#pod.ready', actions: 'forgetLoss' },
        ],
        // The second is the deadline that records of 0.1.0 (be27528) wait for; never the earlier one.
        after: { withdrawalBackOff: 'withdrawing', backOff: 'withdrawing' },
      },
    },
  },
  terminating: {
    description: 'The Pod is being deleted, or has ended; nothing more is asked or written.',
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
} as const;
