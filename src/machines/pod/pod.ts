/**
 * `pod/<ns>/<name>`: holds a Pod's readiness gate closed until every Service of its group has been seen to
 * reach it.
 *
 * Senders: the router (`pod.observed`: the Pod's facts, whole), the group's Services (`route.*`), the
 * condition patch (`condition.*`), people (`pod.recheck`). Promises:
 * - The condition is requested to be True only after each verifiable Service has answered with this Pod's own
 *   address (never Ready early).
 * - A proof is kept per (Service, Pod uid, address) until one of the three changes. What is proven is not
 *   probed again.
 * - Proofs are in the record, so neither a move nor a restart asks for one twice.
 * - While the Pod waits, the condition is False and says what for.
 * - If the gate withdraws, no order of events leaves a True condition beside a route that has been owed for
 *   longer than 31 s.
 * Absent: probing (the Service chart does it), any knowledge of other Pods.
 */

import type { Chart } from '../chart.ts';
import { newborn } from './pod-context.ts';
import { podEffects } from './pod-effects.ts';
import { podMigrations } from './pod-migrations.ts';
import { tellPod } from './pod-reason.ts';
import { podSetup } from './pod-setup.ts';
import { podStates } from './pod-states.ts';
import { mergedForPod, patienceOfPod } from './pod-waiting-events.ts';
import { withdrawal } from './pod-words.ts';

export const podMachine = podSetup.createMachine({
  id: 'pod',
  context: ({ input }) => newborn(input),
  initial: 'deciding',
  on: {
    'pod.observed': [
      { guard: 'isGoneWhileAsking', target: '.gone', actions: { type: 'message.send', params: withdrawal } },
      { guard: 'isGone', target: '.gone' },
      { guard: 'isAnotherPod', actions: ['withdrawFromLeft', 'remember'], target: '.deciding' },
      { guard: 'isNews', actions: ['withdrawFromLeft', 'remember'] },
    ],
    'route.proven': { guard: 'isProofForMe', actions: 'keepProof' },
    'route.unverifiable': { guard: 'isVerdictForMe', actions: 'keepVerdict' },
    'route.missed': { guard: 'isAnswerForMe', actions: 'keepAnswer' },
    'route.lost': [
      { guard: 'isLossForMe', actions: 'dropProof' },
      { guard: 'isQuestionLost', actions: 'askAnew' },
    ],
    'route.watching': { guard: 'isWatchForMe', actions: 'noteWatch' },
    'pod.recheck': { actions: 'startAfresh', target: '.deciding' },
  },
  states: podStates,
});

export const podChart: Chart = {
  name: 'pod',
  shortName: 'po',
  version: 3,
  description: 'Holds a Pod back until traffic through every Service of its group has been seen to reach it.',
  machine: podMachine,
  durable: true,
  createdBy: ['pod.observed'],
  effects: podEffects,
  merge: mergedForPod,
  patience: patienceOfPod,
  tell: tellPod,
  migrations: podMigrations,
};
