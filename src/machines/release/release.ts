/**
 * `release`: applies the objects of a bundle, in an order that never hurts a replica of another release.
 *
 * Who sends: the replica that leads (`release.led`, `release.observed`, `drift.seen`), the outcomes of its
 * own effects, and people (`release.reconcile`). The actor lives where the leadership is
 * (docs/decisions/0002-release-leadership.md): what it saves is conditional on the fence of the leadership,
 * like every status that it writes.
 * What it promises:
 * - Nothing is applied before the status says what the objects will suit, and 5 s after the status was
 *   looked at or written: requests of a former leader, which no fence stops, have ended by then. Where
 *   there never was a status there was no leader either.
 * - A state that some live replica does not suit is only written when no such replica is left, on condition
 *   that none came meanwhile.
 * - A new leadership begins from the beginning, whatever an earlier one was doing.
 * Absent: who may lead (release-candidacy), what a round does, and who may serve (features/releases).
 */

import type { Chart } from '../chart.ts';
import { isUnwritten } from '../unwritten.ts';
import { emptyContext, type ReleaseContext, round, writing } from './release-context.ts';
import { releaseEffects } from './release-effects.ts';
import { releaseMigrations } from './release-migrations.ts';
import { tellRelease } from './release-reason.ts';
import { releaseSetup } from './release-setup.ts';
import { doneStatus, type ReleaseStatus, unsuitedStatus, workingStatus } from './release-table.ts';
import { blocked, explainRelease, failing, report, resource, rested, retired } from './release-telling.ts';

type Moment = { readonly context: ReleaseContext };

/** Only for rows of the table that have a status. */
const written = ({ seen, bundle }: ReleaseContext): ReleaseStatus => seen.status ?? doneStatus(bundle);

/** Applies every object of the bundle once, and handles the result. */
const aRound = [
  'countRound',
  { type: 'release.round', params: ({ context }: Moment) => round(context) },
] as const;

/** Between rounds. */
const untilNextRound = {
  always: [
    { guard: 'isNotDone', target: '#release.leading.deciding' },
    { guard: 'hasDrifted', target: 'pausing' },
  ],
  on: {
    'drift.seen': { guard: 'isRested', target: 'repeating', actions: 'noteDrift' },
    'release.reconcile': 'repeating',
  },
  after: { roundInterval: 'repeating' },
} as const;

/** What nobody fights over is put back at once. */
const untilPauseEnds = {
  on: { 'drift.seen': { guard: 'isRested', target: 'repeating', actions: 'noteDrift' } },
  after: { driftPause: 'repeating' },
} as const;

/** Until replicas are gone that are in the way; looks again at times in case a report was lost. */
const heldByNodes = {
  entry: [
    { type: 'release-resource.write', params: (args: Parameters<typeof blocked>[0]) => blocked(args) },
    'noteHindrances',
  ],
  on: { 'release.observed': { guard: 'isOfThisReign', target: 'deciding', actions: 'noteRoster' } },
  after: {
    nodesPatience: [
      { guard: 'isHindered', target: '#release.leading.heldUp', reenter: true },
      { target: '#release.leading.deciding' },
    ],
  },
} as const;

const releaseMachine = releaseSetup.createMachine({
  id: 'release',
  context: ({ input }) => emptyContext(input.name),
  initial: 'leaderless',
  on: {
    'release.led': { guard: 'isNewReign', target: '.leading', actions: 'begin', reenter: true },
    'release.observed': { guard: 'isOfThisReign', actions: 'noteRoster' },
    'release.retired': '.retired',
    'effect.settled': [
      { guard: 'isResourceLost', actions: 'noteUnwritten' },
      { guard: 'isResourceBack', actions: 'noteResource' },
    ],
  },
  states: {
    leaderless: {
      description: 'No replica leads yet.',
      tags: 'settled',
    },
    leading: {
      description: 'A replica leads: it applies its bundle and keeps the objects that way.',
      initial: 'deciding',
      on: {
        'drift.seen': { guard: 'isOfThisReign', actions: 'noteDrift' },
        'release.observed': {
          guard: 'isToldOtherwise',
          actions: ['noteRoster', { type: 'release-resource.write', params: (args) => resource(args) }],
        },
        // Whatever was to be written, another replica may write now.
        'status.refused': { guard: 'isOfThisReign', target: 'deposed' },
      },
      states: {
        deciding: {
          description: 'Compares the written status with what the bundle would write.',
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
            { guard: 'isSuited', target: 'announcing.suited' },
            { guard: 'isHindered', target: 'waitingForNodes' },
            { target: 'announcing.unsuited' },
          ],
        },
        waitingForNodes: {
          id: 'release.waitingForNodes',
          description: 'Waits for live replicas to leave that are too old for the bundle, or newer than it.',
          ...heldByNodes,
        },
        heldUp: {
          description: 'Such replicas have been there for half a minute without any change.',
          tags: 'wrong',
          ...heldByNodes,
        },
        announcing: {
          description: 'Writes which releases the objects will support, before touching any of them.',
          entry: ['noteTried', 'forgetHindrances'],
          initial: 'suited',
          on: {
            'status.written': { guard: 'isOfThisReign', target: 'lettingEnd', actions: 'noteWritten' },
            'status.refused': { guard: 'isRefusedByNodes', target: 'lookingAgain' },
            'status.unknown': { guard: 'isOfThisReign', target: 'lookingAgain', actions: 'noteUnknown' },
          },
          states: {
            suited: {
              id: 'release.announcing',
              description: 'The status already fits the bundle; adds only that objects are being changed.',
              entry: {
                type: 'release-status.write',
                params: ({ context }) =>
                  writing(context, workingStatus(written(context), context.bundle), null),
              },
              after: { writePatience: { target: '#release.leading.lookingAgain', actions: 'noteUnknown' } },
            },
            unsuited: {
              id: 'release.claiming',
              description:
                'No live replica is in the way; writes what supports both releases, provided that none has joined meanwhile.',
              entry: {
                type: 'release-status.write',
                params: ({ context }) =>
                  writing(context, unsuitedStatus(written(context), context.bundle), context.epoch),
              },
              after: { writePatience: { target: '#release.leading.lookingAgain', actions: 'noteUnknown' } },
            },
          },
        },
        lookingAgain: {
          id: 'release.lookingAgain',
          description: 'The status could not be written; reads the situation again.',
          always: { guard: 'isRosterNew', target: 'deciding' },
          after: { pictureWait: 'deciding' },
        },
        lettingEnd: {
          id: 'release.lettingEnd',
          description: 'Gives requests of a former leader 5 s to finish.',
          entry: ['forgetHindrances', { type: 'release-resource.write', params: (args) => resource(args) }],
          after: { formerPatience: 'applying' },
        },
        applying: {
          description: 'Applies every object, for the first time under this leader.',
          initial: 'working',
          states: {
            working: {
              id: 'release.applying',
              description: 'A round over all objects is running.',
              entry: aRound,
              on: {
                'round.finished': [
                  { guard: 'isCleanAndMarked', target: '#release.leading.keeping', actions: 'noteSuccess' },
                  { guard: 'isClean', target: '#release.leading.marking', actions: 'noteSuccess' },
                  { guard: 'isOfThisRound', target: 'failing' },
                ],
                'round.progressed': {
                  guard: 'isOfThisRound',
                  target: 'working',
                  reenter: true,
                  actions: 'noteProgress',
                },
                'round.failed': { guard: 'isOfThisRound', target: 'failing' },
              },
              after: { roundPatience: 'failing' },
            },
            failing: {
              description: 'The round failed. It is reported after 2 s, then at most every 10 s.',
              entry: 'noteFailure',
              always: [
                {
                  guard: 'isReportDue',
                  target: 'retrying',
                  actions: [
                    'noteReport',
                    { type: 'release.report', params: (args) => failing(args, 'error') },
                    { type: 'release-resource.write', params: (args) => resource(args) },
                  ],
                },
                { target: 'retrying' },
              ],
            },
            retrying: {
              id: 'release.retrying',
              description: 'Some objects could not be applied; retries for as long as it takes.',
              tags: 'wrong',
              on: { 'release.reconcile': 'working' },
              after: { retry: 'working' },
            },
          },
        },
        marking: {
          description: 'All objects match the bundle; writes that the work is done.',
          initial: 'writing',
          states: {
            writing: {
              id: 'release.marking',
              description: 'The write is on its way.',
              entry: {
                type: 'release-status.write',
                params: ({ context }) => writing(context, doneStatus(context.bundle), null),
              },
              on: {
                'status.written': {
                  guard: 'isOfThisReign',
                  target: '#release.leading.keeping',
                  actions: 'noteWritten',
                },
                'status.unknown': { guard: 'isOfThisReign', target: 'again', actions: 'noteUnknown' },
              },
              after: { writePatience: { target: 'again', actions: 'noteUnknown' } },
            },
            again: {
              id: 'release.markingAgain',
              description: 'The outcome of the write is unknown; writes it again.',
              after: { pictureWait: 'writing' },
            },
          },
        },
        keeping: {
          description: 'The objects match the bundle and are kept that way.',
          initial: 'resting',
          states: {
            resting: {
              id: 'release.resting',
              description: 'The objects matched the bundle when last compared.',
              tags: 'settled',
              entry: { type: 'release-resource.write', params: (args) => rested(args) },
              ...untilNextRound,
            },
            failing: {
              description: 'Some objects could not be applied; the next round follows at its usual time.',
              tags: 'wrong',
              entry: [
                'noteFailure',
                { type: 'release.report', params: (args) => failing(args, 'warn') },
                { type: 'release-resource.write', params: (args) => resource(args) },
              ],
              ...untilNextRound,
            },
            pausing: {
              id: 'release.pausing',
              description:
                'An object drifted right after the last round, perhaps because something else writes it too; waits a second, and longer if that goes on.',
              ...untilPauseEnds,
              after: { ...untilPauseEnds.after, longPause: 'contested' },
            },
            contested: {
              id: 'release.contested',
              description:
                'An object drifts again and again, each time after it was put back: something else writes it too. It is put back less and less often.',
              tags: 'wrong',
              ...untilPauseEnds,
            },
            repeating: {
              id: 'release.repeating',
              description: 'Compares every object with the bundle and reverts drift.',
              entry: aRound,
              on: {
                'round.finished': [
                  { guard: 'isClean', target: 'resting', actions: 'noteSuccess' },
                  { guard: 'isOfThisRound', target: 'failing' },
                ],
                'round.progressed': {
                  guard: 'isOfThisRound',
                  target: 'repeating',
                  reenter: true,
                  actions: 'noteProgress',
                },
                'round.failed': { guard: 'isOfThisRound', target: 'failing' },
              },
              after: { roundPatience: 'failing' },
            },
          },
        },
      },
    },
    deposed: {
      id: 'release.deposed',
      description: 'Another replica leads; does nothing more here.',
      after: { deposedPatience: 'leading' },
    },
    retired: {
      description: 'The replicas now carry a bundle with another name.',
      entry: { type: 'release-resource.write', params: (args) => retired(args) },
      type: 'final',
    },
  },
});

export const releaseChart: Chart = {
  name: 'release',
  shortName: 'rel',
  version: 4,
  description: 'Applies the objects of a bundle so that replicas of two releases can run side by side.',
  machine: releaseMachine,
  durable: true,
  led: true,
  createdBy: ['release.led'],
  effects: releaseEffects,
  tell: tellRelease,
  needsLook: isUnwritten,
  explain: explainRelease,
  migrations: releaseMigrations,
};
