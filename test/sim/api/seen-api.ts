/**
 * What the worlds of features and their checkers need of a Kubernetes API: whole objects, and every write.
 * The simulated one (sim-api.ts) implements it; the watches of a real one can, too.
 */
import type { Clock } from '../../../src/base/clock.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import type { ApiPatch, ApiWrite, SimApi } from './sim-api.ts';

export interface SeenApi {
  find(resource: KubeResource, namespace: string | undefined, name: string): KubeObject | null;
  all(resource: KubeResource): readonly KubeObject[];
  onWrite(listener: (write: ApiWrite) => void): void;
}

/** Where people change things. */
export interface ActedApi extends SeenApi {
  create(resource: KubeResource, object: KubeObject): unknown;
  replace(resource: KubeResource, object: KubeObject): unknown;
  patch(resource: KubeResource, patch: ApiPatch): unknown;
  remove(resource: KubeResource, namespace: string | undefined, name: string): void;
  /** Absent: nobody can make it refuse what it would accept. */
  refuse?: SimApi['refuse'];
}

export interface SeenStage {
  readonly api: SeenApi;
}

export interface ActedStage {
  readonly api: ActedApi;
  readonly clock: Pick<Clock, 'now' | 'after'>;
}
