/**
 * What a pass over a Service's slices reads, and where it reports its writes: the picture, and this replica's
 * own writes since. Implemented by endpoints-index.ts.
 */
import type { Labels } from '../../../base/digests.ts';
import type { EndpointSliceDigest, ServiceDigest } from '../digests.ts';
import type { NamedWorkload } from './desired.ts';
import type { StandingSlice } from './slices.ts';

export interface ServiceScene {
  readonly service: ServiceDigest;
  /** The workloads that its selector matches. */
  readonly workloads: readonly NamedWorkload[];
  /** Our slices of it, except those being deleted. */
  readonly slices: readonly StandingSlice[];
  /** Changes whenever the desired content of its slices changes. */
  readonly wanted: string;
  /** Changes whenever its slices change. */
  readonly standing: string;
}

/** Changes of one Service with no pause of `wavePauseMs` between them. */
export interface Wave {
  readonly changes: number;
  readonly everyMs: number;
}

export interface EndpointsScene {
  /**
   * Whether Services, workloads and slices have all been listed by their present mirrors. If not, part of
   * what is read here may be long outdated: an endpoint whose workload is merely not listed yet must not be
   * removed.
   */
  isComplete(): boolean;
  /** Resolves once the picture is no longer being read; rejects with the signal. */
  whole(signal: AbortSignal): Promise<void>;
  /** null if there is no such Service, or nothing of it concerns slices. */
  read(namespace: string, service: string): ServiceScene | null;
  /** When something last changed that concerns the Service's slices, monotonic ms; -Infinity: never. */
  changedAt(namespace: string, service: string): number;
  /** How many changes came in the wave that last ran, and how far apart, ms on average. */
  waveOf(namespace: string, service: string): Wave;
  /** When the Service last lost an endpoint, monotonic ms; -Infinity: never. */
  removedAt(namespace: string, service: string): number;
  /**
   * Notes whether half as many slices would do.
   * @returns for how long that has been so, ms; 0: it is not
   */
  sparseFor(namespace: string, service: string, isSparse: boolean): number;
  /**
   * Takes a slice that was written or read, as it is in the API server.
   *
   * @param asked labels that were written; if the answer has others, they count as these (§2.17)
   */
  put(namespace: string, name: string, digest: EndpointSliceDigest, asked?: Labels): void;
  /** A slice with that uid no longer exists. */
  remove(namespace: string, name: string, uid: string): void;
  /**
   * Takes the time of the earliest change that nobody has taken yet, ms since the epoch; null: none is known.
   */
  takeTrigger(namespace: string, service: string): number | null;
  /** Gives back a time that was taken but not written: the next one who takes gets it, or an earlier one. */
  giveBackTrigger(namespace: string, service: string, at: number): void;
}
