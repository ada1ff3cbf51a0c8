/**
 * The conditions of a Deployment: Available (enough Pods are ready) and Progressing (the newest template has
 * been, or is being, rolled out). `kubectl wait` and `kubectl describe` read them. Pure.
 *
 * Promises: an unchanged condition stays the same, times included. Absent: deadlines, so Progressing is never
 * False.
 */
import { timestamp } from '../../../src/base/clock.ts';
import type { WorkloadObject } from '../objects.ts';

export interface RolloutFacts {
  readonly replicas: number;
  readonly available: number;
  readonly updated: number;
  /** Pods of all templates. */
  readonly total: number;
  readonly unavailableMax: number;
  /** Name of the newest ReplicaSet. */
  readonly current: string;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastUpdateTime?: string;
  readonly lastTransitionTime?: string;
}

export function deploymentConditions(
  deployment: WorkloadObject,
  facts: RolloutFacts,
  nowMs: number,
): Condition[] {
  const held = (deployment.status?.conditions ?? []) as readonly Condition[];
  return [availability(facts), progress(facts)].map((condition) => dated(held, condition, nowMs));
}

function availability({ replicas, available, unavailableMax }: RolloutFacts): Condition {
  return available >= replicas - unavailableMax
    ? condition('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.')
    : condition(
        'Available',
        'False',
        'MinimumReplicasUnavailable',
        'Deployment does not have minimum availability.',
      );
}

function progress({ replicas, available, updated, total, current }: RolloutFacts): Condition {
  const isComplete = updated === replicas && total === replicas && available >= replicas;
  return isComplete
    ? condition(
        'Progressing',
        'True',
        'NewReplicaSetAvailable',
        `ReplicaSet "${current}" has successfully progressed.`,
      )
    : condition('Progressing', 'True', 'ReplicaSetUpdated', `ReplicaSet "${current}" is progressing.`);
}

function condition(type: string, status: string, reason: string, message: string): Condition {
  return { type, status, reason, message };
}

function dated(held: readonly Condition[], wanted: Condition, nowMs: number): Condition {
  const before = held.find(({ type }) => type === wanted.type);
  const isSame = before?.status === wanted.status && before.reason === wanted.reason;
  if (isSame && before.message === wanted.message) return before;
  const now = timestamp(nowMs);
  const since = before?.status === wanted.status ? before.lastTransitionTime : undefined;
  return { ...wanted, lastUpdateTime: now, lastTransitionTime: since ?? now };
}
