/**
 * Cluster IPs and node ports: who has which, and which are free.
 *
 * Promises: no two Services share an address or port. The index follows the store, so a request that fails or
 * is a dry run reserves nothing.
 */
import { invariant } from '../../../src/base/errors.ts';
import type { Random } from '../../../src/base/random.ts';
import { invalidValue } from '../causes.ts';
import { type JsonObject, listAt, numberAt, objectAt, objectsAt, textAt } from '../json.ts';
import { type Network, parseNetwork } from '../socket-addresses.ts';
import { invalid } from '../status.ts';
import type { StoredObject } from '../stored-object.ts';
import type { Change } from './version.ts';

const nodePorts = { first: 30_000, last: 32_767 };

export class ServiceAddresses {
  readonly #network: Network;
  readonly #random: Random;
  readonly #ips = new Set<string>();
  readonly #ports = new Set<number>();

  /** @throws OrreryError USAGE if `cidr` is not an IPv4 network */
  constructor(cidr: string, random: Random) {
    this.#network = parseNetwork(cidr);
    this.#random = random;
  }

  /** The first address; it belongs to the Service `kubernetes`. */
  get first(): string {
    return this.#network.at(1);
  }

  note(change: Change): void {
    if (change.storage !== 'services') return;
    for (const ip of clusterIPs(change.previous?.object)) this.#ips.delete(ip);
    for (const port of portsOf(change.previous?.object)) this.#ports.delete(port);
    for (const ip of clusterIPs(change.current?.object)) this.#ips.add(ip);
    for (const port of portsOf(change.current?.object)) this.#ports.add(port);
  }

  /**
   * Gives the Service what its type needs and it does not have yet; it keeps the addresses of `old`.
   *
   * @throws ApiError 422 if a requested address is taken or outside the network
   */
  allocate(service: StoredObject, old: StoredObject | undefined): void {
    const spec = objectAt(service, 'spec') ?? {};
    const type = textAt(spec, 'type');
    if (type === 'ExternalName') return;
    const withIP = this.#withClusterIP(service, spec, old);
    const needsPorts =
      type === 'NodePort' || (type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
    service.spec = needsPorts ? this.#withNodePorts(service, withIP, old) : withIP;
  }

  #withClusterIP(service: StoredObject, spec: JsonObject, old: StoredObject | undefined): JsonObject {
    const wanted = textAt(spec, 'clusterIP');
    const isHeadless = wanted === 'None';
    const isSelectorless = objectAt(spec, 'selector') === undefined;
    const families =
      isHeadless && isSelectorless
        ? { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' }
        : { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' };
    const isOwn = clusterIPs(old).includes(wanted);
    if (wanted !== '' && !isHeadless && !isOwn) this.#checkWanted(service, wanted);
    const ip = wanted === '' ? this.#freeIP() : wanted;
    return {
      ...spec,
      clusterIP: ip,
      clusterIPs: [ip],
      ipFamilies: spec.ipFamilies ?? families.ipFamilies,
      ipFamilyPolicy: spec.ipFamilyPolicy ?? families.ipFamilyPolicy,
    };
  }

  #checkWanted(service: StoredObject, ip: string): void {
    const problem = !this.#network.contains(ip)
      ? 'the provided network does not match the current range'
      : this.#ips.has(ip)
        ? 'provided IP is already allocated'
        : '';
    if (problem === '') return;
    const cause = invalidValue('spec.clusterIPs', [ip], `failed to allocate IP ${ip}: ${problem}`);
    throw invalid({ kind: 'Service', group: '' }, service.metadata.name, [cause]);
  }

  /**
   * A random free address, or else the next free one after it; never the network's own, its first or its
   * last.
   */
  #freeIP(): string {
    const count = this.#network.size - 3;
    const start = Math.floor(this.#random.next() * count);
    for (let step = 0; step < count; step += 1) {
      const ip = this.#network.at(2 + ((start + step) % count));
      if (!this.#ips.has(ip)) return ip;
    }
    throw invalid({ kind: 'Service', group: '' }, '', [
      invalidValue('spec.clusterIPs', [], 'failed to allocate a serviceIP: range is full'),
    ]);
  }

  #withNodePorts(service: StoredObject, spec: JsonObject, old: StoredObject | undefined): JsonObject {
    const own = new Set(portsOf(old));
    const taken = new Set<number>();
    const ports = objectsAt(spec, 'ports').map((port, index) => {
      const wanted = numberAt(port, 'nodePort') ?? 0;
      const isTaken = (this.#ports.has(wanted) && !own.has(wanted)) || taken.has(wanted);
      if (wanted !== 0 && isTaken) {
        const cause = invalidValue(
          `spec.ports[${index}].nodePort`,
          wanted,
          'provided port is already allocated',
        );
        throw invalid({ kind: 'Service', group: '' }, service.metadata.name, [cause]);
      }
      const nodePort = wanted === 0 ? this.#freePort(taken) : wanted;
      taken.add(nodePort);
      return { ...port, nodePort };
    });
    return { ...spec, ports };
  }

  #freePort(taken: ReadonlySet<number>): number {
    const count = nodePorts.last - nodePorts.first + 1;
    const start = Math.floor(this.#random.next() * count);
    for (let step = 0; step < count; step += 1) {
      const port = nodePorts.first + ((start + step) % count);
      if (!this.#ports.has(port) && !taken.has(port)) return port;
    }
    invariant(false, 'there are fewer open Services than node ports');
  }
}

function clusterIPs(service: StoredObject | undefined): string[] {
  return listAt(service, 'spec', 'clusterIPs').filter(
    (ip): ip is string => typeof ip === 'string' && ip !== 'None',
  );
}

function portsOf(service: StoredObject | undefined): number[] {
  return objectsAt(service, 'spec', 'ports').flatMap((port) => numberAt(port, 'nodePort') ?? []);
}
