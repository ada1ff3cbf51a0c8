/**
 * `release`: applies the objects of a bundle, in an order that never hurts a replica of another release.
 *
 * Who sends: the replica that leads (`release.led`, `release.observed`, `drift.seen`), the outcomes of its own effects, and people
 * (`release.reconcile`). The actor lives where the leadership is (docs/decisions/0002-release-leadership.md): what it saves is
 * conditional on the fence of the leadership, like every status that it writes.
 * What it promises:
 * - Nothing is applied before the status says what the objects will suit, and 5 s after the status was looked at or written: requests
 *   of a former leader, which no fence stops, have ended by then. Where there never was a status there was no leader either.
 * - A state that some live replica does not suit is only written when no such replica is left, on condition that none came meanwhile.
 * - A new leadership begins from the beginning, whatever an earlier one was doing.
 * Absent: who may lead (features/releases/release-candidacy.ts), what a round does (features/releases/bundle-round.ts), who may serve
 * (actors/release-guard.ts).
 */

import { assign, setup } from 'xstate';
import type { ActorInput } from '../actor-input.ts';
import type { Chart } from '../chart.ts';
import { actionsOf } from '../effect.ts';
import {
  type Args,
  emptyContext,
  errorOf,
  hindrances,
  isOfThisReign,
  isOfThisRound,
  isReportDue,
  mustMarkDone,
  type ReleaseContext,
  type ReleaseInput,
  retryDelay,
  round,
  withDrift,
  withRoster,
  withRound,
  writing,
} from './release-context.ts';
import { releaseEffects } from './release-effects.ts';
import { doneStatus, type ReleaseStatus, rowOf, unsuitedStatus, workingStatus } from './release-table.ts';
import { blocked, explainRelease, failing, report, resource, rested } from './release-telling.ts';

/** Of a row that has a status; the table says so. */
const written = ({ seen, bundle }: ReleaseContext): ReleaseStatus => seen.status ?? doneStatus(bundle);

const isClean = (args: Args) =>
  isOfThisRound(args) && args.event.type === 'round.finished' && args.event.summary.failed === 0;

export const releaseMachine = setup({
  types: {
    context: {} as ReleaseContext,
    events: {} as ReleaseInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isNewReign: ({ context, event }) => event.type === 'release.led' && event.fence > context.fence,
    isOfThisReign,
    isOfThisRound,
    isRefusedByNodes: (args) =>
      isOfThisReign(args) && args.event.type === 'status.refused' && args.event.by === 'nodes',
    isUnreadable: ({ context }) => context.seen.unreadable !== null,
    hasNoStatus: ({ context }) => context.seen.status === null,
    isDone: ({ context }) => rowOf(context.seen.status, context.bundle) === 'done',
    isSuitedAndWorking: ({ context }) =>
      rowOf(context.seen.status, context.bundle) === 'suited' && context.seen.status?.state === 'Working',
    isSuited: ({ context }) => rowOf(context.seen.status, context.bundle) === 'suited',
    isRosterNew: ({ context }) => context.epoch > context.triedEpoch,
    isHindered: ({ context }) => hindrances(context).length > 0,
    isNotDone: ({ context }) => rowOf(context.seen.status, context.bundle) !== 'done',
    isClean,
    isCleanAndMarked: (args) => isClean(args) && !mustMarkDone(args.context),
    isReportDue: (args) => isOfThisRound(args) && isReportDue(args),
    hasDrifted: ({ context }) => context.drift.length > 0,
    isRested: (args) =>
      isOfThisReign(args) && args.event.at - (args.context.roundEndedAt ?? 0) >= driftPauseMs,
  },
  delays: {
    /** The rules: what a former leader has sent to the API server has ended by then. */
    formerPatience: 5_000,
    /** Nodes are told as they change; this only catches what was never said. */
    nodesPatience: 30_000,
    /** A write was refused because of nodes that are still to be heard of, or its outcome is not known. */
    pictureWait: 1_000,
    /** The bound on an effect (limits.ts) and a little; then its outcome is lost. */
    writePatience: 35_000,
    /** Longer than a round may take (limits.releaseRoundMs). */
    roundPatience: 330_000,
    retry: ({ context }) => context.retryInMs,
    /** The rules: objects are compared this often, whatever the watch says. */
    roundInterval: 30_000,
    driftPause: 1_000,
    /** A leader that was refused is told by its shard that it lost it; this only catches what was never said. */
    deposedPatience: 10_000,
  },
  actions: {
    begin: assign(({ context, event }) =>
      event.type === 'release.led'
        ? {
            ...emptyContext(context.name),
            ...{ fence: event.fence, leader: event.replica, bundle: event.bundle },
            ...{ seen: event.seen, nodes: event.nodes, epoch: event.epoch },
            round: context.round,
            changes: context.changes,
          }
        : {},
    ),
    noteRoster: assign(({ context, event }) =>
      event.type === 'release.observed' ? withRoster(context, event) : {},
    ),
    noteHindrances: assign(({ context }) => ({ waitingFor: hindrances(context) })),
    forgetHindrances: assign({ waitingFor: [] }),
    noteWritten: assign(({ event }) =>
      event.type === 'status.written'
        ? { seen: { sequence: event.sequence, status: event.status, unreadable: null } }
        : {},
    ),
    noteTried: assign(({ context }) => ({ triedEpoch: context.epoch })),
    noteUnknown: assign(({ event }) => ({ lastError: errorOf(event) })),
    countRound: assign(({ context, event }) => ({
      round: context.round + 1,
      begunAt: context.begunAt ?? event.at,
      drift: [],
    })),
    noteSuccess: assign(({ context, event }) => ({
      failures: 0,
      lastError: null,
      lastApplied: event.at,
      roundEndedAt: event.at,
      ...withRound(context, event),
    })),
    noteFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      lastError: errorOf(event),
      roundEndedAt: event.at,
      retryInMs: retryDelay(context.failures, event.random),
      ...withRound(context, event),
    })),
    noteReport: assign(({ event }) => ({ reportedAt: event.at })),
    noteDrift: assign(({ context, event }) =>
      event.type === 'drift.seen' ? { drift: withDrift(context.drift, event.object) } : {},
    ),
    ...actionsOf(...releaseEffects),
  },
}).createMachine({
  id: 'release',
  context: ({ input }) => emptyContext(input.name),
  initial: 'leaderless',
  on: {
    'release.led': { guard: 'isNewReign', target: '.deciding', actions: 'begin', reenter: true },
    'release.observed': { guard: 'isOfThisReign', actions: 'noteRoster' },
    'release.retired': '.retired',
    'drift.seen': { guard: 'isOfThisReign', actions: 'noteDrift' },
  },
  states: {
    leaderless: {
      description: 'No replica leads yet.',
      tags: 'settled',
    },
    deciding: {
      description: 'What is written is compared with what the bundle would write.',
      always: [
        {
          guard: 'isUnreadable',
          target: 'applying',
          actions: {
            type: 'release.report',
            params: ({ context }) =>
              report(
                context,
                'warn',
                'the status of the release cannot be read and counts as missing',
                context.seen.unreadable ?? '',
              ),
          },
        },
        { guard: 'hasNoStatus', target: 'applying' },
        { guard: 'isDone', target: 'lettingEnd' },
        { guard: 'isSuitedAndWorking', target: 'lettingEnd' },
        { guard: 'isSuited', target: 'announcing' },
        { guard: 'isHindered', target: 'waitingForNodes' },
        { target: 'claiming' },
      ],
    },
    waitingForNodes: {
      description:
        'Live replicas do not suit what would be written: older than the bundle can live with, or newer than the bundle. They must go first.',
      tags: 'wrong',
      entry: [{ type: 'release-resource.write', params: (args) => blocked(args) }, 'noteHindrances'],
      on: {
        'release.observed': {
          guard: 'isOfThisReign',
          target: 'reconsidering',
          actions: 'noteRoster',
        },
      },
      after: { nodesPatience: 'reconsidering' },
    },
    reconsidering: {
      description: 'Nodes or the status changed: it is decided anew.',
      always: 'deciding',
    },
    announcing: {
      description: 'The state suits the bundle; that it is being changed is written first.',
      entry: [
        'noteTried',
        {
          type: 'release-status.write',
          params: ({ context }) => writing(context, workingStatus(written(context), context.bundle), null),
        },
      ],
      on: {
        'status.written': { guard: 'isOfThisReign', target: 'lettingEnd', actions: 'noteWritten' },
        'status.refused': { guard: 'isOfThisReign', target: 'deposed' },
        'status.unknown': { guard: 'isOfThisReign', target: 'lookingAgain', actions: 'noteUnknown' },
      },
      after: { writePatience: { target: 'lookingAgain', actions: 'noteUnknown' } },
    },
    claiming: {
      description:
        'No live replica stands in the way; what suits both sides is written, on condition that none has come meanwhile.',
      entry: [
        'noteTried',
        'forgetHindrances',
        {
          type: 'release-status.write',
          params: ({ context }) =>
            writing(context, unsuitedStatus(written(context), context.bundle), context.epoch),
        },
      ],
      on: {
        'status.written': { guard: 'isOfThisReign', target: 'lettingEnd', actions: 'noteWritten' },
        'status.refused': [
          { guard: 'isRefusedByNodes', target: 'lookingAgain' },
          { guard: 'isOfThisReign', target: 'deposed' },
        ],
        'status.unknown': { guard: 'isOfThisReign', target: 'lookingAgain', actions: 'noteUnknown' },
      },
      after: { writePatience: { target: 'lookingAgain', actions: 'noteUnknown' } },
    },
    lookingAgain: {
      description: 'The status could not be written as things were; they are looked at again.',
      always: { guard: 'isRosterNew', target: 'deciding' },
      after: { pictureWait: 'deciding' },
    },
    lettingEnd: {
      description: 'What a former leader has sent to the API server is given 5 s to end.',
      entry: ['forgetHindrances', { type: 'release-resource.write', params: (args) => resource(args) }],
      after: { formerPatience: 'applying' },
    },
    applying: {
      description: 'Every object is brought to what the bundle says, for the first time under this leader.',
      entry: ['countRound', { type: 'release.round', params: ({ context }) => round(context) }],
      on: {
        'round.finished': [
          { guard: 'isCleanAndMarked', target: 'resting', actions: 'noteSuccess' },
          { guard: 'isClean', target: 'marking', actions: 'noteSuccess' },
          {
            guard: 'isReportDue',
            target: 'retrying',
            actions: [
              'noteFailure',
              'noteReport',
              { type: 'release.report', params: (args) => failing(args, 'error') },
              { type: 'release-resource.write', params: (args) => resource(args) },
            ],
          },
          { guard: 'isOfThisRound', target: 'retrying', actions: 'noteFailure' },
        ],
        'round.failed': [
          {
            guard: 'isReportDue',
            target: 'retrying',
            actions: [
              'noteFailure',
              'noteReport',
              { type: 'release.report', params: (args) => failing(args, 'error') },
              { type: 'release-resource.write', params: (args) => resource(args) },
            ],
          },
          { guard: 'isOfThisRound', target: 'retrying', actions: 'noteFailure' },
        ],
      },
      after: { roundPatience: { target: 'retrying', actions: 'noteFailure' } },
    },
    retrying: {
      description: 'Not every object could be brought to what the bundle says; it is tried again, for ever.',
      tags: 'wrong',
      on: { 'release.reconcile': 'applying' },
      after: { retry: 'applying' },
    },
    marking: {
      description: 'All objects stand as the bundle has them; that is being written.',
      entry: {
        type: 'release-status.write',
        params: ({ context }) => writing(context, doneStatus(context.bundle), null),
      },
      on: {
        'status.written': {
          guard: 'isOfThisReign',
          target: 'resting',
          actions: 'noteWritten',
        },
        'status.refused': { guard: 'isOfThisReign', target: 'deposed' },
        'status.unknown': { guard: 'isOfThisReign', target: 'markingAgain', actions: 'noteUnknown' },
      },
      after: { writePatience: { target: 'markingAgain', actions: 'noteUnknown' } },
    },
    markingAgain: {
      description: 'Whether it was written is not known; it is written again.',
      after: { pictureWait: 'marking' },
    },
    resting: {
      description: 'The objects stood as the bundle has them when they were last compared.',
      tags: 'settled',
      entry: { type: 'release-resource.write', params: (args) => rested(args) },
      always: [
        { guard: 'isNotDone', target: 'reconsidering' },
        { guard: 'hasDrifted', target: 'pausing' },
      ],
      on: {
        'drift.seen': { guard: 'isRested', target: 'repeating', actions: 'noteDrift' },
        'release.reconcile': 'repeating',
      },
      after: { roundInterval: 'repeating' },
    },
    pausing: {
      description:
        'An object drifted so soon after the last round that a fight over it is feared; a second is let pass.',
      after: { driftPause: 'repeating' },
    },
    repeating: {
      description: 'Every object is compared with what the bundle says, and brought back where it drifted.',
      entry: ['countRound', { type: 'release.round', params: ({ context }) => round(context) }],
      on: {
        'round.finished': [
          { guard: 'isClean', target: 'resting', actions: 'noteSuccess' },
          {
            guard: 'isOfThisRound',
            target: 'resting',
            actions: ['noteFailure', { type: 'release.report', params: (args) => failing(args, 'warn') }],
          },
        ],
        'round.failed': {
          guard: 'isOfThisRound',
          target: 'resting',
          actions: ['noteFailure', { type: 'release.report', params: (args) => failing(args, 'warn') }],
        },
      },
      after: { roundPatience: { target: 'resting', actions: 'noteFailure' } },
    },
    deposed: {
      description: 'Another replica leads: nothing more is done here.',
      tags: 'wrong',
      after: { deposedPatience: 'deciding' },
    },
    retired: {
      description: 'The replicas have a bundle of another name now.',
      type: 'final',
    },
  },
});

/** Between two rounds for drift: an object over which two controllers fight must not become a loop. */
const driftPauseMs = 1_000;

export const releaseChart: Chart = {
  name: 'release',
  version: 2,
  description: 'Applies the objects of a bundle, so that replicas of two releases can live side by side.',
  machine: releaseMachine,
  durable: true,
  led: true,
  createdBy: ['release.led'],
  effects: releaseEffects,
  explain: explainRelease,
  migrations: {
    // What rounds changed was not kept.
    1: ({ value, context }) => ({ value, context: { ...(context as ReleaseContext), changes: [] } }),
  },
};
