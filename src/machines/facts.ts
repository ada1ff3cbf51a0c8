/**
 * Facts: what an actor is told about the world, joined from several objects into one small plain value.
 *
 * The router computes the facts of an actor from the world picture and delivers them whole in one event; equal facts are
 * not delivered twice. So an actor never joins anything itself, and a missed or repeated delivery does no harm (I5).
 */
import type { Address, ConditionStatus, IpFamily } from '../base/digests.ts';

export interface PodFacts {
  readonly uid: string;
  readonly address: Address | { readonly invalid: string } | null;
  readonly deleting: boolean;
  /** Whether the Pod has the readiness gate of the RouteGate's condition type. */
  readonly gated: boolean;
  /** Status of the gate's condition; null if the Pod does not have the condition. */
  readonly condition: ConditionStatus | null;
  /** Whether a probe can tell this Pod (`onlyIfEnv`). */
  readonly verifiable: boolean;
  /** The RouteGate that holds the Pod, and the parts of it that the Pod needs. */
  readonly gate: {
    readonly name: string;
    readonly conditionType: string;
    readonly whenRouteIsLost: 'keep' | 'withdraw';
  };
  /** The object that owns the group. `none`: the RouteGate names no such kind. */
  readonly groupResource: 'none' | 'found' | 'missing' | 'mismatch';
  /**
   * The Services of the group: name → the first eight characters of its uid, or `null` where the Service has no port of the
   * probe's name (it counts as proven).
   */
  readonly services: Readonly<Record<string, string | null>>;
}

/** How to ask a Service whether it reaches its Pods. */
export interface RouteProbe {
  readonly url: string;
  /** Response header that holds the answering Pod's address, for each family. */
  readonly podIPHeaders: { readonly IPv4: string; readonly IPv6: string };
  readonly timeoutMs: number;
  readonly attemptsPerReplica: number;
}

export interface ServiceFacts {
  readonly uid: string;
  readonly deleting: boolean;
  /** One probe for each family; `null` where the Service cannot be asked in it (no cluster IP of the family, no such port). */
  readonly probes: Readonly<Record<IpFamily, RouteProbe | null>>;
  /** Expected number of Pods behind the Service, at least 1. */
  readonly replicas: number;
  /** Changes whenever the Service's endpoints, or the set of the group's Pods, change: a reason to sample at once. */
  readonly routesToken: string;
  /** The other Services of the group, by name. */
  readonly peers: readonly string[];
  /** Ready addresses in the Service's slices, sorted, where lost routes are to be noticed (whenRouteIsLost: withdraw); else null. */
  readonly readyAddresses: readonly string[] | null;
}

/** What a Service is told about its EndpointSlices: tokens alone; a pass reads the rest when it runs. */
export interface EndpointsFacts {
  readonly uid: string;
  /** false: type ExternalName, or no selector; slices that are left of it have to go. */
  readonly selects: boolean;
  /** Changes whenever what the slices must say changes. */
  readonly wanted: string;
  /** Changes whenever the slices themselves change. */
  readonly standing: string;
  /** There is no slice of ours. */
  readonly empty: boolean;
}

/** A workload outside the cluster that is to be probed, or with which something is wrong. */
export interface WorkloadFacts {
  readonly uid: string;
  readonly deleting: boolean;
  /** Addresses to probe. */
  readonly addresses: readonly Address[];
  /** The annotation that asks for the probe, as it is written; null: the workload's status is not ours. */
  readonly probe: string | null;
  /** Its condition `Ready`; null if there is none. */
  readonly ready: ConditionStatus | null;
  /** What people should hear of, each a sentence. */
  readonly problems: readonly string[];
}
