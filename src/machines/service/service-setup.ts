/** The setup of the service chart: its guards, delays and actions, for service.ts to combine. Pure. */

import { assign, enqueueActions, setup } from 'xstate';
import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import { actionsOf } from '../effect.ts';
import { send } from '../effects.ts';
import { hasPassed, leftOf, type Stamp } from '../stamp.ts';
import { eventsOf } from '../typed-events.ts';
import type { RouteWiden } from './route-effects.ts';
import type { PodPlace } from './route-events.ts';
import {
  credited,
  ending,
  finished,
  foundAgain,
  isAnonymous,
  isAnybodyAskable,
  isAnyMissed,
  isAskable,
  lostPods,
  narrowing,
  reached,
  roundPatienceMs,
  started,
  strangers,
  widening,
} from './route-rounds.ts';
import {
  canDeny,
  confirmation,
  farewells,
  isGroupUnseen,
  losses,
  proof,
  toTell,
  verdict,
} from './route-words.ts';
import {
  alreadyMet,
  askers,
  isAgedWant,
  isNewWant,
  isRerouted,
  isSamePod,
  isStale,
  isTakenBack,
  nowWatched,
  remembered,
  type ServiceContext,
  type ServiceInput,
  type Want,
  withKeptTold,
  withoutTakenBack,
  withWants,
  withWatch,
} from './service-context.ts';
import { serviceEffects } from './service-effects.ts';
import { slicesChanges, slicesDelays, slicesGuards } from './slices-context.ts';

/** docs/features/routes.md §4.8: a Service is woken at most every 200 ms. */
const restMs = 200;

type Args = { readonly context: ServiceContext };
const { when, change, list } = eventsOf<ServiceContext, ServiceInput>();

const reachedNow = list('sample.answered', reached);
const reachedLast = list('sample.finished', (context, { last }) =>
  last === undefined ? [] : reached(context, last),
);
const whoWasMet = list('route.wanted', alreadyMet);

/** One message for each Pod, because every proof names its Pod. */
function tellProven(enqueue: unknown, context: ServiceContext, pods: readonly PodPlace[]): void {
  const { watched } = nowWatched(context, pods, 0);
  send(enqueue, ...pods.map((pod) => proof(context, pod, watched)));
}

/** The actions of one setup() do not know each other's types. */
function changeRound(enqueue: unknown, params: Omit<RouteWiden, 'type'> | null): void {
  if (params !== null) (enqueue as (action: object) => void)({ type: 'route.widen', params });
}

function withoutLost(context: ServiceContext, { at }: Stamp): readonly Want[] {
  const lost = lostPods(context, at);
  return context.watched.filter((one) => !lost.includes(one));
}

const unanswered = (fruitless: number, lastError: string): Partial<ServiceContext> => ({
  lastError,
  fruitless: fruitless + 1,
  lastRound: null,
});

const knowsRoutes = ({ facts, wants, watched, inquirers }: ServiceContext) =>
  facts !== null || wants.length + watched.length + inquirers.length > 0;

export const serviceSetup = setup({
  types: {
    context: {} as ServiceContext,
    events: {} as ServiceInput,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    ...slicesGuards,
    /** Nothing calls for the slices any more, and nothing else called for the actor. */
    isRouteless: when(
      'service.endpoints.observed',
      (context, { facts }) => facts === null && context.facts === null,
    ),
    /** The first facts, or the first after there were none. */
    isReturning: when('service.observed', (context, { facts }) => facts !== null && context.facts === null),
    /** Not for a Service that exists for its slices and knows nothing of routes: there is nothing to save. */
    isGone: when(
      'service.observed',
      (context, { facts }) => facts === null && (context.slices.facts === null || knowsRoutes(context)),
    ),
    isNews: when('service.observed', (context, { facts }) => !equal(facts, context.facts)),
    /** The questions so far were put to another Service, or at another place. */
    isRerouted: when('service.observed', (context, { facts }) => isRerouted(context, facts)),
    /** A change that may alter where the Service's traffic goes. */
    isRouteNews: when(
      'service.observed',
      (context, { facts }) => facts?.routesToken !== context.facts?.routesToken,
    ),
    isMetAlready: when('route.wanted', (context, event) => alreadyMet(context, event).length > 0),
    isNewWant: when('route.wanted', (context, event) => askers(event).some((pod) => isNewWant(context, pod))),
    isAgedWant: when('route.wanted', (context, event) =>
      askers(event).some((pod) => isAgedWant(context, pod, event)),
    ),
    isKnownWant: when('route.unwanted', ({ wants, watched }, event) =>
      [...wants, ...watched].some((want) => isTakenBack(want, event)),
    ),
    isNewWatch: when('route.watched', ({ watched }, event) => !watched.some((one) => isSamePod(one, event))),
    isConfirmationDue: when('route.watched', (_, { confirm }) => confirm === true),
    isWantedAnswer: when(
      'sample.answered',
      (context, event) =>
        event.round === context.round &&
        reached(context, event).length +
          strangers(context, event).length +
          foundAgain(context, event).length >
          0,
    ),
    isThisRound: ({ context, event }) => 'round' in event && event.round === context.round,
    isAnyWantStale: ({ context, event }) => context.wants.some((want) => isStale(want, event)),
    isAnyPodLost: ({ context, event }) => lostPods(context, event.at).length > 0,
    isAnyoneCurious: ({ context, event }) => toTell(context, event.at).length > 0,
    isAnythingWanted: ({ context }: Args) => isAskable(context),
    isUnaskable: ({ context }: Args) => !isAnybodyAskable(context),
    isNothingWanted: ({ context }: Args) => context.wants.length === 0,
    isWatching: ({ context }: Args) => context.wants.length === 0 && isAnybodyAskable(context),
    isHurriedAndRested: ({ context, event }) =>
      context.hurried && hasPassed(restMs, context.startedAt, event.at),
    isHurried: ({ context }: Args) => context.hurried,
    isAnonymousGroup: ({ context }: Args) => isAnonymous(context) && context.header === 'no',
    isAnonymousThroughout: ({ context }: Args) => isAnonymous(context) && isGroupUnseen(context),
    isHeldAnonymous: ({ context }: Args) =>
      context.facts?.holds === true &&
      isAnonymous(context) &&
      (context.header === 'no' || isGroupUnseen(context)),
    isAnonymousYet: ({ context }: Args) => isAnonymous(context) && context.header === 'unknown',
    isHeaderKnown: ({ context }: Args) => context.header === 'yes',
    isHeaderNews: ({ context }: Args) => context.header !== 'yes',
    isDenialDue: ({ context }: Args) => context.inquirers.length > 0 && canDeny(context),
    isHeaderOwed: ({ context }: Args) => context.header === 'yes' && context.inquired,
  },
  delays: {
    roundPatience: roundPatienceMs,
    /**
     * 0.2 s growing to 5 s while nothing changes, ± 25 %: docs/features/routes.md §4.7. One round in 40
     * misses a route that is there, so two of them have to fit into the half second of §8.1: the first ten
     * pauses, some two seconds, do not grow. With 5 % a round the pause is then about a twentieth of the time
     * waited.
     */
    pause: ({ context, event }) =>
      Math.min(200 * 1.05 ** Math.min(Math.max(context.fruitless - 10, 0), 70), 5_000) *
      (0.75 + 0.5 * event.random),
    wakePause: ({ context, event }) => leftOf(restMs, context.startedAt, event.at),
    /**
     * The group's other Services answer within milliseconds, or when their rounds are over. A silent one is
     * asked again after a round.
     */
    answerPatience: 1_500,
    /**
     * Watched routes are looked at every 10 s (± 25 %), and every 2 s once one was missed: a loss is told
     * early enough for its Pod to ask once more within its 30 s.
     */
    checkPause: ({ context, event }) => (isAnyMissed(context) ? 2_000 : 10_000) * (0.75 + 0.5 * event.random),
    ...slicesDelays,
  },
  actions: {
    remember: assign(change('service.observed', (context, { facts, at }) => remembered(context, facts, at))),
    hurry: assign({ hurried: true, fruitless: 0 }),
    keepWant: assign(
      change('route.wanted', (context, event) => ({
        wants: withWants(context, event),
        hurried: true,
        fruitless: 0,
      })),
    ),
    renewWant: assign(change('route.wanted', (context, event) => ({ wants: withWants(context, event) }))),
    keepWatch: assign(change('route.watched', (context, event) => ({ watched: withWatch(context, event) }))),
    confirmWatch: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'route.watched' || event.confirm !== true) return;
      if (context.watched.some((one) => isSamePod(one, event))) send(enqueue, confirmation(context, event));
    }),
    dropUnwanted: assign(change('route.unwanted', withoutTakenBack)),
    dropStale: assign(({ context, event }) => ({
      wants: context.wants.filter((want) => !isStale(want, event)),
    })),
    dropLost: assign(({ context, event }) => ({ watched: withoutLost(context, event) })),
    credit: assign(change('sample.answered', credited)),
    noteKeptTold: assign(change('route.wanted', withKeptTold)),
    noteTold: assign(({ context, event }) => {
      const told = toTell(context, event.at);
      const wants = context.wants.map((want) => (told.includes(want) ? { ...want, curious: false } : want));
      return { wants };
    }),
    tellLost: enqueueActions(({ context, event, enqueue }) => send(enqueue, ...losses({ context, event }))),
    tellForgotten: enqueueActions(({ context, event, enqueue }) =>
      send(enqueue, ...farewells({ context, event })),
    ),
    tellReached: enqueueActions((args) =>
      tellProven(args.enqueue, args.context, [...reachedNow(args), ...reachedLast(args)]),
    ),
    tellMet: enqueueActions((args) => tellProven(args.enqueue, args.context, whoWasMet(args))),
    widenRound: enqueueActions(({ context, event, enqueue }) =>
      changeRound(enqueue, event.type === 'route.wanted' ? widening(context, event) : null),
    ),
    narrowToWanted: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'route.unwanted')
        changeRound(enqueue, narrowing(context, withoutTakenBack(context, event)));
    }),
    narrowToUnlost: enqueueActions(({ context, event, enqueue }) =>
      changeRound(enqueue, narrowing(context, { watched: withoutLost(context, event) })),
    ),
    endRound: enqueueActions(({ context, enqueue }) => changeRound(enqueue, ending(context))),
    startRound: assign(({ context, event }) => started(context, event)),
    /** Nobody waits for its answers, and they would not count. */
    abandonRound: assign(({ context }) => ({ round: context.round + 1, lastRound: null })),
    noteRound: assign(change('sample.finished', finished)),
    noteFailure: assign(
      change('sample.failed', ({ fruitless }, { message }) => unanswered(fruitless, message)),
    ),
    noteSilence: assign(({ context: { fruitless } }) =>
      unanswered(fruitless, 'the sampling round timed out'),
    ),
    noteHeader: assign({ header: 'yes' }),
    noteNoHeader: assign({ header: 'no' }),
    noteInquiry: assign(
      change('header.asked', ({ inquirers }, { service }) => ({
        inquired: true,
        inquirers: [...new Set([...inquirers, service])],
      })),
    ),
    settleInquiry: assign({ inquired: false, inquirers: [] }),
    settleDenial: assign({ inquirers: [] }),
    noteUnseen: assign(
      change('header.unseen', ({ unseen }, { service }) => ({ unseen: [...new Set([...unseen, service])] })),
    ),
    tellVerdict: enqueueActions(({ context, enqueue }) => send(enqueue, verdict({ context }))),
    noteJudged: assign(({ context }) => ({
      wants: context.wants.map((want) => (want.judged ? want : { ...want, judged: true as const })),
    })),
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
    noteContestTold: assign((args) => slicesChanges.noteContestTold(args)),
    noteReconciled: assign((args) => slicesChanges.noteReconciled(args)),
    noteSlicesFailure: assign((args) => slicesChanges.noteSlicesFailure(args)),
    noteSlicesSilence: assign((args) => slicesChanges.noteSlicesSilence(args)),
    startAfresh: assign((args) => slicesChanges.startAfresh(args)),
  },
});
