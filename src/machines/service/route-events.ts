/**
 * Events of the service chart's routes region, and those by which Pods and Services speak with each other.
 */
import type { IpFamily } from '../../base/address.ts';
import type { ActorId } from '../../base/ids.ts';
import type { EffectSettled } from '../stamp.ts';
import type { ServiceFacts } from './route-facts.ts';
import type { SlicesEvent } from './slices-events.ts';

/**
 * The world has news of the Service: its facts as they are now; null when nothing in the world calls for the
 * actor any more.
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
 * A Pod asks a Service for the proof that the Service reaches it. `also`: others that asked while the Service
 * was busy (waiting-events.ts).
 */
export type RouteWanted = PodPlace & {
  readonly type: 'route.wanted';
  /** The Pod wants to hear what answers instead, should a round miss it. */
  readonly curious?: boolean;
  readonly also?: readonly Asker[];
};
export type Asker = PodPlace & { readonly curious?: boolean };
/**
 * A Pod whose condition is True by an earlier proof wants to hear if the Service stops reaching it
 * (whenRouteIsLost: withdraw).
 */
export type RouteWatched = PodPlace & { readonly type: 'route.watched' };
/** A Pod that asked does not need the proof any more. */
export type RouteUnwanted = { readonly type: 'route.unwanted'; readonly pod: ActorId; readonly uid: string };
/**
 * The Service reached that very Pod. `service` is the name, `serviceUid` the first eight characters of its
 * uid.
 */
export type RouteProven = RouteProof & {
  readonly type: 'route.proven';
  /** Those of other Services, which came while the Pod was busy. */
  readonly also?: readonly RouteProof[];
};
export type RouteProof = {
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
  /** When each of them was reached last, ms since the epoch; absent from an earlier release. */
  readonly since?: readonly number[];
};
/** A round of the Service did not reach the Pod, which had asked to hear what did. */
export type RouteMissed = MissedAnswer & {
  readonly type: 'route.missed';
  /** Those of other Services, which came while the Pod was busy. */
  readonly also?: readonly MissedAnswer[];
};
export type MissedAnswer = {
  readonly service: string;
  readonly serviceUid: string;
  /** What answered, for people. */
  readonly answer: string;
  /** Addresses that answered with another status than 200. */
  readonly unhealthy: readonly string[];
};

/** A Service whose answers carried no header asks the others of its group whether theirs ever did. */
export type HeaderAsked = { readonly type: 'header.asked'; readonly service: ActorId };
/** Answers of some Service of the group carried the header: the group's Pods can be told apart. */
export type HeaderSeen = { readonly type: 'header.seen' };
/** No answer of that Service ever carried the header: its last round is over, or nobody wants one. */
export type HeaderUnseen = { readonly type: 'header.unseen'; readonly service: ActorId };

/**
 * An answer of a sampling round that named a Pod's address with status 200. `also`: those of others,
 * meanwhile (waiting-events.ts).
 */
export type SampleAnswered = {
  readonly type: 'sample.answered';
  readonly round: number;
  readonly ip: string;
  readonly also?: readonly string[];
  /**
   * When the first of them was heard, ms since the epoch: whoever asked only after that may have its address
   * from a Pod before it. Absent: now.
   */
  readonly heardAt?: number;
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

/** A person asks to look again, as if the actor had just been made. */
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
