/**
 * What the condition `Verifying` of a RouteGate has to say (docs/features/routes.md, “What it reports”), by
 * the Pods that it holds, the Services of their groups, and what became of these Pods.
 */
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { services } from '../../../src/kube/api/resources.ts';
import type { ApiStage } from '../features/feature-world.ts';
import { groupOf, hasProbedPort } from './gate-objects.ts';

/**
 * @param held Pods that the RouteGate holds
 * @param unverified how many of them became Ready without a proof
 * @returns judges the reason in the object
 */
export function verifyingReason(
  { api }: Pick<ApiStage, 'api'>,
  held: readonly KubeObject[],
  unverified: number,
): (said: unknown) => boolean {
  const all = api.all(services);
  const groups = new Set(held.map(groupOf));
  const own = all.filter((service) => groups.has(groupOf(service)));
  const isEmpty = [...groups].some((group) => !own.some((service) => groupOf(service) === group));
  const isPortless = (service: KubeObject) => !hasProbedPort(service);
  const wanted =
    all.length === 0 || isEmpty
      ? 'NothingToVerify'
      : own.some(isPortless)
        ? 'PortMissing'
        : unverified > 0
          ? 'Unverified'
          : 'Verifying';
  return (said) => {
    // Of groups without a Pod of its own the RouteGate may say the same.
    if (groups.size === 0) return said !== 'NotListed' && said !== 'InvalidSpec';
    return (
      said === wanted || (said === 'PortMissing' && wanted !== 'NothingToVerify' && all.some(isPortless))
    );
  };
}
