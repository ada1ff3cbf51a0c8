/**
 * `routegate/<ns>/<name>`: keeps the status of a RouteGate: how many Pods it holds, how many wait and for
 * how long, whether it can be used at all, and whether it verifies anything.
 *
 * Who sends: the router (`routegate.observed`), its own effects (`routegate.counted`, `routegate.reported`,
 * `routegate.refused`), people (`routegate.recheck`). What it promises:
 * - However much changes, it looks at the world once a second at most, and the status is written only when
 *   it says something else than before, or the object does, which somebody else wrote; or after an hour.
 * - What is not listed yet is not told as missing.
 * - A Warning is told once for each generation of the object and reason. Absent: what holds a Pod back (the
 *   pod chart); how the world is counted (the effect).
 */
import { assign, enqueueActions, setup } from 'xstate';
import { backOffMs } from '../../base/back-off.ts';
import { equal } from '../../base/equal.ts';
import { limits } from '../../base/limits.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Chart } from '../chart.ts';
import { actionsOf } from '../effect.ts';
import { tells } from '../tell.ts';
import {
  found,
  isMistold,
  isMistoldMeanwhile,
  isOther,
  isReported,
  isStirred,
  isTroubled,
  isUnlisted,
  listPatience,
  looked,
  lookOf,
  newborn,
  type RouteGateContext,
  type RouteGateInput,
  remembered,
  report,
  untold,
  wanted,
  warning,
} from './routegate-context.ts';
import { routeGateEffects } from './routegate-effects.ts';
import { keyOf } from './routegate-status.ts';
import { tellRouteGate } from './routegate-telling.ts';

type Args = { readonly context: RouteGateContext };

const routeGateMachine = setup({
  types: {
    context: {} as RouteGateContext,
    events: {} as RouteGateInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone: ({ event }) => event.type === 'routegate.observed' && event.facts === null,
    isOther: (moment) => isOther(moment),
    isNews: ({ context, event }) => event.type === 'routegate.observed' && !equal(event.facts, context.facts),
    isInvalid: ({ context }: Args) => typeof context.facts?.invalid === 'string',
    isInvalidAndReported: (moment) => typeof moment.context.facts?.invalid === 'string' && isReported(moment),
    isKnown: ({ context }: Args) => context.facts !== null,
    isThisLook: ({ context, event }) => lookOf(event) === context.look,
    isNotThisLook: ({ context, event }) => lookOf(event) !== context.look,
    /** Of one that came late: the RouteGate was edited meanwhile. */
    isOfLook: ({ event }) => lookOf(event) !== undefined,
    isUnlisted: (moment) => isUnlisted(moment),
    isReported: (moment) => isReported(moment),
    isMistold: (moment) => isMistold(moment),
    isMistoldMeanwhile: (moment) => isMistoldMeanwhile(moment),
    isDoubted: ({ context }: Args) => context.reported === null,
    isStirred: ({ context }: Args) => isStirred(context),
    isTroubled: ({ context }: Args) => isTroubled(context),
    /** The last list arrives without a change of anything that the RouteGate names. */
    isWaitingOrUnlisted: ({ context: { findings } }: Args) =>
      findings !== null && (findings.pods.waiting > 0 || !findings.isComplete),
    isRefusedAsGone: ({ event }) => event.type === 'routegate.refused' && event.reason === 'gone',
  },
  delays: {
    /** Longer than the effect may take (routegate-effects.ts); after this its outcome is lost (I4). */
    lookPatience: 10_000,
    /** A little more than an effect's bound (limits.ts). */
    writePatience: 35_000,
    listPatience: (moment) => listPatience(moment),
    /** Changes come in waves: looks are at least this far apart. */
    gatherPause: 1_000,
    /** While Pods wait, the status shows again this often how long the first has waited. */
    waitPause: 10_000,
    /** 5 s, doubling to 60 s, ± 25 %: nobody waits for a status. */
    backOff: ({ context, event }) =>
      backOffMs(context.failures - 1, 5_000, 60_000) * (0.75 + 0.5 * event.random),
    /** What happens to the object will be observed; this only catches a lost observation. */
    lookAgain: 10_000,
    /** Nothing changes, but the status may have been overwritten. */
    restate: limits.restateMs,
  },
  actions: {
    remember: assign((moment) => remembered(moment)),
    countLook: assign(({ context }) => ({ look: context.look + 1 })),
    keepFindings: assign((moment) => found(moment)),
    noteReported: assign(({ context, event }) => ({
      reported: context.doubted ? null : wanted(context),
      reportedAt: event.at,
      failures: 0,
      lastError: null,
    })),
    doubtReported: assign({ reported: null }),
    doubt: assign({ doubted: true }),
    endDoubt: assign(({ context }) => (context.doubted ? { doubted: false } : {})),
    forgetReported: assign({ reported: null, told: [] }),
    noteFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      lastError: event.type === 'routegate.refused' ? event.message : 'timed out',
      // It may have been written all the same.
      reported: null,
    })),
    warn: enqueueActions(({ context, event, enqueue }) => {
      // The type of a setup's actions does not know the others.
      for (const one of untold(context))
        enqueue({ type: 'kube-event.write', params: warning({ context, event }, one) } as never);
    }),
    noteTold: assign(({ context }) => ({
      told: [...context.told, ...untold(context).map(keyOf)],
    })),
    ...actionsOf(...routeGateEffects),
  },
}).createMachine({
  id: 'routegate',
  context: ({ input }) => newborn(input),
  initial: 'deciding',
  on: {
    'routegate.observed': [
      { guard: 'isGone', target: '.gone' },
      { guard: 'isOther', actions: 'remember', target: '.deciding' },
      { guard: 'isNews', actions: 'remember' },
    ],
    // What comes next writes it again.
    'routegate.status.observed': { guard: 'isMistold', actions: 'doubtReported' },
    'routegate.recheck': { actions: 'forgetReported', target: '.deciding' },
  },
  states: {
    deciding: {
      description: 'Decides what the RouteGate needs.',
      tags: 'settled',
      always: [
        { guard: 'isInvalidAndReported', target: 'reported.unusable' },
        { guard: 'isInvalid', target: 'reporting' },
        { guard: 'isKnown', target: 'looking' },
      ],
    },
    looking: {
      description: 'Counts the Pods that the RouteGate holds back and the Services that must prove them.',
      entry: ['countLook', { type: 'routegate.look', params: looked }],
      on: {
        'routegate.counted': { guard: 'isThisLook', actions: 'keepFindings', target: 'judging' },
        'routegate.refused': [
          { guard: 'isNotThisLook' },
          { guard: 'isRefusedAsGone', target: 'waitingForNews' },
          { actions: 'noteFailure', target: 'backingOff' },
        ],
      },
      after: { lookPatience: { actions: 'noteFailure', target: 'backingOff' } },
    },
    judging: {
      description: 'Decides what follows the count.',
      always: [
        { guard: 'isUnlisted', target: 'awaitingLists' },
        { guard: 'isReported', target: 'reported' },
        { target: 'reporting' },
      ],
    },
    awaitingLists: {
      description:
        'Not everything that the RouteGate names has been listed yet; the status stays as it is for a moment.',
      initial: 'quiet',
      after: { listPatience: 'reporting' },
      states: {
        quiet: {
          description: 'Nothing has changed since the last count.',
          always: { guard: 'isStirred', target: 'stirred' },
        },
        stirred: {
          description: 'Something has changed; another count follows.',
          after: { gatherPause: '#routegate.looking' },
        },
      },
    },
    reporting: {
      description: 'The status is being written.',
      initial: 'writing',
      states: {
        writing: {
          description: 'The patch is on its way to the Kubernetes API.',
          entry: ['endDoubt', { type: 'routegate-status.patch', params: report }],
          on: {
            'routegate.status.observed': { guard: 'isMistoldMeanwhile', actions: 'doubt' },
            'routegate.reported': {
              actions: ['noteReported', 'warn', 'noteTold'],
              target: '#routegate.reported',
            },
            'routegate.refused': [
              { guard: 'isOfLook' },
              { guard: 'isRefusedAsGone', target: '#routegate.waitingForNews' },
              { actions: 'noteFailure', target: '#routegate.backingOff' },
            ],
            'routegate.observed': [
              { guard: 'isGone', target: '#routegate.gone' },
              { guard: 'isOther', actions: 'remember', target: 'outdated' },
              { guard: 'isNews', actions: 'remember' },
            ],
            'routegate.recheck': { target: 'outdated' },
          },
          after: { writePatience: { actions: 'noteFailure', target: '#routegate.backingOff' } },
        },
        outdated: {
          description:
            'The spec changed while the patch was on its way; the status is written again once it has landed.',
          on: {
            'routegate.observed': [
              { guard: 'isGone', target: '#routegate.gone' },
              { guard: 'isNews', actions: 'remember' },
            ],
            'routegate.reported': { actions: 'forgetReported', target: '#routegate.deciding' },
            'routegate.refused': [
              { guard: 'isOfLook' },
              { actions: 'forgetReported', target: '#routegate.deciding' },
            ],
            'routegate.recheck': {},
          },
          after: { writePatience: { actions: 'forgetReported', target: '#routegate.deciding' } },
        },
      },
    },
    reported: {
      description: 'The status says what the last count found.',
      initial: 'choosing',
      on: {
        'routegate.status.observed': { guard: 'isMistold', actions: 'doubtReported', target: '.choosing' },
      },
      states: {
        choosing: {
          description: 'Decides what to wait for.',
          always: [
            { guard: 'isDoubted', target: 'gathering' },
            { guard: 'isInvalid', target: 'unusable' },
            { guard: 'isTroubled', target: 'troubled' },
            { guard: 'isStirred', target: 'gathering' },
            { guard: 'isWaitingOrUnlisted', target: 'waiting' },
            { target: 'current' },
          ],
        },
        current: {
          description: 'No Pod waits.',
          tags: 'settled',
          always: { guard: 'isStirred', target: 'gathering' },
          after: { restate: '#routegate.looking' },
        },
        waiting: {
          description:
            'Pods wait for their routes, or lists for their objects; the longest wait is updated now and then.',
          always: { guard: 'isStirred', target: 'gathering' },
          after: { waitPause: '#routegate.looking' },
        },
        gathering: {
          description:
            'Something has changed, or somebody wrote over the status; changes within a second are counted together.',
          after: { gatherPause: '#routegate.deciding' },
        },
        troubled: {
          description:
            'Something keeps Pods from being verified or from being held back; the status and a Warning Event say what.',
          tags: 'wrong',
          initial: 'resting',
          states: {
            resting: {
              description: 'Nothing has changed since the last count.',
              tags: 'settled',
              always: { guard: 'isStirred', target: 'gathering' },
              after: {
                waitPause: { guard: 'isWaitingOrUnlisted', target: '#routegate.looking' },
                restate: '#routegate.looking',
              },
            },
            gathering: {
              description: 'Something has changed; another count follows.',
              after: { gatherPause: '#routegate.looking' },
            },
          },
        },
        unusable: {
          description: 'The spec is not valid; the status says why.',
          tags: ['settled', 'wrong'],
          after: { restate: '#routegate.deciding' },
        },
      },
    },
    // It may be missing only because it was not listed again yet.
    waitingForNews: {
      description: 'The RouteGate was missing or had been replaced; waits to observe what happened to it.',
      on: {
        'routegate.observed': [
          { guard: 'isGone', target: 'gone' },
          { guard: 'isNews', actions: 'remember', target: 'deciding' },
        ],
      },
      after: { lookAgain: 'deciding' },
    },
    backingOff: {
      description: 'The status could not be written; retries after a pause.',
      tags: 'wrong',
      after: { backOff: 'deciding' },
    },
    gone: {
      description: 'The RouteGate no longer exists; its record is removed.',
      type: 'final',
    },
  },
});

export const routeGateChart: Chart = {
  name: 'routegate',
  shortName: 'rg',
  version: 1,
  description: 'Keeps the status of a RouteGate: which Pods wait, and whether anything is verified.',
  machine: routeGateMachine,
  durable: true,
  createdBy: ['routegate.observed'],
  effects: routeGateEffects,
  tell: tells(tellRouteGate),
};
