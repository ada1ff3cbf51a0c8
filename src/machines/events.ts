/**
 * Every event that an actor can take: one closed union for each kind of actor.
 *
 * Events are facts in the past tense; commands are imperative. The host adds `Stamp` to each before the machine sees it (I7).
 */

import type { IpFamily } from '../base/digests.ts';
import type { ActorId } from '../base/ids.ts';
import type { DomainEvent } from './domain/domain-events.ts';
import type { ElectionEvent } from './election/election-events.ts';
import type { PodFacts, ServiceFacts } from './facts.ts';
import type { IssuerEvent } from './issuer/issuer-events.ts';
import type { ProxierEvent } from './proxier/proxier-events.ts';
import type { ReleaseOwnEvent } from './release/release-events.ts';
import type { SlicesEvent } from './service/slices-events.ts';
import type { OwnWorkloadEvent } from './workload/workload-events.ts';

/** What the host adds to every event: machines read neither clock nor chance themselves. */
export interface Stamp {
  /** When the event is taken, milliseconds since the epoch. */
  readonly at: number;
  /** A number in [0, 1), drawn by the host for this event. */
  readonly random: number;
}

/** The world has news for the actor: its facts as they are now; null when nothing in the world calls for the actor any more. */
export type PodObserved = { readonly type: 'pod.observed'; readonly facts: PodFacts | null };
export type ServiceObserved = { readonly type: 'service.observed'; readonly facts: ServiceFacts | null };

/** A Pod and its address, as a Service is told of it. */
export type PodPlace = {
  readonly pod: ActorId;
  readonly uid: string;
  readonly ip: string;
  readonly family: IpFamily;
};
/** A Pod asks a Service for the proof that the Service reaches it. `also`: others that asked while the Service was busy (joins.ts). */
export type RouteWanted = PodPlace & {
  readonly type: 'route.wanted';
  readonly also?: readonly PodPlace[];
};
/** A Pod whose condition is True by an earlier proof wants to hear if the Service stops reaching it (whenRouteIsLost: withdraw). */
export type RouteWatched = PodPlace & { readonly type: 'route.watched' };
/** A Pod that asked does not need the proof any more. */
export type RouteUnwanted = { readonly type: 'route.unwanted'; readonly pod: ActorId; readonly uid: string };
/** The Service reached that very Pod. `service` is the name, `serviceUid` the first eight characters of its uid. */
export type RouteProven = {
  readonly type: 'route.proven';
  readonly service: string;
  readonly serviceUid: string;
  readonly uid: string;
  readonly ip: string;
};
/** The Service cannot tell its Pods apart (old proxies): every Pod that asked counts as proven for it. */
export type RouteUnverifiable = {
  readonly type: 'route.unverifiable';
  readonly service: string;
  readonly serviceUid: string;
};
/** The Service does not reach these Pods any more; it is said to each of them. */
export type RouteLost = {
  readonly type: 'route.lost';
  readonly service: string;
  readonly serviceUid: string;
  readonly uids: readonly string[];
};

/** A Service whose answers carried no header asks the others of its group whether theirs ever did. */
export type HeaderAsked = { readonly type: 'header.asked'; readonly service: ActorId };
/** Answers of some Service of the group carried the header: the group's Pods can be told apart. */
export type HeaderSeen = { readonly type: 'header.seen' };

/** An answer of a sampling round that named a Pod's address with status 200. `also`: those of others, meanwhile (joins.ts). */
export type SampleAnswered = {
  readonly type: 'sample.answered';
  readonly round: number;
  readonly ip: string;
  readonly also?: readonly string[];
};
/** A sampling round is over. */
export type SampleFinished = {
  readonly type: 'sample.finished';
  readonly round: number;
  readonly calls: number;
  readonly summary: SampleSummary;
};
export type SampleFailed = {
  readonly type: 'sample.failed';
  readonly round: number;
  readonly message: string;
};

/** What a round of calls saw, by class of answer. */
export interface SampleSummary {
  /** Addresses named by answers with status 200. */
  readonly healthy: readonly string[];
  /** Addresses named by answers with another status. */
  readonly unhealthy: readonly string[];
  /** Answers without the header. */
  readonly anonymous: number;
  /** Transport errors and timeouts. */
  readonly unreachable: number;
  /** The last transport error, for people. */
  readonly lastError: string | null;
}

export type ConditionPatched = { readonly type: 'condition.patched'; readonly status: 'True' | 'False' };
export type ConditionRefused = {
  readonly type: 'condition.refused';
  /** gone: the Pod is not there or is another one; conflict: it changed meanwhile; error: anything else. */
  readonly reason: 'gone' | 'conflict' | 'error';
  readonly message: string;
};

/** A person asks to look again, as if the actor had just been made. */
export type PodRecheck = { readonly type: 'pod.recheck' };
export type ServiceRecheck = { readonly type: 'service.recheck' };

/** Outcomes of effects whose success or failure changes no chart; they end the effect in the outbox (I4). */
export type EffectSettled = {
  readonly type: 'effect.settled';
  readonly effect: string;
  readonly error: string | null;
};

export type PodEvent =
  | PodObserved
  | RouteProven
  | RouteUnverifiable
  | RouteLost
  | ConditionPatched
  | ConditionRefused
  | PodRecheck
  | EffectSettled;
export type ServiceEvent =
  | ServiceObserved
  | RouteWanted
  | RouteUnwanted
  | RouteWatched
  | HeaderAsked
  | HeaderSeen
  | SampleAnswered
  | SampleFinished
  | SampleFailed
  | ServiceRecheck
  | SlicesEvent
  | EffectSettled;
export type WorkloadEvent = OwnWorkloadEvent | EffectSettled;

export type ReleaseEvent = ReleaseOwnEvent | EffectSettled;

/** Every event of every actor. */
export type ActorEvent =
  | PodEvent
  | ServiceEvent
  | ProxierEvent
  | WorkloadEvent
  | ReleaseEvent
  | ElectionEvent
  | DomainEvent
  | IssuerEvent;
