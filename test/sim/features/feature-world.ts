/**
 * What the simulation of a feature is made of: a small world beside it, what happens there, and the checkers
 * of what the feature's page promises. Everything in the replicas is real, the mirror included; what they
 * reach is simulated.
 */

import type { CheckerKind } from '../../../packages/testing/checkers/checker.ts';
import type { SimReplica } from '../../../packages/testing/replicas/sim-replica.ts';
import type { FaultKind } from '../../../packages/testing/simulation/fault-kinds.ts';
import type { FaultyWorld } from '../../../packages/testing/simulation/fault-parts.ts';
import type { Chance } from '../../../packages/testing/time/chance.ts';
import type { Feature, StartFeature } from '../../../src/actors/feature.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import type { KubeResource } from '../../../src/base/kube-port.ts';
import type { ActedStage } from '../api/seen-api.ts';
import type { SimApi } from '../api/sim-api.ts';
import type { ActorLife } from '../checkers/lives-as-its-object.ts';
import type { StatusPromise } from '../checkers/true-statuses.ts';
import type { Profile } from '../profile.ts';
import type { KubeWeather } from '../sim-kube.ts';

/** The stage with a Kubernetes API on it. */
export interface ApiStage extends FaultyWorld {
  readonly api: SimApi;
  readonly weather: KubeWeather;
}

/** A feature in one replica. */
export interface FeatureUse {
  readonly feature: Feature;
  readonly start: StartFeature;
}

/** @template S what the world needs of its stage */
export interface WorldParts<S = ApiStage> {
  readonly stage: S;
  readonly chance: Chance;
  readonly profile: Profile;
  readonly replicas: () => readonly SimReplica[];
  /** Tells the trace what was done. */
  readonly say: (text: string) => void;
}

/** What a world needs whose people only act by the API. */
export type ActingParts = Pick<WorldParts<ActedStage>, 'stage' | 'chance' | 'say'>;

export interface FeatureWorld {
  /** What runs in the replica of this name. */
  uses(replica: string): readonly FeatureUse[];
  /** Of the program in the replica of this name; absent: 1.0.0. */
  releaseOf?(replica: string): string;
  readonly checkers: readonly CheckerKind[];
  /** Makes what is there at the beginning. */
  begin(): void;
  /** Something happens, at times of its own. */
  act(): void;
  /** Nothing is in the way of anything any more. */
  heal(): void;
  /** What the statuses of its objects have to say; absent: it writes none. */
  readonly statuses?: readonly StatusPromise[];
  /** Which actors its objects stand for; absent: that follows from no objects. */
  readonly lives?: readonly ActorLife[];
  /** Whether an actor rightly waits for what the world does not give it; absent: none does for long. */
  mayWait?(id: string, record: ActorRecord): boolean;
  /** Whether its replicas rightly own no shards; absent: never. */
  isClosed?(): boolean;
  /** What is not as the world says that it must be, once nothing fails any more; none: all is. */
  unsettled(records: ReadonlyMap<string, ActorRecord>): readonly string[];
}

export interface FeatureSimulation {
  /** The feature's. */
  readonly name: string;
  /** What discovery knows. */
  readonly kinds: readonly KubeResource[];
  /** Faults that mean nothing to it, or that its page does not promise to bear. */
  readonly without?: readonly FaultKind[];
  /** By how much the clocks of its replicas may be wrong, ms; absent: as drawn. */
  readonly skewMaxMs?: number;
  /** Effects that go on for as long as their actor does. */
  readonly standing?: readonly string[];
  /** What a replica rightly complains of in this world: how its words begin. */
  readonly rightly?: readonly string[];
  /** Longest time to come to rest, ms. */
  readonly restMs?: number;
  create(parts: WorldParts): FeatureWorld;
}
