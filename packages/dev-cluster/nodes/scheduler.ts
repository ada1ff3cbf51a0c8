/**
 * The scheduler's part: binds a Pod without a node to ours, as long as there is room and the node is not
 * cordoned.
 *
 * Uses the `bindings` resource, the only way on a real API server. A Pod that another scheduler bound first
 * is left alone.
 */
import { hasCode } from '../../../src/base/errors.ts';
import type { KubeResource } from '../../../src/base/kube-port.ts';
import { createReconciler, type Reconciler } from '../controllers/reconciler.ts';
import { clusterLimits } from '../limits.ts';
import { hasEnded, isDeleting, type PodObject, splitKey } from '../objects.ts';
import type { DevParts } from '../parts.ts';
import { nodes } from '../resources.ts';

const bindings: KubeResource = {
  group: '',
  version: 'v1',
  plural: 'bindings',
  kind: 'Binding',
  namespaced: true,
};

export interface SchedulerParts extends DevParts {
  readonly nodeName: string;
  readonly podAt: (key: string) => PodObject | undefined;
  /** Pods that are on the node now. */
  readonly podCount: () => number;
}

/** Pause before another look at a Pod that could not be bound, ms. */
const againMs = 200;
/** Pause before another look at a Pod that found no room, ms. */
const roomRetryMs = 1_000;

export function createScheduler(parts: SchedulerParts): Reconciler {
  const { kube, nodeName } = parts;
  /** Whether the node is cordoned and the Pod does not tolerate that. */
  const isKeptAway = async (pod: PodObject, signal: AbortSignal): Promise<boolean> => {
    if (toleratesCordon(pod)) return false;
    const { spec } = await kube.get(nodes, undefined, nodeName, signal);
    return (spec as { readonly unschedulable?: boolean } | undefined)?.unschedulable === true;
  };
  const scheduler = createReconciler({
    ...parts,
    name: 'scheduler',
    async reconcile(key, signal) {
      const pod = parts.podAt(key);
      if (pod === undefined || !isUnscheduled(pod)) return;
      if (parts.podCount() >= clusterLimits.podsMax) return scheduler.enqueue(key, roomRetryMs);
      if (await isKeptAway(pod, signal)) return scheduler.enqueue(key, roomRetryMs);
      const { namespace, name } = splitKey(key);
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, ...(pod.metadata.uid === undefined ? {} : { uid: pod.metadata.uid }) },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      };
      try {
        await kube.create(bindings, binding, signal);
      } catch (thrown) {
        // Bound by somebody else or gone, as the informer will show; or its predecessor was meant: look
        // again.
        if (!hasCode(thrown, 'KUBE_CONFLICT', 'KUBE_NOT_FOUND')) throw thrown;
        parts.log.debug({ pod: key, error: thrown.message }, 'not bound');
        scheduler.enqueue(key, againMs);
      }
    },
  });
  return scheduler;
}

export function isUnscheduled(pod: PodObject): boolean {
  return (pod.spec?.nodeName ?? '') === '' && !isDeleting(pod) && !hasEnded(pod);
}

const cordonTaint = 'node.kubernetes.io/unschedulable';

function toleratesCordon({ spec }: PodObject): boolean {
  const tolerations = (spec?.tolerations ?? []) as ReadonlyArray<{ key?: string; operator?: string }>;
  return tolerations.some(
    ({ key, operator }) => key === cordonTaint || (key === undefined && operator === 'Exists'),
  );
}
