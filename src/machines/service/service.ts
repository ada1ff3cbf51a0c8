/**
 * `service/<ns>/<name>`: region `routes` samples the Service's health endpoint on behalf of all Pods of its
 * group and tells each Pod when the Service was seen to reach it, or to reach it no more. Region `endpoints`
 * (endpoints-region.ts) keeps the EndpointSlices for workloads outside the cluster. The actor ends when
 * neither is called for.
 *
 * Who sends: the router (`service.observed`), Pods (`route.wanted`, `route.unwanted`, `route.watched`), the
 * sampling effect (`sample.*`), the group's other Services (`header.*`), people (`service.recheck`). What it
 * promises:
 * - A Pod is told `route.proven` only for an answer with status 200 that carried its own address, from a
 *   round that asked this very Service.
 * - One reply credits whoever answered, whoever was hoped for.
 * - Answers without the header prove nothing, unless no answer of the group ever carried it; then every Pod
 *   that asked is told so.
 * - Rounds go on for ever while somebody wants a proof, and none runs while nobody wants or watches. Absent:
 *   HTTP (the effect), any opinion on what a Pod does with the proof.
 */

import { assign, enqueueActions, setup } from 'xstate';
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Chart } from '../chart.ts';
import { actionsOf } from '../effect.ts';
import { kubeEventWrite, messageSend } from '../effects.ts';
import { leftOf, type Stamp } from '../stamp.ts';
import { endpointsRegion } from './endpoints-region.ts';
import { routeSample } from './route-effects.ts';
import {
  credited,
  isAnonymous,
  isAnybodyAskable,
  isAnyMissed,
  isAskable,
  judged,
  lostPods,
  patienceOf,
  reached,
  started,
  strangers,
} from './route-rounds.ts';
import { canDeny, isGroupUnseen, proof, toTell } from './route-words.ts';
import { routesRegion } from './routes-region.ts';
import {
  alreadyMet,
  askers,
  isAgedWant,
  isMet,
  isNewWant,
  isRerouted,
  isSamePod,
  isStale,
  newborn,
  newWant,
  remembered,
  type ServiceContext,
  type ServiceInput,
  type Want,
  withKeptTold,
  withWants,
  withWatched,
} from './service-context.ts';
import { withOwnMissesAndPaces, withSlices } from './service-migrations.ts';
import { tellService } from './service-reason.ts';
import { slicesChanges, slicesDelays, slicesGuards } from './slices-context.ts';
import { slicesReconcile } from './slices-effects.ts';
import { merged } from './waiting-events.ts';

export const serviceEffects = [messageSend, routeSample, slicesReconcile, kubeEventWrite] as const;

/** docs/features/routes.md §4.8: a Service is woken at most each 200 ms. */
const restMs = 200;

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
    isMetAlready: ({ context, event }) =>
      event.type === 'route.wanted' && askers(event).some((pod) => isMet(context, pod)),
    isWantedAnswer: ({ context, event }) =>
      event.type === 'sample.answered' &&
      event.round === context.round &&
      reached(context, event).length + strangers(context, event).length > 0,
    isThisRound: ({ context, event }) => 'round' in event && event.round === context.round,
    isAnyPodLost: ({ context, event }) => lostPods(context, event.at).length > 0,
    isAnyoneCurious: ({ context, event }) => toTell(context, event.at).length > 0,
    isAnythingWanted: ({ context }: Args) => isAskable(context),
    isUnaskable: ({ context }: Args) => !isAnybodyAskable(context),
    isNothingWanted: ({ context }: Args) => context.wants.length === 0,
    isWatching: ({ context }: Args) => context.wants.length === 0 && isAnybodyAskable(context),
    isHurriedAndRested: ({ context, event }) => context.hurried && event.at - context.startedAt >= restMs,
    isHurried: ({ context }: Args) => context.hurried,
    isAnonymousGroup: ({ context }: Args) => isAnonymous(context) && context.header === 'no',
    isAnonymousThroughout: ({ context }: Args) => isAnonymous(context) && isGroupUnseen(context),
    isAnonymousYet: ({ context }: Args) => isAnonymous(context) && context.header === 'unknown',
    isHeaderKnown: ({ context }: Args) => context.header === 'yes',
    isHeaderNews: ({ context }: Args) => context.header !== 'yes',
    isDenialDue: ({ context }: Args) => context.inquirers.length > 0 && canDeny(context),
    isHeaderOwed: ({ context }: Args) => context.header === 'yes' && context.inquired,
  },
  delays: {
    /**
     * A round's calls are each bounded by the probe's timeout, three at a time; then its outcome is lost
     * (I4).
     */
    roundPatience: ({ context, event }) => patienceOf(context, event.at),
    /**
     * 0.2 s growing to 5 s while nothing changes, ± 25 %: docs/features/routes.md §4.7. By 5 % a round: the
     * pause is then about a twentieth of the time waited. So a route that is programmed within 6 s is seen
     * within a second at p99 by all of 20 Services, though one round in 40 misses it (with 15 % that ended at
     * 2 s), at the price of 1.3 times the calls in the first 3 s.
     */
    pause: ({ context, event }) =>
      Math.min(200 * 1.05 ** Math.min(context.fruitless, 70), 5_000) * (0.75 + 0.5 * (event as Stamp).random),
    wakePause: ({ context, event }) => leftOf(restMs, context.startedAt, event.at),
    /**
     * The group's other Services answer within milliseconds, or when their rounds are over; who is silent is
     * asked again after a round.
     */
    answerPatience: 1_500,
    /**
     * Watched routes are looked at every 10 s (± 25 %), and each 2 s once one was missed: a lost one is told
     * so early that its Pod can ask for it once more within the 30 s of the specification.
     */
    checkPause: ({ context, event }) =>
      (isAnyMissed(context) ? 2_000 : 10_000) * (0.75 + 0.5 * (event as Stamp).random),
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
      event.type === 'route.watched'
        ? { watched: withWatched(context.watched, newWant(event, event.at)) }
        : {},
    ),
    dropUnwanted: assign(({ context, event }) => {
      if (event.type !== 'route.unwanted') return {};
      const isOther = ({ pod, uid }: Want) => pod !== event.pod || uid !== event.uid;
      return { wants: context.wants.filter(isOther), watched: context.watched.filter(isOther) };
    }),
    dropStale: assign(({ context, event }) => ({
      wants: context.wants.filter((want) => !isStale(want, event)),
    })),
    dropLost: assign(({ context, event }) => {
      const lost = lostPods(context, event.at);
      return { watched: context.watched.filter((one) => !lost.includes(one)) };
    }),
    credit: assign(({ context, event }) =>
      event.type === 'sample.answered' ? credited(context, event) : {},
    ),
    noteKeptTold: assign(({ context, event }) =>
      event.type === 'route.wanted' ? withKeptTold(context, event) : {},
    ),
    noteTold: assign(({ context, event }) => {
      const told = toTell(context, event.at);
      const wants = context.wants.map((want) => (told.includes(want) ? { ...want, curious: false } : want));
      return { wants };
    }),
    /** A message to each Pod that was met: every proof names its Pod. */
    tellProven: enqueueActions(({ context, event, enqueue }) => {
      const met =
        event.type === 'sample.answered'
          ? reached(context, event)
          : event.type === 'route.wanted'
            ? alreadyMet(context, event)
            : [];
      // Actions of a set-up do not know each other by type.
      for (const want of met) enqueue({ type: 'message.send', params: proof(context, want) } as never);
    }),
    startRound: assign(({ context, event }) => started(context, event)),
    /** Its answers are not waited for and would not be believed. */
    abandonRound: assign(({ context }) => ({ round: context.round + 1, lastRound: null })),
    noteRound: assign(({ context, event }) =>
      event.type === 'sample.finished' ? judged(context, event.summary, event) : {},
    ),
    noteFailure: assign(({ context, event }) => ({
      lastError: event.type === 'sample.failed' ? event.message : 'no outcome of the sampling round in time',
      fruitless: context.fruitless + 1,
      lastRound: null,
    })),
    noteHeader: assign({ header: 'yes' }),
    noteNoHeader: assign({ header: 'no' }),
    noteInquiry: assign(({ context, event }) =>
      event.type === 'header.asked'
        ? { inquired: true, inquirers: [...new Set([...context.inquirers, event.service])] }
        : {},
    ),
    settleInquiry: assign({ inquired: false, inquirers: [] }),
    settleDenial: assign({ inquirers: [] }),
    noteUnseen: assign(({ context, event }) =>
      event.type === 'header.unseen' ? { unseen: [...new Set([...context.unseen, event.service])] } : {},
    ),
    forgetWants: assign({ wants: [] }),
    forgetRoutes: assign({
      facts: null,
      wants: [],
      watched: [],
      met: {},
      lastRound: null,
      inquirers: [],
      unseen: [],
    }),
    ...actionsOf(...serviceEffects),
    rememberSlices: assign((args) => slicesChanges.rememberSlices(args)),
    forgetSlices: assign((args) => slicesChanges.forgetSlices(args)),
    startPass: assign((args) => slicesChanges.startPass(args)),
    noteOtherWriter: assign((args) => slicesChanges.noteOtherWriter(args)),
    noteReconciled: assign((args) => slicesChanges.noteReconciled(args)),
    noteSlicesFailure: assign((args) => slicesChanges.noteSlicesFailure(args)),
    startAfresh: assign((args) => slicesChanges.startAfresh(args)),
  },
}).createMachine({
  id: 'service',
  context: ({ input }) => newborn(input),
  type: 'parallel',
  states: {
    routes: routesRegion,
    endpoints: endpointsRegion,
  },
});

export const serviceChart: Chart = {
  name: 'service',
  shortName: 'svc',
  version: 3,
  description: 'Samples a Service for the Pods behind it and says which of them it reaches.',
  machine: serviceMachine,
  durable: true,
  createdBy: ['service.observed', 'service.endpoints.observed'],
  effects: serviceEffects,
  migrations: { 1: withSlices, 2: withOwnMissesAndPaces },
  merge: merged,
  tell: tellService,
};
