/** A usable RouteGate, and the identifier of its version. */

import type { AnyDigest } from '../../base/digests.ts';
import { asDigest } from '../../base/digests.ts';
import type { PodDigest, RouteGateDigest } from './digests.ts';
import type { RouteGateSpec } from './route-gate.ts';

export interface Gate {
  readonly namespace: string;
  readonly name: string;
  /** Changes with each change of the specification: `<uid>/<generation>`. */
  readonly version: string;
  readonly createdAt: number;
  readonly spec: RouteGateSpec;
}

/** null if the digest is no RouteGate's, or that of one that cannot be used or is being deleted. */
export function gateOf(namespace: string, name: string, digest: AnyDigest | null): Gate | null {
  const gate = asDigest<RouteGateDigest>(digest, 'routegates');
  if (gate === null || 'invalid' in gate.spec || gate.deleting) return null;
  const { uid, generation, createdAt, spec } = gate;
  return { namespace, name, version: `${uid}/${generation}`, createdAt, spec };
}

/** Whether the Pod waits for the condition: its readiness depends on it, and it is not True. */
export const isAwaiting = (
  { readinessGates, conditions }: Pick<PodDigest, 'readinessGates' | 'conditions'>,
  conditionType: string,
): boolean => readinessGates.includes(conditionType) && conditions[conditionType] !== 'True';
