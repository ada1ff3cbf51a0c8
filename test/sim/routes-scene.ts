/** What the checkers of routes look at: the objects of Kubernetes as digests, and each change of them. */
import type { Scene } from '../../packages/testing/checkers/checker.ts';
import type { SimKube } from './sim-kube.ts';

export interface RoutesScene extends Scene {
  readonly kube: Pick<SimKube, 'onChange' | 'get' | 'entries'>;
}
