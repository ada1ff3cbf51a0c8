/** Events of the service chart's routes region, and the messages between Pods and Services. */
import type { IpFamily } from '../../base/address.ts';
import type { ActorId } from '../../base/ids.ts';
import type { EffectSettled } from '../stamp.ts';
import type { ServiceFacts } from './route-facts.ts';
import type { SlicesEvent } from './slices-events.ts';

/**
 * News of the Service: its facts as they are now; null when nothing in the world calls for the actor any
 * more.
 */
export type ServiceObserved = { readonly type: 'service.observed'; readonly facts: ServiceFacts | null };

/** A Pod and its address, as a Service is told of it. */
export type PodPlace = {
  readonly pod: ActorId;
  readonly uid: string;
  readonly ip: string;
  readonly family: IpFamily;
};
/**
 * A Pod asks a Service to prove that it reaches the Pod. `also`: Pods that asked while the Service was busy
 * (waiting-events.ts).
 */
export type RouteWanted = PodPlace & {
  readonly type: 'route.wanted';
  readonly spokenAt?: SpokenAt;
  /** The Pod wants to hear what answers in its place if a round misses it. */
  readonly curious?: boolean;
  readonly also?: readonly Asker[];
};
export type Asker = PodPlace & { readonly spokenAt?: SpokenAt; readonly curious?: boolean };
/**
 * Orders what a Pod says to a Service: a message that was sent earlier may come later. Grows with each; about
 * the time of it, ms since the epoch. Absent in messages of an earlier release.
 */
export type SpokenAt = number;
/**
 * A Pod whose condition is True from an earlier proof wants to hear if the Service stops reaching it
 * (whenRouteIsLost: withdraw).
 */
export type RouteWatched = PodPlace & {
  readonly type: 'route.watched';
  readonly spokenAt?: SpokenAt;
  /** It wants to hear that it is watched; a Pod of an earlier release would not understand. */
  readonly confirm?: true;
};
/** A Pod that asked no longer needs the proof. */
export type RouteUnwanted = {
  readonly type: 'route.unwanted';
  readonly pod: ActorId;
  readonly uid: string;
  /** Of the last question that this takes back. */
  readonly spokenAt?: SpokenAt;
};
/**
 * The Service reached that very Pod. `service`: its name; `serviceUid`: the first eight characters of its
 * uid.
 */
export type RouteProven = RouteProof & {
  readonly type: 'route.proven';
  /** Proofs of other Services that came while the Pod was busy. */
  readonly also?: readonly RouteProof[];
};
export type RouteProof = WatchedRoute & {
  /** From now on the Service watches this route: the Pod will hear if it is lost. */
  readonly watched?: true;
};
/** From now on the Service watches the route to that very Pod: it will hear if the route is lost. */
export type RouteWatching = WatchedRoute & {
  readonly type: 'route.watching';
  /** Of other Services, whose words came while the Pod was busy. */
  readonly also?: readonly WatchedRoute[];
};
export type WatchedRoute = {
  readonly service: string;
  readonly serviceUid: string;
  readonly uid: string;
  readonly ip: string;
};
/** The Service cannot tell its Pods apart (old proxies); every Pod that asked is told so. */
export type RouteUnverifiable = {
  readonly type: 'route.unverifiable';
  readonly service: string;
  readonly serviceUid: string;
};
/**
 * The Service no longer reaches these Pods, or has forgotten that they asked, because it was gone; each of
 * them is told.
 */
export type RouteLost = {
  readonly type: 'route.lost';
  readonly service: string;
  readonly serviceUid: string;
  readonly uids: readonly string[];
  /** Since when each of them counts as lost, ms since the epoch; absent from an earlier release. */
  readonly since?: readonly number[];
};
/** A round of the Service missed the Pod, which had asked to hear what answers instead. */
export type RouteMissed = MissedAnswer & {
  readonly type: 'route.missed';
  /** Answers of other Services that came while the Pod was busy. */
  readonly also?: readonly MissedAnswer[];
};
export type MissedAnswer = {
  readonly service: string;
  readonly serviceUid: string;
  /** What answered, for people. */
  readonly answer: string;
  /** Addresses that answered with a status other than 200. */
  readonly unhealthy: readonly string[];
};

/** A Service whose answers carried no header asks the others of its group whether theirs ever did. */
export type HeaderAsked = { readonly type: 'header.asked'; readonly service: ActorId };
/** Answers of some Service of the group carried the header: the group's Pods can be told apart. */
export type HeaderSeen = { readonly type: 'header.seen' };
/** No answer of that Service ever carried the header: its last round is over, or none will come. */
export type HeaderUnseen = { readonly type: 'header.unseen'; readonly service: ActorId };

/** An answer of a sampling round that named a Pod's address with status 200. */
export type SampleAnswered = Answers & { readonly type: 'sample.answered'; readonly round: number };
/** `also`: addresses that answered meanwhile (waiting-events.ts). */
export type Answers = {
  readonly ip: string;
  readonly also?: readonly string[];
  /**
   * When the first of them arrived, ms since the epoch: a Pod that asked only later may have the address of a
   * predecessor. Absent: now.
   */
  readonly heardAt?: number;
  /**
   * Address → uid of the Pods among them that the replica's picture showed at that address from before the
   * call until its answer: it was theirs, whenever they ask.
   */
  readonly pods?: Readonly<Record<string, string>>;
};
/** A sampling round is over. */
export type SampleFinished = {
  readonly type: 'sample.finished';
  readonly round: number;
  readonly calls: number;
  readonly summary: SampleSummary;
  /** The answers that came last, which have not been reported. */
  readonly last?: Answers;
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
  /** The least status of theirs other than 200; absent if there is none. */
  readonly anonymousStatus?: number;
  /** Transport errors and timeouts. */
  readonly unreachable: number;
  /** The last transport error, for people. */
  readonly lastError: string | null;
}

/** A person asks the actor to look again, as if it were new. */
export type ServiceRecheck = { readonly type: 'service.recheck' };

export type ServiceEvent =
  | ServiceObserved
  | RouteWanted
  | RouteUnwanted
  | RouteWatched
  | HeaderAsked
  | HeaderSeen
  | HeaderUnseen
  | SampleAnswered
  | SampleFinished
  | SampleFailed
  | ServiceRecheck
  | SlicesEvent
  | EffectSettled;
