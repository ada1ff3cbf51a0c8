/**
 * A group of Pods and Services to which a seed does everything that can happen to one, and the judge of
 * docs/features/routes.md §3.1: no condition True before a 200 with this Pod's own IP through every
 * verifiable Service.
 */

import { unpackRecord } from '../../../src/actors/host/records.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { type Random, seededRandom } from '../../../src/base/random.ts';
import type { ServiceDigest } from '../../../src/features/routes/digests.ts';
import { listingOf } from '../../../src/features/routes/start.ts';
import type { PodConditionPatch } from '../../../src/machines/pod/pod-effects.ts';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import { gateSpec, pod, service, TestCluster, type TestReplica } from '../../actors/harness.ts';
import { BalancedNetwork, type Manner } from './balanced-network.ts';

interface HostilePod {
  uid: string;
  ip: string | null;
  /** Since when the Pod has the address, ms since the epoch. */
  since: number;
  condition: 'True' | 'False' | null;
}

interface HostileService {
  uid: string;
  host: string;
  hasPort: boolean;
}

const podCount = 4;
/** The first of them stays, because the group's memory of the header is that of its Services. */
const serviceNames = ['svc-0', 'svc-1', 'svc-2', 'svc-3', 'svc-4'];
const fleeting = serviceNames.slice(1);

export class HostileShop {
  readonly cluster = new TestCluster();
  readonly network: BalancedNetwork;
  /** Breaches of §3.1, in words; must stay empty. */
  readonly early: string[] = [];
  /** Conditions that were set True. */
  marked = 0;
  readonly #random: Random;
  readonly #pods = new Map<string, HostilePod>();
  readonly #services = new Map<string, HostileService>();
  /** Of every Service that ever existed: its uid as cut in facts → where it was asked. */
  readonly #hosts = new Map<string, string>();
  /** Key of a patch → what the step knew that requested it. */
  readonly #asked = new Map<string, PodFacts>();
  readonly #withdraw: boolean;
  #replicas: TestReplica[] = [];
  #serial = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#withdraw = seed % 2 === 0;
    this.network = new BalancedNetwork({ clock: this.cluster.clock, random: seededRandom(seed + 1_000) });
    this.cluster.outside = (effect, run, replica) =>
      effect.type === 'pod-condition.patch'
        ? this.#patch(effect as unknown as PodConditionPatch, run.key)
        : this.network.outside(effect, run, replica);
  }

  /** It knows whose an address is, and nothing of slices: routes come as the test says. */
  async #replica(name: string): Promise<TestReplica> {
    const replica = await this.cluster.replica(name);
    this.network.list(name, { ...listingOf(replica.routes.groups), addressesOf: () => null });
    return replica;
  }

  async begin(): Promise<void> {
    const { cluster } = this;
    cluster.hub.observe((stream, { subject, data }) => {
      const id = stream === 'state' ? cluster.subjects.parseState(subject)?.id : undefined;
      if (!id?.startsWith('pod/')) return;
      const { outbox, snapshot } = unpackRecord(data, id);
      const { facts } = snapshot.context as { facts: PodFacts };
      // The requesting step is in the first record that names the patch.
      for (const { key } of outbox) if (!this.#asked.has(key)) this.#asked.set(key, facts);
    });
    this.#replicas = [await this.#replica('a'), await this.#replica('b')];
    await this.#putGate(1);
    for (const name of serviceNames.slice(0, 3)) await this.#newService(name);
    for (let n = 0; n < podCount; n++) await this.#newPod(`web-${n}`);
    // Every Service has heard the header once: from now on nobody is unverifiable.
    await this.heal();
  }

  /** Something happens, and a little time passes. */
  async act(): Promise<void> {
    await this.#pick<() => Promise<void> | void>([
      ...Array.from({ length: 16 }, () => () => this.#reroute()),
      ...Array.from({ length: 3 }, () => () => this.#changeManner()),
      ...Array.from({ length: 4 }, () => () => this.#newPod(this.#podName())),
      () => this.#moveAddress(),
      () => this.#takeBack(),
      () => this.#newService(this.#pick(fleeting)),
      () => this.#toggleService(this.#pick(fleeting)),
      () => this.#togglePort(),
      () => this.#putGate(++this.#serial),
      () => this.#replaceReplica(),
    ])();
    await this.cluster.clock.advance(this.#random.next() ** 2 * 1_500);
  }

  /** Removes every obstacle. */
  async heal(): Promise<void> {
    this.network.manners.clear();
    for (const [name, { ip }] of this.#pods) if (ip === null) await this.#newPod(name);
    for (const { host } of this.#services.values())
      for (const { ip } of this.#pods.values()) if (ip !== null) this.network.program(host, ip);
    await this.cluster.clock.advance(40_000);
  }

  /** Pods whose condition is not True. */
  waiting(): string[] {
    return [...this.#pods].flatMap(([name, one]) => (one.condition === 'True' ? [] : [name]));
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.next() * list.length)] as T;
  }

  #podName = () => `web-${Math.floor(this.#random.next() * podCount)}`;

  /** New addresses, and sometimes one that a former Pod had. */
  #address = () => `10.0.0.${1 + Math.floor(this.#random.next() * 24)}`;

  async #newPod(name: string): Promise<void> {
    const taken = new Set([...this.#pods.values()].map(({ ip }) => ip));
    let ip = this.#address();
    while (taken.has(ip)) ip = this.#address();
    const since = this.cluster.clock.now();
    this.#pods.set(name, { uid: `pod-uid-${++this.#serial}`, ip, since, condition: null });
    await this.#putPod(name);
  }

  async #putPod(name: string): Promise<void> {
    const one = this.#pods.get(name);
    if (!one) return;
    await this.cluster.put(
      'pods',
      'shop',
      name,
      pod(0, {
        uid: one.uid,
        address: one.ip === null ? null : { ip: one.ip, family: 'IPv4' },
        conditions: one.condition === null ? {} : { 'example.com/routes': one.condition },
      }),
    );
  }

  async #moveAddress(): Promise<void> {
    const name = this.#podName();
    const one = this.#pods.get(name);
    if (!one) return;
    const taken = [...this.#pods.values()].map(({ ip }) => ip);
    const ip = this.#address();
    one.ip = taken.includes(ip) ? null : ip;
    one.since = this.cluster.clock.now();
    await this.#putPod(name);
  }

  async #takeBack(): Promise<void> {
    const name = this.#podName();
    const one = this.#pods.get(name);
    if (one) one.condition = this.#pick(['False', null]);
    await this.#putPod(name);
  }

  /** Another Service under the name, at another address. */
  async #newService(name: string): Promise<void> {
    const serial = ++this.#serial;
    const one = { uid: `s${serial}-uid-rest`, host: `10.1.${serial >> 8}.${serial & 255}`, hasPort: true };
    this.#hosts.set(one.uid.slice(0, 8), one.host);
    this.#services.set(name, one);
    await this.#putService(name);
  }

  async #putService(name: string): Promise<void> {
    const one = this.#services.get(name);
    const digest: ServiceDigest | null = one
      ? {
          ...service(0),
          uid: one.uid,
          clusterIPs: [{ ip: one.host, family: 'IPv4' }],
          ports: one.hasPort ? service(0).ports : [],
        }
      : null;
    await this.cluster.put('services', 'shop', name, digest);
  }

  async #toggleService(name: string): Promise<void> {
    if (!this.#services.has(name)) return this.#newService(name);
    this.#services.delete(name);
    await this.#putService(name);
  }

  async #togglePort(): Promise<void> {
    const name = this.#pick([...this.#services.keys()]);
    const one = this.#services.get(name);
    if (!one) return;
    one.hasPort = !one.hasPort;
    await this.#putService(name);
  }

  /** Routes of one Pod, or to one Service, are learned or forgotten. */
  #reroute(): void {
    const { ip } = this.#pods.get(this.#podName()) ?? { ip: null };
    if (ip === null) return;
    for (const { host } of this.#services.values()) {
      if (this.#random.next() < 0.6) this.network.program(host, ip);
      else if (this.#random.next() < 0.1) this.network.withdraw(host, ip);
    }
  }

  #changeManner(): void {
    const { ip } = this.#pods.get(this.#podName()) ?? { ip: null };
    const manners: Manner[] = [
      'healthy',
      'healthy',
      'healthy',
      'unhealthy',
      'stranger',
      'anonymous',
      'silent',
    ];
    if (ip !== null) this.network.manners.set(ip, this.#pick(manners));
  }

  async #putGate(generation: number): Promise<void> {
    const whenRouteIsLost = this.#withdraw ? 'withdraw' : 'keep';
    await this.cluster.put('routegates', 'shop', 'gate', {
      kind: 'routegates',
      ...{ uid: 'gate-uid', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} },
      generation,
      spec: { ...gateSpec, whenRouteIsLost },
    });
    await this.cluster.clock.advance(20);
    for (const resource of ['routegates', 'pods', 'services', 'endpointslices'])
      await this.cluster.put('_synced', '', resource, {
        kind: 'synced',
        gates: [`gate-uid/${generation}`],
        resource,
      });
  }

  async #replaceReplica(): Promise<void> {
    const [oldest] = this.#replicas.splice(0, 1);
    oldest?.engine.kill();
    this.#replicas.push(await this.#replica(`replica-${++this.#serial}`));
  }

  /** The API server's part: judges, then writes the new state. */
  async #patch(effect: PodConditionPatch, key: string): Promise<PlainEvent> {
    await new Promise<void>((resolve) => this.cluster.clock.after(2, resolve));
    const one = this.#pods.get(effect.name);
    if (one?.uid !== effect.uid)
      return { type: 'condition.refused', reason: 'gone', message: 'it is another Pod' };
    if (effect.status === 'True') this.#judge(effect, key);
    one.condition = effect.status;
    await this.#putPod(effect.name);
    return { type: 'condition.patched', status: effect.status };
  }

  #judge({ uid, name }: PodConditionPatch, key: string): void {
    this.marked += 1;
    const facts = this.#asked.get(key) ?? null;
    const since = this.#pods.get(name)?.since ?? Number.POSITIVE_INFINITY;
    const ip = facts?.address && 'ip' in facts.address ? facts.address.ip : '';
    for (const [serviceName, cut] of Object.entries(facts?.services ?? {})) {
      if (cut === null) continue;
      const provenAt = this.network.proofs.get(`${this.#hosts.get(cut)} ${ip}`) ?? 0;
      // An address that was learned of after the Pod had lost it again does not matter for the proof.
      if (provenAt < since && this.#pods.get(name)?.ip === ip)
        this.early.push(`${key}: ${serviceName} (${cut}) never reached ${name} (${uid}) at ${ip}`);
    }
    if (facts === null) this.early.push(`${key}: no saved step asked for it`);
  }
}
