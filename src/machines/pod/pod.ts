/**
 * `pod/<ns>/<name>`: holds a Pod's readiness gate closed until every Service of its group was seen to reach
 * it.
 *
 * Who sends: the router (`pod.observed`: the Pod's facts, whole), the group's Services (`route.*`), the
 * condition patch (`condition.*`), people (`pod.recheck`). What it promises:
 * - The condition is asked to be True only when each verifiable Service has answered with this Pod's own
 *   address (never Ready early).
 * - A proof is kept per (Service, Pod uid, address) until one of the three changes: what is proven is not
 *   probed again.
 * - Proofs are in the record, so a move or a restart asks for none of them twice.
 * - While it waits, the condition is False and says for what.
 * - No order of events leaves a True condition beside a route that is owed for longer than 31 s, where the
 *   gate withdraws.
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
      { guard: 'isAnotherPod', actions: 'remember', target: '.deciding' },
      { guard: 'isNews', actions: 'remember' },
    ],
    'route.proven': { guard: 'isProofForMe', actions: 'keepProof' },
    'route.unverifiable': { guard: 'isVerdictForMe', actions: 'keepVerdict' },
    'route.missed': { guard: 'isAnswerForMe', actions: 'keepAnswer' },
    'route.lost': { guard: 'isLossForMe', actions: 'dropProof' },
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
