/** What a Service is told about its routes, joined from several objects into one small plain value. */
import type { IpFamily } from '../../base/address.ts';

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
