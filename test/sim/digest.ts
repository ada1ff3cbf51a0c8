/** The digests of the simulation's objects. */
import type { SyncedDigest } from '../../src/base/digests.ts';
import type {
  EndpointSliceDigest,
  GroupResourceDigest,
  PodDigest,
  RouteGateDigest,
  ServiceDigest,
} from '../../src/features/routes/digests.ts';

export type Digest =
  | PodDigest
  | ServiceDigest
  | EndpointSliceDigest
  | RouteGateDigest
  | GroupResourceDigest
  | SyncedDigest;
