/**
 * The endpoints region of the Service chart: EndpointSlices for workloads outside the cluster.
 *
 * Passes follow each other at three paces, each a state of `reconciling`: `alone`, `burst`, `flood`. Changes
 * that come faster than they are written lead from one to the next; a lull of `burstLull` in
 * `written.settling` leads back. A pass that fails leads to `backingOff` and at last to `stuck`, which only a
 * successful pass leaves. Guards, delays and the parameters of passes are in slices-context.ts.
 */
import { keepIds } from '../state-ids.ts';
import {
  alonePass,
  burstPass,
  compactingPass,
  contestWarning,
  firstPass,
  floodPass,
  otherWarning,
  retryPass,
  stuckWarning,
} from './slices-context.ts';

/** The end of the last pass decides how long the next one gathers. */
const whenDue = [
  { guard: 'isRevertHeld', target: '#service.endpoints.written.contested' },
  { guard: 'isFirstPassDue', target: '#service.endpoints.reconciling.first' },
  { guard: 'isDensePassDue', target: '#service.endpoints.reconciling.burst' },
  { guard: 'isPassDue', target: '#service.endpoints.reconciling.alone' },
] as const;

const pass = <P>(params: P) => ['startPass', { type: 'endpoint-slices.reconcile', params }] as const;

/** More changes may follow: the region stays watchful for a moment. */
const thenSettle = {
  'slices.reconciled': {
    guard: 'isThisPass',
    actions: 'noteReconciled',
    target: '#service.endpoints.written.settling',
  },
} as const;

const warning = { type: 'kube-event.write', params: stuckWarning } as const;

const failed = <const N extends string>(note: N) =>
  [
    { guard: 'isLastRetry', actions: note, target: '#service.endpoints.stuck' },
    { guard: 'isThisPass', actions: note, target: '#service.endpoints.backingOff' },
  ] as const;

const failedAgain = <const N extends string>(note: N) =>
  [
    { guard: 'isLastRetry', actions: [note, warning], target: '#service.endpoints.stuck.resting' },
    { guard: 'isThisPass', actions: note, target: '#service.endpoints.stuck.resting' },
  ] as const;

const reconciling = {
  description: 'A pass over the slices is running.',
  initial: 'alone',
  on: {
    'slices.reconciled': {
      guard: 'isThisPass',
      actions: 'noteReconciled',
      target: '#service.endpoints.judging',
    },
    'slices.unlisted': { guard: 'isThisPass', target: '#service.endpoints.awaitingLists' },
    'slices.failed': failed('noteSlicesFailure'),
  },
  after: { passPatience: failed('noteSlicesSilence') },
  states: {
    first: {
      description: "The Service's first pass; it collects changes while everything is being listed.",
      entry: pass(firstPass),
    },
    alone: {
      description: 'A single change is written within milliseconds.',
      entry: pass(alonePass),
    },
    burst: {
      description: 'Changes arrive faster than they are written; the pass collects those close together.',
      entry: pass(burstPass),
      on: thenSettle,
    },
    flood: {
      description: 'Changes keep arriving; the pass collects for longer.',
      entry: pass(floodPass),
      on: thenSettle,
    },
    compacting: {
      description: 'Moves the endpoints into half as many slices.',
      entry: pass(compactingPass),
    },
    retrying: {
      description: 'Repeats the pass that failed.',
      entry: pass(retryPass),
    },
  },
} as const;

const stuck = {
  description: 'Every retry failed; further tries follow with long pauses until a pass succeeds.',
  tags: 'wrong',
  initial: 'resting',
  entry: warning,
  on: {
    'service.recheck': { actions: 'startAfresh', target: '.trying' },
    'service.endpoints.observed': {
      guard: 'isSlicesNews',
      actions: ['rememberSlices', 'startAfresh'],
      target: '.trying',
    },
  },
  states: {
    resting: {
      description: 'Waits for the next try or for a change.',
      after: { stuckPause: 'trying' },
    },
    trying: {
      description: 'A pass is running; if it succeeds, the Service is no longer stuck.',
      entry: pass(retryPass),
      on: {
        'service.endpoints.observed': {
          guard: 'isSlicesNews',
          actions: ['rememberSlices', 'startAfresh'],
        },
        'service.recheck': { actions: 'startAfresh' },
        'slices.reconciled': {
          guard: 'isThisPass',
          actions: 'noteReconciled',
          target: '#service.endpoints.judging',
        },
        'slices.unlisted': { guard: 'isThisPass', target: 'awaitingLists' },
        'slices.failed': failedAgain('noteSlicesFailure'),
      },
      after: { passPatience: failedAgain('noteSlicesSilence') },
    },
    awaitingLists: {
      description: 'Waits until what the pass reads has been listed again.',
      on: {
        'service.endpoints.observed': {
          guard: 'isSlicesSeen',
          actions: 'rememberSlices',
          target: 'trying',
        },
      },
      after: { listPatience: 'trying' },
    },
  },
} as const;

export const endpointsRegion = {
  description: 'EndpointSlices for workloads outside the cluster.',
  initial: 'ignored',
  on: {
    'service.observed': { guard: 'isWithoutSlices', target: '.gone' },
    'service.endpoints.observed': [
      { guard: 'isSlicesGone', target: '.gone', actions: 'forgetSlices' },
      { guard: 'isSlicesReturning', target: '.ignored', actions: 'rememberSlices' },
      { guard: 'isSlicesNews', actions: 'rememberSlices' },
    ],
  },
  always: [
    {
      guard: 'isOtherWriterNews',
      actions: [{ type: 'kube-event.write', params: otherWarning }, 'noteOtherWriter'],
    },
    { guard: 'isOtherWriterGone', actions: 'noteOtherWriter' },
    {
      guard: 'isContestNews',
      actions: [{ type: 'kube-event.write', params: contestWarning }, 'noteContestTold'],
    },
  ],
  states: {
    ignored: {
      description: 'The Service needs no slices: it selects nothing, or nothing outside the cluster.',
      tags: 'settled',
      always: whenDue,
    },
    written: {
      description: 'The slices are correct.',
      initial: 'current',
      on: { 'service.recheck': { guard: 'hasSlices', target: 'reconciling' } },
      always: { guard: 'isSliceless', target: 'ignored' },
      states: keepIds('service.endpoints', {
        current: {
          description: 'Nothing has changed since the last pass.',
          tags: 'settled',
          always: whenDue,
        },
        sparse: {
          description:
            'The endpoints would fit into half as many slices; they are compacted once nothing has changed for a while.',
          tags: 'settled',
          always: whenDue,
          after: { compactionPause: '#service.endpoints.reconciling.compacting' },
        },
        contested: {
          description: 'Somebody else keeps changing the slices; the next revert waits a moment.',
          tags: 'wrong',
          always: [
            { guard: 'isOtherPassDue', target: '#service.endpoints.reconciling.alone' },
            { guard: 'isNothingDue', target: 'current' },
          ],
          after: { contestPause: '#service.endpoints.reconciling.alone' },
        },
        settling: {
          description: 'A burst of changes was written; more may follow.',
          always: [
            { guard: 'isRevertHeld', target: 'contested' },
            { guard: 'isPassDue', target: '#service.endpoints.reconciling.flood' },
          ],
          after: { burstLull: [{ guard: 'isCompactable', target: 'sparse' }, { target: 'current' }] },
        },
      } as const),
    },
    reconciling,
    judging: {
      description: 'Decides what follows a pass.',
      always: [
        { guard: 'isRevertHeld', target: 'written.contested' },
        { guard: 'isPassDue', target: 'reconciling.burst' },
        { guard: 'isCompactable', target: 'written.sparse' },
        { target: 'written' },
      ],
    },
    awaitingLists: {
      description:
        'Services, workloads and slices have not all been listed again; nothing is written from an outdated picture.',
      on: {
        'service.endpoints.observed': {
          guard: 'isSlicesSeen',
          actions: 'rememberSlices',
          target: 'reconciling.first',
        },
      },
      after: { listPatience: 'reconciling.first' },
    },
    backingOff: {
      description: 'The last pass failed; it is retried after a pause or when something changes.',
      on: {
        'service.recheck': { actions: 'startAfresh', target: 'reconciling.retrying' },
        'service.endpoints.observed': {
          guard: 'isSlicesNews',
          actions: ['rememberSlices', 'startAfresh'],
          target: 'reconciling.retrying',
        },
      },
      after: { retryPause: 'reconciling.retrying' },
    },
    stuck,
    gone: {
      description: 'The Service no longer exists, or no workload outside the cluster belongs to it.',
      type: 'final',
    },
  },
} as const;
