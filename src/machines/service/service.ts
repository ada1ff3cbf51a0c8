/**
 * `service/<ns>/<name>`: region `routes` samples the Service's health endpoint on behalf of all Pods of its group and tells
 * each Pod when the Service was seen to reach it, or to reach it no more. Region `endpoints` (slices-region.ts) keeps the EndpointSlices
 * for workloads outside the cluster. The actor ends when neither is called for.
 *
 * Who sends: the router (`service.observed`), Pods (`route.wanted`, `route.unwanted`, `route.watched`), the sampling effect
 * (`sample.*`), the group's other Services (`header.*`), people (`service.recheck`). What it promises:
 * - A Pod is told `route.proven` only for an answer with status 200 that carried its own address, from a round that asked this very Service.
 * - One reply credits whoever answered, whoever was hoped for.
 * - Answers without the header prove nothing, unless no answer of the group ever carried it; then every Pod that asked is told so.
 * - Rounds go on for ever while somebody wants a proof, and none runs while nobody wants or watches.
 * Absent: HTTP (the effect), any opinion on what a Pod does with the proof.
 */

import { assign, enqueueActions, setup } from 'xstate';
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Chart } from '../chart.ts';
import { actionsOf } from '../effect.ts';
import { kubeEventWrite, messageSend } from '../effects.ts';
import type { Stamp } from '../stamp.ts';
import { routeSample } from './route-effects.ts';
import {
  askers,
  callsOf,
  credited,
  headerAnswer,
  headerNews,
  headerQuestion,
  isAgedWant,
  isAnonymous,
  isAskable,
  isNewWant,
  isRerouted,
  isSamePod,
  isStale,
  judged,
  loss,
  lostPods,
  proof,
  reached,
  remembered,
  round,
  roundOf,
  type ServiceContext,
  type ServiceInput,
  verdict,
  type Want,
  withWant,
  withWants,
} from './service-context.ts';
import { withSlices } from './service-migrations.ts';
import { noSlices, slicesChanges, slicesDelays, slicesGuards } from './slices-context.ts';
import { slicesReconcile } from './slices-effects.ts';
import { slicesRegion } from './slices-region.ts';
import { merged } from './waiting-events.ts';

export const serviceEffects = [messageSend, routeSample, slicesReconcile, kubeEventWrite] as const;

type Args = { readonly context: ServiceContext };

export const serviceMachine = setup({
  types: {
    context: {} as ServiceContext,
    events: {} as ServiceInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    ...slicesGuards,
    /** The slices are called for no more, and nothing else was. */
    isRouteless: ({ context, event }) =>
      event.type === 'service.endpoints.observed' && event.facts === null && context.facts === null,
    /** The first facts, or the first after there were none. */
    isReturning: ({ context, event }) =>
      event.type === 'service.observed' && event.facts !== null && context.facts === null,
    isGone: ({ event }) => event.type === 'service.observed' && event.facts === null,
    isNews: ({ context, event }) => event.type === 'service.observed' && !equal(event.facts, context.facts),
    /** Whatever was asked until now was asked of another Service, or of another place. */
    isRerouted: ({ context, event }) => event.type === 'service.observed' && isRerouted(context, event.facts),
    /** A change that can alter where the Service's traffic goes. */
    isRouteNews: ({ context, event }) =>
      event.type === 'service.observed' && event.facts?.routesToken !== context.facts?.routesToken,
    isNewWant: ({ context, event }) =>
      event.type === 'route.wanted' && askers(event).some((pod) => isNewWant(context, pod)),
    isAgedWant: ({ context, event }) =>
      event.type === 'route.wanted' && askers(event).some((pod) => isAgedWant(context, pod, event)),
    isKnownWant: ({ context, event }) =>
      event.type === 'route.unwanted' &&
      [...context.wants, ...context.watched].some((want) => want.pod === event.pod && want.uid === event.uid),
    isNewWatch: ({ context, event }) =>
      event.type === 'route.watched' && !context.watched.some((one) => isSamePod(one, event)),
    isAnyWantStale: ({ context, event }) => context.wants.some((want) => isStale(want, event)),
    isWantedAnswer: ({ context, event }) =>
      event.type === 'sample.answered' && event.round === context.round && reached(context, event).length > 0,
    isThisRound: ({ context, event }) => 'round' in event && event.round === context.round,
    isAnyPodLost: ({ context }: Args) => lostPods(context).length > 0,
    isAnythingWanted: ({ context }: Args) => isAskable(context),
    isUnaskable: ({ context }: Args) => roundOf(context) === null,
    isNothingWanted: ({ context }: Args) => context.wants.length === 0,
    isWatching: ({ context }: Args) => context.wants.length === 0 && roundOf(context) !== null,
    isHurried: ({ context }: Args) => context.hurried,
    isAnonymousGroup: ({ context }: Args) => isAnonymous(context) && context.header === 'no',
    isAnonymousAlone: ({ context }: Args) => isAnonymous(context) && context.facts?.peers.length === 0,
    isAnonymousYet: ({ context }: Args) => isAnonymous(context) && context.header === 'unknown',
    isHeaderKnown: ({ context }: Args) => context.header === 'yes',
    isHeaderNews: ({ context }: Args) => context.header !== 'yes',
    isHeaderOwed: ({ context }: Args) => context.header === 'yes' && context.inquired,
  },
  delays: {
    /** A round's calls are each bounded by the probe's timeout, three at a time; then its outcome is lost (I4). */
    roundPatience: ({ context }) => {
      const next = roundOf(context);
      return next === null ? 60_000 : 5_000 + (callsOf(context, next.probe) * next.probe.timeoutMs) / 3;
    },
    /**
     * 0.2 s growing to 5 s while nothing changes, ± 25 %: docs/features/routes.md §4.7. By 5 % a round: the pause is then about a
     * twentieth of the time waited. So a route that is programmed within 6 s is seen within a second at p99 by all of 20 Services,
     * though one round in 40 misses it (with 15 % that ended at 2 s), at the price of 1.3 times the calls in the first 3 s.
     */
    pause: ({ context, event }) =>
      Math.min(200 * 1.05 ** Math.min(context.fruitless, 70), 5_000) * (0.75 + 0.5 * (event as Stamp).random),
    /** The group's other Services answer within milliseconds; one whose shard moves meanwhile is waited for. */
    answerPatience: 1_500,
    /** Watched routes are looked at every 10 s (± 25 %): with three misses, a lost one is told within the 30 s of the specification. */
    checkPause: ({ event }) => 10_000 * (0.75 + 0.5 * (event as Stamp).random),
    ...slicesDelays,
  },
  actions: {
    remember: assign(({ context, event }) =>
      event.type === 'service.observed' ? remembered(context, event.facts) : {},
    ),
    hurry: assign({ hurried: true, fruitless: 0 }),
    keepWant: assign(({ context, event }) =>
      event.type === 'route.wanted' ? { wants: withWants(context, event), hurried: true, fruitless: 0 } : {},
    ),
    renewWant: assign(({ context, event }) =>
      event.type === 'route.wanted' ? { wants: withWants(context, event) } : {},
    ),
    keepWatch: assign(({ context, event }) =>
      event.type === 'route.watched' ? { watched: withWant(context.watched, event, event.at) } : {},
    ),
    dropUnwanted: assign(({ context, event }) => {
      if (event.type !== 'route.unwanted') return {};
      const isOther = ({ pod, uid }: Want) => pod !== event.pod || uid !== event.uid;
      return { wants: context.wants.filter(isOther), watched: context.watched.filter(isOther) };
    }),
    dropStale: assign(({ context, event }) => ({
      wants: context.wants.filter((want) => !isStale(want, event)),
    })),
    dropLost: assign(({ context }) => {
      const lost = lostPods(context);
      return { watched: context.watched.filter((one) => !lost.includes(one)) };
    }),
    credit: assign(({ context, event }) =>
      event.type === 'sample.answered' ? credited(context, event) : {},
    ),
    /** A message to each Pod that was met: every proof names its Pod. */
    tellProven: enqueueActions(({ context, event, enqueue }) => {
      const met = event.type === 'sample.answered' ? reached(context, event) : [];
      // Actions of a set-up do not know each other by type.
      for (const want of met) enqueue({ type: 'message.send', params: proof(context, want) } as never);
    }),
    startRound: assign(({ context }) => ({
      round: context.round + 1,
      hurried: false,
      checking: context.wants.length === 0,
    })),
    /** Its answers are not waited for and would not be believed. */
    abandonRound: assign(({ context }) => ({ round: context.round + 1, lastRound: null })),
    noteRound: assign(({ context, event }) =>
      event.type === 'sample.finished' ? judged(context, event.summary) : {},
    ),
    noteFailure: assign(({ context, event }) => ({
      lastError: event.type === 'sample.failed' ? event.message : 'no outcome of the sampling round in time',
      fruitless: context.fruitless + 1,
      lastRound: null,
    })),
    noteHeader: assign({ header: 'yes' }),
    noteNoHeader: assign({ header: 'no' }),
    noteInquiry: assign({ inquired: true }),
    settleInquiry: assign({ inquired: false }),
    forgetWants: assign({ wants: [] }),
    forgetRoutes: assign({ facts: null, wants: [], watched: [], lastRound: null }),
    ...actionsOf(...serviceEffects),
    rememberSlices: assign((args) => slicesChanges.rememberSlices(args)),
    forgetSlices: assign((args) => slicesChanges.forgetSlices(args)),
    startPass: assign((args) => slicesChanges.startPass(args)),
    planCompaction: assign((args) => slicesChanges.planCompaction(args)),
    noteReconciled: assign((args) => slicesChanges.noteReconciled(args)),
    noteSlicesFailure: assign((args) => slicesChanges.noteSlicesFailure(args)),
    startAfresh: assign((args) => slicesChanges.startAfresh(args)),
  },
}).createMachine({
  id: 'service',
  context: ({ input }) => ({
    namespace: input.namespace,
    name: input.name,
    facts: null,
    wants: [],
    watched: [],
    round: 0,
    checking: false,
    fruitless: 0,
    hurried: false,
    header: 'unknown',
    inquired: false,
    lastRound: null,
    lastError: null,
    slices: noSlices,
  }),
  type: 'parallel',
  states: {
    routes: {
      description: 'Which Pods does the Service reach?',
      initial: 'idle',
      on: {
        'service.observed': [
          { guard: 'isGone', actions: 'forgetRoutes', target: '.gone' },
          { guard: 'isReturning', actions: ['remember', 'hurry'], target: '.idle' },
          { guard: 'isRerouted', actions: ['remember', 'hurry', 'abandonRound'] },
          { guard: 'isRouteNews', actions: ['remember', 'hurry'] },
          { guard: 'isNews', actions: 'remember' },
        ],
        'service.endpoints.observed': { guard: 'isRouteless', target: '.gone' },
        'route.wanted': [
          { guard: 'isNewWant', actions: 'keepWant' },
          { guard: 'isAgedWant', actions: 'renewWant' },
        ],
        'route.watched': { guard: 'isNewWatch', actions: 'keepWatch' },
        'route.unwanted': { guard: 'isKnownWant', actions: 'dropUnwanted' },
        'service.recheck': { actions: 'hurry' },
        'sample.answered': {
          guard: 'isWantedAnswer',
          actions: ['tellProven', 'credit'],
        },
        'header.asked': [
          { guard: 'isHeaderKnown', actions: { type: 'message.send', params: headerAnswer } },
          { actions: 'noteInquiry' },
        ],
        'header.seen': { guard: 'isHeaderNews', actions: 'noteHeader' },
      },
      always: [
        { guard: 'isAnyPodLost', actions: [{ type: 'message.send', params: loss }, 'dropLost'] },
        { guard: 'isHeaderOwed', actions: [{ type: 'message.send', params: headerNews }, 'settleInquiry'] },
      ],
      states: {
        idle: {
          description: 'Nobody wants a proof that the Service can be asked for.',
          tags: 'settled',
          always: [
            { guard: 'isAnythingWanted', target: 'sampling' },
            { guard: 'isWatching', target: 'watching' },
          ],
        },
        sampling: {
          description: 'A round of calls through the Service is in work.',
          entry: ['startRound', { type: 'route.sample', params: round }],
          on: {
            'service.observed': {
              guard: 'isRerouted',
              actions: ['remember', 'hurry', 'abandonRound'],
              target: 'judging',
            },
            'sample.finished': { guard: 'isThisRound', actions: 'noteRound', target: 'judging' },
            'sample.failed': { guard: 'isThisRound', actions: 'noteFailure', target: 'judging' },
          },
          after: { roundPatience: { actions: 'noteFailure', target: 'judging' } },
        },
        judging: {
          description: 'Chooses what follows a round.',
          always: [
            { guard: 'isAnyWantStale', actions: 'dropStale' },
            { guard: 'isWatching', target: 'watching' },
            { guard: 'isNothingWanted', target: 'settled' },
            { guard: 'isUnaskable', target: 'idle' },
            {
              guard: 'isAnonymousGroup',
              target: 'settled',
              actions: [{ type: 'message.send', params: verdict }, 'forgetWants'],
            },
            {
              guard: 'isAnonymousAlone',
              target: 'settled',
              actions: [{ type: 'message.send', params: verdict }, 'noteNoHeader', 'forgetWants'],
            },
            { guard: 'isAnonymousYet', target: 'inquiring' },
            { guard: 'isHurried', target: 'sampling' },
            { target: 'pausing' },
          ],
        },
        inquiring: {
          description:
            'No answer carried the header: asks the other Services of the group whether any of theirs ever did.',
          entry: { type: 'message.send', params: headerQuestion },
          on: {
            'header.seen': { actions: 'noteHeader', target: 'pausing' },
            'service.observed': {
              guard: 'isRerouted',
              actions: ['remember', 'hurry', 'abandonRound'],
              target: 'pausing',
            },
          },
          after: {
            answerPatience: [
              { guard: 'isHeaderKnown', target: 'pausing' },
              {
                target: 'settled',
                actions: [{ type: 'message.send', params: verdict }, 'noteNoHeader', 'forgetWants'],
              },
            ],
          },
        },
        pausing: {
          description:
            'Some Pod is not reached yet; the next round follows after a pause, or at once when something changes.',
          always: [
            { guard: 'isWatching', target: 'watching' },
            { guard: 'isNothingWanted', target: 'settled' },
            { guard: 'isUnaskable', target: 'idle' },
            { guard: 'isHurried', target: 'sampling' },
          ],
          after: { pause: 'sampling' },
        },
        settled: {
          description: 'Every Pod that asked was reached.',
          tags: 'settled',
          always: [
            { guard: 'isAnythingWanted', target: 'sampling' },
            { guard: 'isWatching', target: 'watching' },
          ],
        },
        watching: {
          description: 'Every Pod that asked was reached; now and then it is looked whether they still are.',
          always: [
            { guard: 'isAnythingWanted', target: 'sampling' },
            { guard: 'isUnaskable', target: 'idle' },
          ],
          after: { checkPause: 'sampling' },
        },
        gone: {
          description: 'The Service does not exist any more, or no group needs it.',
          type: 'final',
        },
      },
    },
    endpoints: slicesRegion,
  },
});

export const serviceChart: Chart = {
  name: 'service',
  version: 2,
  description: 'Samples a Service for the Pods behind it and says which of them it reaches.',
  machine: serviceMachine,
  durable: true,
  createdBy: ['service.observed', 'service.endpoints.observed'],
  effects: serviceEffects,
  migrations: { 1: withSlices },
  merge: merged,
};
