/**
 * What a pass over a Service's slices reads, and where it reports its writes: the world picture with this
 * replica's own writes since. Implemented by endpoints-index.ts.
 */
import type { EndpointSliceDigest, ServiceDigest } from '../digests.ts';
import type { NamedWorkload } from './desired.ts';
import type { StandingSlice } from './slices.ts';

export interface ServiceScene {
  readonly service: ServiceDigest;
  /** Those that its selector matches. */
  readonly workloads: readonly NamedWorkload[];
  /** Our slices of it that are not being deleted. */
  readonly slices: readonly StandingSlice[];
  /** Changes whenever what its slices must say changes. */
  readonly wanted: string;
  /** Changes whenever its slices change. */
  readonly standing: string;
}

export interface EndpointsScene {
  /**
   * Whether Services, workloads and slices were all listed by those who mirror them now. If not, what is
   * read here may be the picture of a time long gone, in part: an endpoint whose workload is merely not
   * listed yet must not be taken out.
   */
  isComplete(): boolean;
  /** null: no such Service, or nothing of it concerns slices. */
  read(namespace: string, service: string): ServiceScene | null;
  /** When something last changed that concerns the Service's slices, monotonic ms; -Infinity: never. */
  changedAt(namespace: string, service: string): number;
  /** A slice was written, or read, as it stands in the API server. */
  put(namespace: string, name: string, digest: EndpointSliceDigest): void;
  /** A slice with that uid is not there any more. */
  remove(namespace: string, name: string, uid: string): void;
  /** Takes the time of the earliest change that nobody took yet, ms since the epoch; null: none is known. */
  takeTrigger(namespace: string, service: string): number | null;
  /** What was taken was not written after all: the next one who takes gets it, or an earlier one. */
  giveBackTrigger(namespace: string, service: string, at: number): void;
}
