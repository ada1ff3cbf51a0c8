/**
 * What the simulation of a feature consists of: a small world beside it, what happens there, and the checkers
 * of what the feature's page promises. Everything in the replicas is real, including the mirror; what they
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

/** What a world needs whose people act only through the API. */
export type ActingParts = Pick<WorldParts<ActedStage>, 'stage' | 'chance' | 'say'>;

export interface FeatureWorld {
  /** What runs in the replica of this name. */
  uses(replica: string): readonly FeatureUse[];
  /** The release of the program in the replica of this name; absent: 1.0.0. */
  releaseOf?(replica: string): string;
  readonly checkers: readonly CheckerKind[];
  /** Creates what exists at the beginning. */
  begin(): void;
  /** Something happens, at drawn times. */
  act(): void;
  /** Kubernetes was put back to an earlier state. */
  restored?(): void;
  /** Removes every obstacle. */
  heal(): void;
  /** What the statuses of its objects have to say; absent: it writes none. */
  readonly statuses?: readonly StatusPromise[];
  /** The actors that its objects stand for; absent: no objects decide that. */
  readonly lives?: readonly ActorLife[];
  /** Whether an actor rightly waits for what the world does not give it; absent: none does for long. */
  mayWait?(id: string, record: ActorRecord): boolean;
  /** Whether its replicas rightly own no shards; absent: never. */
  isClosed?(): boolean;
  /** What is not as the world requires after the last fault; nothing: all is. */
  unsettled(records: ReadonlyMap<string, ActorRecord>): readonly string[];
}

export interface FeatureSimulation {
  /** The feature's. */
  readonly name: string;
  /** What discovery knows. */
  readonly kinds: readonly KubeResource[];
  /** Faults that mean nothing to it, or that its page does not promise to survive. */
  readonly without?: readonly FaultKind[];
  /** The largest error of its replicas' clocks, ms; absent: as drawn. */
  readonly skewMaxMs?: number;
  /** Effects that last as long as their actor. */
  readonly standing?: readonly string[];
  /** What a replica rightly complains of in this world: the beginnings of its messages. */
  readonly rightly?: readonly string[];
  /** Longest time to come to rest, ms. */
  readonly restMs?: number;
  create(parts: WorldParts): FeatureWorld;
}
