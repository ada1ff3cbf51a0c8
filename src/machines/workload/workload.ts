/**
 * `workload/<ns>/<name>`: a workload outside the cluster that asks to be probed, or with which something is
 * wrong.
 *
 * Who sends: the router (`workload.observed`), the effects (`workload.probed`, `workload.unprobed`,
 * `workload.marked`, `workload.unmarked`), people (`workload.recheck`). What it promises:
 * - The condition Ready follows the probe's thresholds, and is set right again, within a period, if somebody
 *   else changes it.
 * - Without the annotation (or with one that cannot be read) the status is never touched.
 * - What is wrong is said once in a Warning Event, and again when something else is wrong.
 * Absent: calls (the effect); who gets traffic (the Services' slices read the condition).
 */

import { assign, setup } from 'xstate';
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Chart, Migration } from '../chart.ts';
import { actionsOf } from '../effect.ts';
import type { Stamp } from '../stamp.ts';
import {
  counted,
  isMarkDue,
  isOtherProbe,
  mark,
  noted,
  planOf,
  probeRun,
  problemsOf,
  type Standing,
  shown,
  standingOf,
  unsaid,
  verdictNews,
  type WorkloadContext,
  type WorkloadInput,
  warning,
  withMissed,
  withUnmarked,
} from './workload-context.ts';
import { workloadEffects } from './workload-effects.ts';
import { tellWorkload } from './workload-reason.ts';

type Args = { readonly context: WorkloadContext };

/** The ways out of a state of the region `standing`. */
const others = (own: Standing) =>
  (
    [
      { guard: 'isUndecided', target: 'undecided' },
      { guard: 'isFine', target: 'fine' },
      { guard: 'isFailing', target: 'failing' },
      { guard: 'isFaulty', target: 'faulty' },
    ] as const
  ).filter(({ target }) => target !== own);

/** A round of calls, the first or a later one. One without a result says nothing about the workload. */
const round = {
  entry: ['startRound', { type: 'workload.probe', params: probeRun }],
  on: {
    'workload.probed': { guard: 'isThisRound', actions: 'count', target: 'judging' },
    'workload.unprobed': { guard: 'isThisRound', actions: 'noteMissed', target: 'judging' },
  },
  after: { roundPatience: { actions: 'noteMissed', target: 'judging' } },
} as const;

const workloadMachine = setup({
  types: {
    context: {} as WorkloadContext,
    events: {} as WorkloadInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone: ({ event }) => event.type === 'workload.observed' && event.facts === null,
    isUnsaid: ({ context, event }) =>
      event.type === 'workload.observed' && unsaid(context, event.facts).length > 0,
    isOtherWarning: ({ context, event }) =>
      event.type === 'workload.observed' && !equal(problemsOf(event.facts), context.warned),
    isOtherProbe: ({ context, event }) =>
      event.type === 'workload.observed' && event.facts !== null && isOtherProbe(context, event.facts),
    isNews: ({ context, event }) => event.type === 'workload.observed' && !equal(event.facts, context.facts),
    isUndecided: ({ context }: Args) => standingOf(context) === 'undecided',
    isFine: ({ context }: Args) => standingOf(context) === 'fine',
    isFailing: ({ context }: Args) => standingOf(context) === 'failing',
    isFaulty: ({ context }: Args) => standingOf(context) === 'faulty',
    isProbed: ({ context }: Args) => planOf(context) !== null,
    isUnprobed: ({ context }: Args) => planOf(context) === null,
    isDecided: ({ context }: Args) => context.verdict !== null,
    isMarkDue: ({ context }: Args) => isMarkDue(context),
    isThisRound: ({ context, event }) => 'round' in event && event.round === context.round,
  },
  delays: {
    /**
     * All addresses are called at the same time, and the effect has a deadline of its own; a round that takes
     * five seconds longer than a call may has lost its outcome (I4).
     */
    roundPatience: ({ context }) => (planOf(context)?.probe.timeoutMs ?? 0) + 5_000,
    /** The effect has a deadline of its own (30 s); after this its outcome is lost. */
    markPatience: 35_000,
    /** ± 5 %, so that workloads that started together do not stay in step. */
    period: ({ context, event }) =>
      (planOf(context)?.periodMs ?? 10_000) * (0.95 + 0.1 * (event as Stamp).random),
  },
  actions: {
    remember: assign(({ context, event }) =>
      event.type === 'workload.observed' ? shown(context, event.facts) : {},
    ),
    noteWarned: assign(({ event }) =>
      event.type === 'workload.observed' ? { warned: problemsOf(event.facts) } : {},
    ),
    noteFine: assign(({ event }) => ({ fineSince: (event as Stamp).at })),
    beginAnew: assign({
      successes: 0,
      failures: 0,
      verdict: null,
      lastError: null,
      marked: null,
      missed: null,
      unmarked: null,
    }),
    startRound: assign(({ context }) => ({ round: context.round + 1 })),
    count: assign(({ context, event }) =>
      event.type === 'workload.probed' ? counted(context, event.failures, (event as Stamp).at) : {},
    ),
    noteMissed: assign(({ context, event }) =>
      withMissed(context, event.type === 'workload.unprobed' ? event.message : 'its outcome was lost'),
    ),
    /** The written condition will come back from the world, unless somebody else was as quick. */
    noteMarked: assign(({ context, event }) =>
      event.type === 'workload.marked' ? noted(context, event.status, (event as Stamp).at) : {},
    ),
    noteUnmarked: assign(({ context, event }) =>
      withUnmarked(context, event.type === 'workload.unmarked' ? event.message : 'the patch timed out'),
    ),
    ...actionsOf(...workloadEffects),
  },
}).createMachine({
  id: 'workload',
  context: ({ input }) => ({
    namespace: input.namespace,
    name: input.name,
    facts: null,
    warned: [],
    round: 0,
    successes: 0,
    failures: 0,
    verdict: null,
    lastError: null,
    fineSince: null,
  }),
  type: 'parallel',
  states: {
    standing: {
      description: 'Is the workload published, and does it answer? Says in an Event what is wrong with it.',
      initial: 'undecided',
      on: {
        'workload.observed': [
          { guard: 'isGone', target: '.gone' },
          { guard: 'isUnsaid', actions: [{ type: 'kube-event.write', params: warning }, 'noteWarned'] },
          { guard: 'isOtherWarning', actions: 'noteWarned' },
        ],
      },
      states: {
        undecided: {
          description: 'The probe has not decided yet (what it does is in the other region).',
          tags: 'settled',
          always: others('undecided'),
        },
        fine: {
          description: 'The workload answers its probe, or has none.',
          tags: 'settled',
          entry: 'noteFine',
          always: others('fine'),
        },
        failing: {
          description: 'The workload does not answer its probe.',
          tags: ['settled', 'wrong'],
          always: others('failing'),
        },
        faulty: {
          description:
            'Its addresses or its probe cannot be used, or its condition cannot be written, or its calls have no result.',
          tags: ['settled', 'wrong'],
          always: others('faulty'),
        },
        gone: {
          description: 'The workload no longer exists, or nothing needs its actor.',
          type: 'final',
        },
      },
    },
    health: {
      description: 'Does the workload answer?',
      initial: 'unprobed',
      on: {
        'workload.observed': [
          { guard: 'isGone', target: '.gone' },
          { guard: 'isOtherProbe', actions: ['remember', 'beginAnew'], target: '.unprobed' },
          { guard: 'isNews', actions: 'remember' },
        ],
      },
      states: {
        unprobed: {
          description: 'No probe is configured, or the one configured cannot be run.',
          tags: 'settled',
          always: { guard: 'isProbed', target: 'probing' },
        },
        probing: { description: 'Probes each address.', ...round },
        checking: {
          description: 'Probes each address again; the last result stands meanwhile.',
          tags: 'settled',
          ...round,
        },
        judging: {
          description: 'Decides what follows a round.',
          always: [
            {
              guard: 'isMarkDue',
              target: 'marking',
              actions: { type: 'kube-event.write', params: verdictNews },
            },
            { guard: 'isDecided', target: 'resting' },
            { target: 'pausing' },
          ],
        },
        pausing: {
          description: 'The probe has not decided; the next round follows after the period.',
          always: { guard: 'isUnprobed', target: 'unprobed' },
          on: { 'workload.recheck': 'probing' },
          after: { period: 'probing' },
        },
        marking: {
          description: 'The condition Ready is being written.',
          entry: { type: 'workload-condition.patch', params: mark },
          on: {
            'workload.marked': { actions: 'noteMarked', target: 'resting' },
            'workload.unmarked': { actions: 'noteUnmarked', target: 'waiting' },
          },
          after: { markPatience: { actions: 'noteUnmarked', target: 'waiting' } },
        },
        resting: {
          description: 'The condition matches the probe; the next round follows after the period.',
          tags: 'settled',
          // A condition that somebody else changed is corrected after the next round, not at once: two
          // writers that disagree would never rest.
          always: { guard: 'isUnprobed', target: 'unprobed' },
          on: { 'workload.recheck': 'checking' },
          after: { period: 'checking' },
        },
        waiting: {
          description: 'The condition could not be written; retries after the next round.',
          on: { 'workload.recheck': 'probing' },
          after: { period: 'probing' },
        },
        gone: {
          description: 'The workload no longer exists, or nothing needs its actor.',
          type: 'final',
        },
      },
    },
  },
});

/** Version 1 had the region `notices`, which stood in `listening` whatever was wrong. */
const fromVersion1: Migration = ({ value, context }) => {
  const { notices, ...regions } = Object(value) as Record<string, unknown>;
  const kept = { facts: null, verdict: null, ...(context as object), fineSince: null };
  const standing = notices === 'gone' ? notices : standingOf(kept);
  return { value: { standing, ...regions }, context: kept };
};

export const workloadChart: Chart = {
  name: 'workload',
  shortName: 'ew',
  version: 2,
  description: 'Probes a workload outside the cluster and keeps its condition Ready.',
  machine: workloadMachine,
  durable: true,
  createdBy: ['workload.observed'],
  effects: workloadEffects,
  migrations: { 1: fromVersion1 },
  tell: tellWorkload,
};
