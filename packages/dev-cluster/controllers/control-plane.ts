/** Which parts of a control plane a cluster already has, so that the stand-ins do not repeat their work. */

import type { Clock } from '../../../src/base/clock.ts';
import { hasCode } from '../../../src/base/errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../../../src/base/kube-port.ts';
import { serviceAccounts } from '../resources.ts';

export interface ControlPlane {
  /** A kube-controller-manager creates Pods from workloads, and slices from selectors. */
  readonly hasControllers: boolean;
  /** A kube-scheduler places Pods. */
  readonly hasScheduler: boolean;
}

const leases: KubeResource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

/** Both leases are renewed every 2 s and expire after 15 s; a minute leaves room for clocks that differ. */
const freshMs = 60_000;

export const noControlPlane: ControlPlane = { hasControllers: false, hasScheduler: false };

/**
 * What a real cluster has. A controller manager without leader election shows by the service account that
 * only it creates.
 */
export async function findControlPlane(
  kube: KubePort,
  clock: Clock,
  signal: AbortSignal,
): Promise<ControlPlane> {
  const isLed = async (name: string) => {
    const lease = await find(kube, leases, 'kube-system', name, signal);
    const renewed = Date.parse(String(asRecord(lease?.spec).renewTime ?? ''));
    return clock.now() - renewed < freshMs;
  };
  const account = await find(kube, serviceAccounts, 'default', 'default', signal);
  return {
    hasControllers: account !== undefined || (await isLed('kube-controller-manager')),
    hasScheduler: await isLed('kube-scheduler'),
  };
}

async function find(
  kube: KubePort,
  resource: KubeResource,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await kube.get(resource, namespace, name, signal);
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_NOT_FOUND')) return undefined;
    throw thrown;
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
