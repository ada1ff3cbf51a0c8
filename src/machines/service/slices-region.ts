/** The endpoints region of the Service chart: EndpointSlices for workloads outside the cluster. Its words are in slices-context.ts. */
import { reconcile, stuckWarning } from './slices-context.ts';

/** A person asks to look again. */
const recheck = { 'service.recheck': { guard: 'hasSlices', target: 'reconciling' } } as const;

const startPass = ['startPass', { type: 'endpoint-slices.reconcile', params: reconcile }] as const;

export const slicesRegion = {
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
  states: {
    ignored: {
      description: 'The Service needs no slices: it selects nothing, or no workload outside the cluster.',
      tags: 'settled',
      always: { guard: 'isPassDue', target: 'reconciling' },
    },
    current: {
      description: 'The slices say what they must.',
      tags: 'settled',
      on: recheck,
      always: [
        { guard: 'isPassDue', target: 'reconciling' },
        { guard: 'isSliceless', target: 'ignored' },
      ],
    },
    sparse: {
      description:
        'The slices say what they must and could be held by half as many; they are compacted when nothing has happened for a while.',
      tags: 'settled',
      always: [
        { guard: 'isPassDue', target: 'reconciling' },
        { guard: 'isSliceless', target: 'ignored' },
      ],
      after: { compactionPause: { target: 'reconciling', actions: 'planCompaction' } },
    },
    reconciling: {
      description: 'A pass over the slices is in work.',
      entry: startPass,
      on: {
        'slices.reconciled': { guard: 'isThisPass', actions: 'noteReconciled', target: 'judging' },
        'slices.failed': [
          { guard: 'isLastRetry', actions: 'noteSlicesFailure', target: 'stuck' },
          { guard: 'isThisPass', actions: 'noteSlicesFailure', target: 'backingOff' },
        ],
      },
      after: {
        passPatience: [
          { guard: 'isLastRetry', actions: 'noteSlicesFailure', target: 'stuck' },
          { actions: 'noteSlicesFailure', target: 'backingOff' },
        ],
      },
    },
    judging: {
      description: 'Chooses what follows a pass.',
      always: [
        { guard: 'isPassDue', target: 'reconciling' },
        { guard: 'isSliceless', target: 'ignored' },
        { guard: 'isCompactable', target: 'sparse' },
        { target: 'current' },
      ],
    },
    backingOff: {
      description: 'The last pass failed; it is tried again after a pause, or when something changes.',
      on: {
        'service.endpoints.observed': [
          { guard: 'isSlicesGone', target: 'gone', actions: 'forgetSlices' },
          { guard: 'isSlicesNews', actions: 'rememberSlices', target: 'reconciling' },
        ],
      },
      after: { retryPause: 'reconciling' },
    },
    stuck: {
      description: 'Every retry failed; the slices are as they are until something changes.',
      // Nothing is waited for but news.
      tags: ['settled', 'wrong'],
      entry: { type: 'kube-event.write', params: stuckWarning },
      on: {
        'service.recheck': { actions: 'startAfresh', target: 'reconciling' },
        'service.endpoints.observed': [
          { guard: 'isSlicesGone', target: 'gone', actions: 'forgetSlices' },
          { guard: 'isSlicesNews', actions: ['rememberSlices', 'startAfresh'], target: 'reconciling' },
        ],
      },
    },
    gone: {
      description: 'The Service does not exist any more, or no workload outside the cluster belongs to it.',
      type: 'final',
    },
  },
} as const;
