/**
 * `service/<ns>/<name>`: region `routes` samples the Service's health endpoint on behalf of all Pods of its group and tells
 * each Pod when the Service was seen to reach it. Region `endpoints` (slices for workloads outside the cluster) has its place here.
 *
 * Who sends: the router (`service.observed`), Pods (`route.wanted`), the sampling effect (`sample.*`), people (`service.recheck`).
 * What it promises:
 * - A Pod is told `route.proven` only for an answer with status 200 that carried its own address, from a round that asked this very Service.
 * - One reply credits whoever answered, whoever was hoped for.
 * - Rounds go on for ever while somebody wants a proof, and none runs while nobody does.
 * Absent: HTTP (the effect), any opinion on what a Pod does with the proof.
 */
import { assign, setup } from 'xstate';
import type { ActorId } from '../ids.ts';
import type { ActorInput } from './actor-input.ts';
import type { MessageSend, RouteSample } from './effects.ts';
import { equal } from './equal.ts';
import type { SampleSummary, ServiceEvent, Stamp } from './events.ts';
import type { RouteProbe, ServiceFacts } from './facts.ts';

export const serviceVersion = 1;
export const serviceDescription =
  'Samples a Service for the Pods behind it and says which of them it reaches.';

/** What one Pod wants to know. */
export interface Want {
  readonly pod: ActorId;
  readonly uid: string;
  readonly ip: string;
  readonly family: 'IPv4' | 'IPv6';
  /** When it was asked last, ms since the epoch. Pods ask again; what is not asked again is forgotten. */
  readonly at: number;
}

/** A Pod asks again at least once a minute; three silent minutes mean that it is gone. */
const wantLifetimeMs = 180_000;
/** A repeated question renews the want only when it has aged, so that it seldom costs a write. */
const wantRenewalMs = 50_000;

export interface ServiceContext {
  readonly namespace: string;
  readonly name: string;
  readonly facts: ServiceFacts | null;
  /** Unanswered wants, one for each Pod, oldest first. */
  readonly wants: readonly Want[];
  /** Number of the sampling round in work, or of the last one; answers to an older one are ignored. */
  readonly round: number;
  /** Rounds in a row that proved nothing new. */
  readonly fruitless: number;
  /** Something changed while a round was in work: another one follows at once. */
  readonly hurried: boolean;
  readonly lastRound: SampleSummary | null;
  readonly lastError: string | null;
}

type Event = ServiceEvent & Stamp;
type Args = { readonly context: ServiceContext };

/** The probe for the family of the longest waiting Pod; the round serves the wants of that family. */
function probeFor({ facts, wants }: ServiceContext): { probe: RouteProbe; wants: readonly Want[] } | null {
  for (const family of new Set(wants.map((want) => want.family))) {
    const probe = facts?.probes[family];
    if (probe) return { probe, wants: wants.filter((want) => want.family === family) };
  }
  return null;
}

const isStale = (want: Want, event: Event) => event.at - want.at > wantLifetimeMs;

const uidOf = (facts: ServiceFacts | null) => facts?.uid.slice(0, 8) ?? '';

export const serviceMachine = setup({
  types: {
    context: {} as ServiceContext,
    events: {} as Event,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone: ({ event }) => event.type === 'service.observed' && event.facts === null,
    isNews: ({ context, event }) => event.type === 'service.observed' && !equal(event.facts, context.facts),
    /** A change that can alter where the Service's traffic goes. */
    isRouteNews: ({ context, event }) =>
      event.type === 'service.observed' &&
      (event.facts?.routesToken !== context.facts?.routesToken ||
        !equal(event.facts?.probes, context.facts?.probes)),
    isNewWant: ({ context, event }) =>
      event.type === 'route.wanted' &&
      !context.wants.some((want) => want.pod === event.pod && want.uid === event.uid && want.ip === event.ip),
    isAgedWant: ({ context, event }) =>
      event.type === 'route.wanted' &&
      context.wants.some((want) => want.pod === event.pod && event.at - want.at > wantRenewalMs),
    isKnownWant: ({ context, event }) =>
      event.type === 'route.unwanted' &&
      context.wants.some((want) => want.pod === event.pod && want.uid === event.uid),
    isAnyWantStale: ({ context, event }) => context.wants.some((want) => isStale(want, event)),
    isWantedAnswer: ({ context, event }) =>
      event.type === 'sample.answered' &&
      event.round === context.round &&
      context.wants.some((want) => want.ip === event.ip),
    isThisRound: ({ context, event }) => 'round' in event && event.round === context.round,
    isAnythingWanted: ({ context }: Args) => probeFor(context) !== null,
    isUnaskable: ({ context }: Args) => probeFor(context) === null,
    isNothingWanted: ({ context }: Args) => context.wants.length === 0,
    isHurried: ({ context }: Args) => context.hurried,
  },
  delays: {
    /** A round's calls are each bounded by the probe's timeout, three at a time; then its outcome is lost (I4). */
    roundPatience: ({ context }) => {
      const chosen = probeFor(context);
      if (chosen === null) return 60_000;
      return 5_000 + (callsOf(context, chosen.probe) * chosen.probe.timeoutMs) / 3;
    },
    /**
     * 0.2 s growing to 5 s while nothing changes, ± 25 %: the readiness specification. By 15 % a round: the pause is then about a
     * seventh of the time waited, so a route that is programmed seconds after its slice changed is still seen well within a second.
     */
    pause: ({ context, event }) =>
      Math.min(200 * 1.15 ** Math.min(context.fruitless, 30), 5_000) * (0.75 + 0.5 * (event as Stamp).random),
  },
  actions: {
    remember: assign(({ event }) => (event.type === 'service.observed' ? { facts: event.facts } : {})),
    hurry: assign({ hurried: true, fruitless: 0 }),
    keepWant: assign(({ context, event }) => {
      if (event.type !== 'route.wanted') return {};
      const { pod, uid, ip, family, at } = event;
      const others = context.wants.filter((want) => want.pod !== pod);
      return { wants: [...others, { pod, uid, ip, family, at }], hurried: true, fruitless: 0 };
    }),
    renewWant: assign(({ context, event }) =>
      event.type === 'route.wanted'
        ? { wants: context.wants.map((want) => (want.pod === event.pod ? { ...want, at: event.at } : want)) }
        : {},
    ),
    dropUnwanted: assign(({ context, event }) =>
      event.type === 'route.unwanted'
        ? { wants: context.wants.filter((want) => want.pod !== event.pod) }
        : {},
    ),
    dropStale: assign(({ context, event }) => ({
      wants: context.wants.filter((want) => !isStale(want, event)),
    })),
    dropAnswered: assign(({ context, event }) =>
      event.type === 'sample.answered'
        ? { wants: context.wants.filter((want) => want.ip !== event.ip), fruitless: 0 }
        : {},
    ),
    startRound: assign(({ context }) => ({ round: context.round + 1, hurried: false })),
    noteRound: assign(({ context, event }) =>
      event.type === 'sample.finished'
        ? { lastRound: event.summary, lastError: event.summary.lastError, fruitless: context.fruitless + 1 }
        : {},
    ),
    noteFailure: assign(({ context, event }) => ({
      lastError: event.type === 'sample.failed' ? event.message : 'no outcome of the sampling round in time',
      fruitless: context.fruitless + 1,
    })),
    forgetWants: assign({ wants: [] }),
    'message.send': (_, _params: Omit<MessageSend, 'type'>) => {},
    'route.sample': (_, _params: Omit<RouteSample, 'type'>) => {},
  },
}).createMachine({
  id: 'service',
  context: ({ input }) => ({
    namespace: input.namespace,
    name: input.name,
    facts: null,
    wants: [],
    round: 0,
    fruitless: 0,
    hurried: false,
    lastRound: null,
    lastError: null,
  }),
  type: 'parallel',
  states: {
    routes: {
      description: 'Which Pods does the Service reach?',
      initial: 'idle',
      on: {
        'service.observed': [
          { guard: 'isGone', target: '.gone' },
          { guard: 'isRouteNews', actions: ['remember', 'hurry'] },
          { guard: 'isNews', actions: 'remember' },
        ],
        'route.wanted': [
          { guard: 'isNewWant', actions: 'keepWant' },
          { guard: 'isAgedWant', actions: 'renewWant' },
        ],
        'route.unwanted': { guard: 'isKnownWant', actions: 'dropUnwanted' },
        'service.recheck': { actions: 'hurry' },
        'sample.answered': {
          guard: 'isWantedAnswer',
          actions: [{ type: 'message.send', params: proof }, 'dropAnswered'],
        },
      },
      states: {
        idle: {
          description: 'Nobody wants a proof that the Service can be asked for.',
          tags: 'settled',
          always: { guard: 'isAnythingWanted', target: 'sampling' },
        },
        sampling: {
          description: 'A round of calls through the Service is in work.',
          entry: ['startRound', { type: 'route.sample', params: round }],
          on: {
            'sample.finished': { guard: 'isThisRound', actions: 'noteRound', target: 'judging' },
            'sample.failed': { guard: 'isThisRound', actions: 'noteFailure', target: 'judging' },
          },
          after: { roundPatience: { actions: 'noteFailure', target: 'judging' } },
        },
        judging: {
          description: 'Chooses what follows a round.',
          always: [
            { guard: 'isAnyWantStale', actions: 'dropStale' },
            { guard: 'isNothingWanted', target: 'settled' },
            { guard: 'isUnaskable', target: 'idle' },
            { guard: 'isHurried', target: 'sampling' },
            { target: 'pausing' },
          ],
        },
        pausing: {
          description:
            'Some Pod is not reached yet; the next round follows after a pause, or at once when something changes.',
          always: [
            { guard: 'isNothingWanted', target: 'settled' },
            { guard: 'isUnaskable', target: 'idle' },
            { guard: 'isHurried', target: 'sampling' },
          ],
          after: { pause: 'sampling' },
        },
        settled: {
          description: 'Every Pod that asked was reached.',
          tags: 'settled',
          always: { guard: 'isAnythingWanted', target: 'sampling' },
        },
        gone: {
          description: 'The Service does not exist any more, or no group needs it.',
          type: 'final',
        },
      },
    },
    endpoints: {
      description: 'EndpointSlices for workloads outside the cluster.',
      initial: 'ignored',
      on: { 'service.observed': { guard: 'isGone', target: '.gone' } },
      states: {
        ignored: {
          description: 'The Service has no such workloads.',
          tags: 'settled',
        },
        gone: { description: 'The Service does not exist any more.', type: 'final' },
      },
    },
  },
});

/** The specification's bound: attempts for each expected replica. */
function callsOf({ facts }: ServiceContext, probe: RouteProbe): number {
  return Math.max(1, probe.attemptsPerReplica * (facts?.replicas ?? 1));
}

function round({ context }: { context: ServiceContext }): Omit<RouteSample, 'type'> {
  const chosen = probeFor(context);
  const probe = chosen?.probe ?? emptyProbe;
  return {
    group: `${context.namespace}/${context.name}`,
    round: context.round,
    probe,
    calls: chosen === null ? 0 : callsOf(context, probe),
    wanted: (chosen?.wants ?? []).map((want) => want.ip),
  };
}

const emptyProbe: RouteProbe = {
  url: '',
  podIPHeaders: { IPv4: '', IPv6: '' },
  timeoutMs: 1,
  attemptsPerReplica: 1,
};

/** Tells the Pod that has the answering address. An address belongs to one Pod at a time; the uid says which one was meant. */
function proof({ context, event }: { context: ServiceContext; event: Event }): Omit<MessageSend, 'type'> {
  const wants = event.type === 'sample.answered' ? context.wants.filter((want) => want.ip === event.ip) : [];
  const latest = wants.at(-1);
  return {
    to: latest ? [latest.pod] : [],
    event: {
      type: 'route.proven',
      service: context.name,
      serviceUid: uidOf(context.facts),
      uid: latest?.uid ?? '',
      ip: latest?.ip ?? '',
    },
  };
}
