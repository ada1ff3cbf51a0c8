/** What a Service is told about its routes: one small plain value, joined from several objects. */
import type { IpFamily } from '../../base/address.ts';

/** How to ask a Service whether it reaches its Pods. */
export interface RouteProbe {
  readonly url: string;
  /** The name is resolved in this family only; absent in facts of an earlier release: in any. */
  readonly family?: IpFamily;
  /** Response header that holds the answering Pod's address, for each family. */
  readonly podIPHeaders: { readonly IPv4: string; readonly IPv6: string };
  readonly timeoutMs: number;
  readonly attemptsPerReplica: number;
}

export interface ServiceFacts {
  /** The RouteGate that asks; another one asks for other things. Absent in facts of an earlier release. */
  readonly gate?: string;
  readonly uid: string;
  readonly deleting: boolean;
  /** By the family of the Pods that ask; `null` if the Service cannot be asked (no such port, no address). */
  readonly probes: Readonly<Record<IpFamily, RouteProbe | null>>;
  /** Expected number of Pods behind the Service, at least 1. */
  readonly replicas: number;
  /** Changes with the Service's endpoints and with the group's set of Pods: a reason to sample at once. */
  readonly routesToken: string;
  /**
   * Address → uid of the group's Pods, whose answers may be kept until they ask; absent if there are more
   * than `limits.probeKeptAnswers` (empty in facts of an earlier release).
   */
  readonly pods?: Readonly<Record<string, string>>;
  /** Addresses of nodes that several of the group's Pods have, which are not in `pods`; absent: none. */
  readonly shared?: readonly string[];
  /** The RouteGate holds Pods even if the Service cannot be verified: rounds go on for them. */
  readonly holds?: true;
  /** The other Services of the group, by name. */
  readonly peers: readonly string[];
  /**
   * The ready addresses in the Service's slices, sorted, if lost routes are to be noticed (whenRouteIsLost:
   * withdraw); otherwise null.
   */
  readonly readyAddresses: readonly string[] | null;
}
