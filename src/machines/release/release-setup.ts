/** The setup of the release chart: its guards, delays and actions, under the names that release.ts uses. */

import { assign, setup } from 'xstate';
import type { ActorInput } from '../actor-input.ts';
import { actionsOf } from '../effect.ts';
import { hasPassed, leftOf } from '../stamp.ts';
import { isReportBack, isReportLost, lostReport } from '../unwritten.ts';
import {
  type Args,
  contestedNow,
  driftPauseMs,
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
  withDrift,
  withRoster,
  withRound,
} from './release-context.ts';
import { releaseEffects, releaseResourceWrite } from './release-effects.ts';
import { rowOf } from './release-table.ts';
import { isToldOtherwise } from './release-telling.ts';

const isClean = (args: Args) =>
  isOfThisRound(args) && args.event.type === 'round.finished' && args.event.summary.failed === 0;

export const releaseSetup = setup({
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
    isToldOtherwise: (args) => isOfThisReign(args) && isToldOtherwise(args),
    isRosterNew: ({ context }) => context.epoch > context.triedEpoch,
    isHindered: ({ context }) => hindrances(context).length > 0,
    isNotDone: ({ context }) => rowOf(context.seen.status, context.bundle) !== 'done',
    isClean,
    isCleanAndMarked: (args) => isClean(args) && !mustMarkDone(args.context),
    isReportDue,
    hasDrifted: ({ context }) => context.drift.length > 0,
    isRested: (args) =>
      isOfThisReign(args) &&
      args.event.type === 'drift.seen' &&
      hasPassed(
        driftPauseMs(args.context, [args.event.object]),
        args.context.roundEndedAt ?? 0,
        args.event.at,
      ),
    isResourceLost: (args) => isReportLost(args, releaseResourceWrite.type),
    isResourceBack: (args) => isReportBack(args, releaseResourceWrite.type),
  },
  delays: {
    /** By then a former leader's requests to the API server have ended: docs/features/releases.md §2.5. */
    formerPatience: 5_000,
    /** Changes of nodes are reported; this only catches lost reports. */
    nodesPatience: 30_000,
    /** A write was refused because of nodes that are not known yet, or its outcome is unknown. */
    pictureWait: 1_000,
    /** A little more than an effect's bound (limits.ts); after this its outcome is lost. */
    writePatience: 35_000,
    /** Longer than a round may take (limits.releaseRoundMs). */
    roundPatience: 330_000,
    retry: ({ context }) => context.retryInMs,
    /** Objects are compared this often, regardless of the watch: docs/features/releases.md §4.2. */
    roundInterval: 30_000,
    /** An object over which two controllers fight must not cause a loop. */
    driftPause: ({ context, event }) =>
      leftOf(driftPauseMs(context, context.drift), context.roundEndedAt ?? 0, event.at),
    /** Between the shortest pause, which any drift right after a round causes, and the next longer one. */
    longPause: 1_500,
    /** A deposed leader learns from its shard that it lost it; this only catches a lost message. */
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
      ...contestedNow(context),
      drift: [],
    })),
    noteProgress: assign(({ event }) => (event.type === 'round.progressed' ? { toGo: event.toGo } : {})),
    noteSuccess: assign(({ context, event }) => ({
      toGo: null,
      failures: 0,
      lastError: null,
      lastApplied: event.at,
      roundEndedAt: event.at,
      ...withRound(context, event),
    })),
    noteFailure: assign(({ context, event }) => ({
      toGo: null,
      failures: context.failures + 1,
      lastError: errorOf(event),
      roundEndedAt: event.at,
      retryInMs: retryDelay(context.failures, event.random),
      ...withRound(context, event),
    })),
    noteUnwritten: assign((args) => lostReport(args)),
    noteResource: assign({ unwritten: null }),
    noteReport: assign(({ event }) => ({ reportedAt: event.at })),
    noteDrift: assign(({ context, event }) =>
      event.type === 'drift.seen' ? { drift: withDrift(context.drift, event.object) } : {},
    ),
    ...actionsOf(...releaseEffects),
  },
});
