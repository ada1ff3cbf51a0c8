/**
 * The states of the pod chart in which a Pod is held back. Each of them writes its reason into the Pod's
 * condition. While that patch is in progress, nothing is decided that needs another one, because the older
 * patch could arrive last.
 */
import { heldPatch, invalidNote, longHeldNote, missingNote, withdrawal } from './pod-words.ts';

/** The condition will say why soon; a reason that lasts only a moment is not worth a write. */
const unsaid = <const O, const T extends string>(over: O, then: T) =>
  ({
    description: 'The condition does not say why the Pod is held back yet; it will shortly.',
    always: over,
    after: { tellPause: [{ guard: 'isUntold', target: 'telling' }, { target: then }] },
  }) as const;

/** Writes why the Pod is held back, then goes to `then`. */
const telling = <const T extends string>(then: T) =>
  ({
    description: 'Writes why the Pod is held back into the condition.',
    entry: ['noteTelling', { type: 'pod-condition.patch', params: heldPatch }],
    on: {
      'condition.patched': { guard: 'isSaidFalse', target: then },
      'condition.refused': { guard: 'isRefused', target: 'unsaid', actions: ['noteUntold', 'noteRefusal'] },
      'pod.recheck': { actions: 'startAfresh' },
    },
    after: { patchPatience: { target: 'unsaid', actions: ['noteUntold', 'noteSilence'] } },
  }) as const;

const provingTelling = telling('told');

/** What the condition says is out of date. */
const isOutdated = { guard: 'isUntold', target: 'unsaid' } as const;
const groupIsFound = { guard: 'isGroupFound', target: '#pod.deciding' } as const;
const addressIsThere = { guard: 'hasAddress', target: '#pod.deciding' } as const;
const addressIsReadable = { guard: 'isAddressReadable', target: '#pod.deciding' } as const;
const allIsProven = { guard: 'isAllProven', target: '#pod.gated.marking' } as const;

/** The group's last Service may be in the course of being replaced; the next deadline is for its return. */
const lastLeaves = <const T extends string>(here: T) =>
  ({ guard: 'isLastJustLeft', target: here, reenter: true, actions: 'timeReturn' }) as const;
const noneCameBack = <const T extends string>(here: T) =>
  ({ guard: 'isLastAway', target: here, reenter: true, actions: 'giveUpReturn' }) as const;

/** docs/features/routes.md §7.16. Not while a patch is in progress: its outcome would be unheard. */
const thenOverdue = { overduePatience: 'overdue' } as const;

/** Asks again, because a question may have been lost. */
const askAgain = <const T extends string>(here: T) =>
  ({ actions: ['countAsking', 'forgetAsked'], target: here, reenter: true }) as const;

/** Now and then an Event says why the Pod is held back, whatever its condition says. */
const askAgainAloud = <const T extends string>(here: T) =>
  ({
    ...askAgain(here),
    guard: 'isLongHeld',
    actions: ['countAsking', 'forgetAsked', { type: 'kube-event.write', params: longHeldNote }],
  }) as const;

/** While no address is there. */
const addressStates = {
  unsaid: unsaid(addressIsThere, 'told'),
  telling: telling('told'),
  told: {
    description: 'The condition says that the Pod has no address.',
    always: [addressIsThere, isOutdated],
  },
} as const;

/** Once the Services have been asked. */
const routeStates = {
  unsaid: {
    description: 'The condition is out of date; it is rewritten once the reason has held for a few seconds.',
    always: [allIsProven, lastLeaves('unsaid')],
    after: {
      tellPause: 'telling',
      askAgain: [noneCameBack('unsaid'), askAgainAloud('unsaid'), askAgain('unsaid')],
    },
  },
  telling: { ...provingTelling, entry: ['askByName', ...provingTelling.entry] },
  told: {
    description: 'The condition says which Services have not reached the Pod; they are asked again later.',
    always: [allIsProven, isOutdated, lastLeaves('told')],
    after: {
      askAgain: [noneCameBack('told'), askAgainAloud('told'), askAgain('told')],
    },
  },
} as const;

export const heldStates = {
  groupMissing: {
    description:
      'The object that owns the group does not exist, at least not yet, or the group is too large; or it turned out not to match, and the condition is about to say so.',
    tags: 'wrong',
    entry: 'noteWaiting',
    initial: 'unsaid',
    states: {
      unsaid: unsaid(groupIsFound, 'patient'),
      telling: telling('patient'),
      patient: {
        description: 'That may still change.',
        always: [groupIsFound, isOutdated],
        after: { missingPatience: 'reported' },
      },
      reported: {
        description: 'A Warning Event on the Pod says what is missing or too large, again each half hour.',
        tags: 'settled',
        entry: { type: 'kube-event.write', params: missingNote },
        always: [groupIsFound, isOutdated],
        after: { remind: { target: 'reported', reenter: true } },
      },
    },
  },
  waitingForAddress: {
    description: 'The Pod has no address yet.',
    entry: 'noteWaiting',
    // Records of earlier releases have this deadline, and none of those below before the next observation.
    // What was asked for a former address is of no use.
    after: { lookAgain: { actions: 'forgetAsked' } },
    initial: 'unsaid',
    states: {
      ...addressStates,
      unsaid: { ...addressStates.unsaid, after: { ...addressStates.unsaid.after, ...thenOverdue } },
      told: { ...addressStates.told, after: thenOverdue },
      overdue: {
        description: 'The Pod has had no address for minutes: somebody should look why.',
        tags: 'wrong',
        initial: 'told',
        states: {
          ...addressStates,
          told: { ...addressStates.told, after: { lookAgain: { target: 'told', reenter: true } } },
        },
      },
    },
  },
  invalid: {
    description: "The Pod's address cannot be parsed, so no answer can be matched to the Pod.",
    tags: 'wrong',
    entry: ['noteWaiting', { type: 'kube-event.write', params: invalidNote }],
    initial: 'unsaid',
    states: {
      unsaid: unsaid(addressIsReadable, 'told'),
      telling: telling('told'),
      told: {
        description: 'The condition says that the address cannot be parsed; an Event does, each half hour.',
        tags: 'settled',
        always: [
          addressIsReadable,
          { ...isOutdated, actions: { type: 'kube-event.write', params: invalidNote } },
        ],
        after: {
          remind: {
            target: 'told',
            reenter: true,
            actions: { type: 'kube-event.write', params: invalidNote },
          },
        },
      },
    },
  },
  proving: {
    description: 'Waits until every Service of the group has been seen to reach this Pod.',
    entry: ['hold', 'noteWaiting'],
    always: [
      {
        guard: 'isAskingInVain',
        actions: [{ type: 'message.send', params: withdrawal }, 'forgetAsked'],
      },
      { guard: 'isUnprovable', target: '#pod.deciding' },
      // Our own write that landed late, or somebody else's: every unproven route counts as in doubt.
      { guard: 'isConditionTrue', target: 'ready', actions: 'noteDebts' },
      { guard: 'isRouteUnasked', actions: ['noteSpeaking', 'ask', 'noteAsked'] },
    ],
    initial: 'asking',
    states: {
      asking: {
        description:
          'Has asked the Services that owe a proof; later asks again and says in the condition which are missing.',
        always: [allIsProven, lastLeaves('asking')],
        after: {
          askAgain: [noneCameBack('asking'), askAgain('asking')],
          tellPause: [{ guard: 'isUntold', target: 'telling' }, { target: 'told' }],
        },
      },
      ...routeStates,
      unsaid: { ...routeStates.unsaid, after: { ...routeStates.unsaid.after, ...thenOverdue } },
      told: { ...routeStates.told, after: { ...routeStates.told.after, ...thenOverdue } },
      overdue: {
        description:
          'The Pod has been held back for minutes, or something that somebody has to change keeps Services from reaching it.',
        tags: 'wrong',
        initial: 'told',
        states: routeStates,
      },
    },
  },
} as const;
