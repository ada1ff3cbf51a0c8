/**
 * The people and controllers of a simulated cluster: they create, replace and remove the objects of
 * `objects.ts`, as a StatefulSet, an endpoints controller and an operator would.
 */

import type { IpFamily } from '../../src/base/address.ts';
import type { PodDigest, ServiceDigest } from '../../src/features/routes/digests.ts';
import {
  conditionType,
  gate,
  type New,
  namespace,
  owner,
  pod,
  podIp,
  service,
  serviceIp,
} from './objects.ts';
import { groupKind } from './sim-mirror.ts';
import { groupLabel, type SimWorld } from './sim-world.ts';

export interface ShopOptions {
  readonly family: IpFamily;
  readonly address: 'dns' | 'clusterIP';
  readonly whenRouteIsLost: 'keep' | 'withdraw';
  readonly hasOwner: boolean;
  readonly hasEnv: boolean;
}

export interface Shop {
  makeGate(change?: { readonly isNew?: boolean; readonly attemptsPerReplica?: number }): void;
  /** The RouteGate withdraws from now on, or no longer. */
  changeMind(): void;
  removeGate(): void;
  makeOwner(group: string, replicas: number, type?: string): void;
  removeOwner(group: string): void;
  makePod(
    name: string,
    group: string,
    options?: { readonly ip?: string | null; readonly isVerifiable?: boolean; readonly isGated?: boolean },
  ): void;
  /** Gives a fresh address to a Pod that has none or should have another. */
  giveAddress(name: string, ip?: string): void;
  change(name: string, change: Partial<PodDigest>): void;
  removePod(name: string): void;
  makeService(name: string, group: string, options?: { readonly hasPort?: boolean }): void;
  changeService(name: string, change: Partial<ServiceDigest>): void;
  removeService(name: string): void;
  /** Somebody else sets the condition. */
  setCondition(name: string, status: 'True' | 'False'): void;
  freshIp(): string;
}

export function createShop(world: SimWorld, options: ShopOptions): Shop {
  const { kube } = world;
  const { family } = options;
  let uids = 0;
  let ips = 0;
  // The first eight characters of their uids distinguish Services.
  const uid = (kind: string) => `${String(++uids).padStart(6, '0')}-${kind}`;
  const freshIp = () => podIp(family, ++ips);
  const changePod = (name: string, change: Partial<PodDigest>) => {
    const known = kube.pod(namespace, name);
    if (known) kube.put<PodDigest>('pods', namespace, name, { ...known, ...change });
  };
  const serviceOf = (name: string) => {
    const known = kube.get('services', namespace, name);
    return known?.kind === 'services' ? known : null;
  };
  /** The endpoints controller: one slice for each Service, with the addresses of the Pods of its group. */
  const fillSlices = () => {
    for (const { name, digest } of kube.entries('services'))
      fillSlice(world, name, digest.labels[groupLabel]);
    for (const { name, digest } of kube.entries('endpointslices')) {
      if (serviceOf(digest.service) === null) kube.remove('endpointslices', namespace, name);
    }
  };
  kube.onChange(({ resource }) => {
    if (resource === 'pods' || resource === 'services') fillSlices();
  });
  return {
    freshIp,
    ...gateOf(world, options, () => uid('gate')),
    removeGate: () => kube.remove('routegates', namespace, 'gate'),
    makeOwner: (group, replicas, type) =>
      kube.put(groupKind.resource, namespace, group, owner(uid('owner'), replicas, type)),
    removeOwner: (group) => kube.remove(groupKind.resource, namespace, group),
    makePod(name, group, { ip = freshIp(), isVerifiable = true, isGated = true } = {}) {
      kube.put('pods', namespace, name, pod({ uid: uid(name), group, ip, isVerifiable, isGated }));
    },
    giveAddress(name, ip = freshIp()) {
      changePod(name, { address: { ip, family } });
    },
    change: changePod,
    removePod: (name) => kube.remove('pods', namespace, name),
    makeService(name, group, { hasPort = true } = {}) {
      const clusterIP = serviceIp(family, ++ips);
      kube.put('services', namespace, name, service({ uid: uid(name), group, clusterIP, hasPort }));
    },
    changeService(name, change) {
      const known = serviceOf(name);
      if (known) kube.put<ServiceDigest>('services', namespace, name, { ...known, ...change });
    },
    removeService: (name) => kube.remove('services', namespace, name),
    setCondition(name, status) {
      const known = kube.pod(namespace, name);
      if (known) changePod(name, { conditions: { ...known.conditions, [conditionType]: status } });
    },
  };
}

/** Its RouteGate. */
function gateOf(
  { kube }: SimWorld,
  options: ShopOptions,
  newUid: () => string,
): Pick<Shop, 'makeGate' | 'changeMind'> {
  let generation = 1;
  let uid = '';
  let { whenRouteIsLost } = options;
  const makeGate: Shop['makeGate'] = ({ isNew = false, attemptsPerReplica } = {}) => {
    if (isNew || uid === '') uid = newUid();
    generation = isNew ? 1 : generation + 1;
    const more = attemptsPerReplica === undefined ? {} : { attemptsPerReplica };
    const all = { ...options, ...more, whenRouteIsLost, uid, generation };
    kube.put('routegates', namespace, 'gate', gate(all));
  };
  return {
    makeGate,
    changeMind() {
      whenRouteIsLost = whenRouteIsLost === 'keep' ? 'withdraw' : 'keep';
      if (kube.get('routegates', namespace, 'gate') !== null) makeGate();
    },
  };
}

function fillSlice({ kube }: SimWorld, name: string, group: string | undefined): void {
  const members = kube.entries('pods').filter(({ digest }) => digest.labels[groupLabel] === group);
  const readyAddresses = members
    .flatMap(({ digest: { address, deleting } }) =>
      address !== null && 'ip' in address && !deleting ? [address.ip] : [],
    )
    .sort();
  const known = kube.get('endpointslices', namespace, `${name}-1`);
  const isSame =
    known?.kind === 'endpointslices' &&
    JSON.stringify(known.readyAddresses) === JSON.stringify(readyAddresses);
  if (isSame) return;
  const slice: New<Extract<NonNullable<typeof known>, { kind: 'endpointslices' }>> = {
    kind: 'endpointslices',
    uid: `slice-of-${name}`,
    deleting: false,
    labels: {},
    service: name,
    readyAddresses,
  };
  kube.put('endpointslices', namespace, `${name}-1`, slice);
}
