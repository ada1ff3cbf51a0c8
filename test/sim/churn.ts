/**
 * What happens in a simulated cluster while it is used: Pods are replaced, Services come and go, people ask
 * and interfere.
 */

import type { Chance } from '../../packages/testing/time/chance.ts';
import { sleep } from '../../src/base/clock.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { encode } from '../../src/bus/codec.ts';
import type { MemoryBus } from '../../src/bus/memory/memory-bus.ts';
import { namespace, probedPort } from './objects.ts';
import type { ChurnKind, Profile } from './profile.ts';
import type { Shop } from './sim-shop.ts';
import { groupLabel, type SimWorld } from './sim-world.ts';

export interface Churn {
  /** Creates what exists at the beginning. */
  begin(): void;
  /** Something happens. */
  act(): void;
  /** A person asks an actor to look again. */
  ask(): void;
  /** Sometimes: a Pod is replaced under its name while the patch of its condition is on its way. */
  ambush(name: string): void;
  /** Sometimes: a condition is taken back as soon as it is True, before anybody has seen it. */
  takeBack(name: string): void;
  /** Removes every obstacle of every Pod. */
  heal(): void;
}

interface Parts {
  readonly world: SimWorld;
  readonly shop: Shop;
  readonly chance: Chance;
  readonly profile: Profile;
  readonly people: MemoryBus;
  readonly say: (text: string) => void;
}

export function createChurn(parts: Parts): Churn {
  const { world, shop, chance, profile, say } = parts;
  const actions = churnActions(parts);
  let isHealed = false;
  // People ask at times of their own, and an ambush waits for its moment.
  const kinds = [...profile.churn].filter((kind) => kind !== 'recheck' && kind !== 'replaceAtPatch');
  const tell = (kind: Exclude<ChurnKind, 'replaceAtPatch'>) => {
    const what = actions[kind]();
    if (what) say(`${kind}: ${what}`);
  };
  return {
    begin: () => begin(parts),
    act() {
      const kind = chance.pick(kinds);
      if (kind) tell(kind);
    },
    ambush(name) {
      if (!profile.churn.has('replaceAtPatch') || !chance.happens(ambushShare)) return;
      if (actions.replaceAtPatch(name)) say(`replaceAtPatch: ${name}`);
    },
    takeBack(name) {
      if (!profile.churn.has('takeBack') || !chance.happens(ambushShare)) return;
      world.clock.after(0, () => shop.setCondition(name, 'False'));
      say(`takeBack: ${name}, unseen`);
      // One that has proven nothing may come before anybody looks again.
      if (profile.churn.has('addService'))
        world.clock.after(chance.between(100, 2_000), () => void (isHealed || tell('addService')));
    },
    ask() {
      if (profile.churn.has('recheck')) tell('recheck');
    },
    heal() {
      isHealed = true;
      heal(parts);
    },
  };
}

const groupName = (n: number) => `group-${n}`;

function begin({ world, shop, chance, profile }: Parts): void {
  const { groups, podsPerGroup, servicesPerGroup, hasOwner, hasEnv, anonymousGroups } = profile;
  shop.makeGate({ isNew: true });
  for (let g = 0; g < groups; g++) {
    const group = groupName(g);
    if (g < anonymousGroups) world.routing.anonymousGroups.add(group);
    if (hasOwner && chance.happens(0.7)) shop.makeOwner(group, podsPerGroup);
    for (let n = 0; n < podsPerGroup; n++) {
      const isVerifiable = !hasEnv || chance.happens(0.8);
      shop.makePod(`pod-${g}-${n}`, group, { isVerifiable, isGated: chance.happens(0.95) });
    }
    for (let n = 0; n < servicesPerGroup; n++) shop.makeService(`svc-${g}-${n}`, group);
  }
}

/** The share of patches that trigger it. */
const ambushShare = 0.05;

/** What an action did, in words; null: there was nothing to do it to. */
type Action = () => string | null;

function churnActions(parts: Parts) {
  return {
    ...podActions(parts),
    ...serviceActions(parts),
    ...fickleActions(parts),
    ...otherActions(parts),
  } satisfies Record<Exclude<ChurnKind, 'replaceAtPatch'>, Action> & {
    replaceAtPatch(name: string): string | null;
  };
}

function podActions({ world, shop, chance, profile }: Parts) {
  const { kube, clock, routing } = world;
  const anyPod = () => chance.pick(kube.entries('pods'));
  let made = 0;
  /** As a StatefulSet does: deletes with a grace period, and creates anew under the old name. */
  const replace = async (name: string, group: string, oldIp: string | null) => {
    shop.change(name, { deleting: true });
    await sleep(clock, chance.seldomLong(50, 4_000));
    shop.removePod(name);
    await sleep(clock, chance.seldomLong(0, 500));
    const ip = oldIp !== null && chance.happens(profile.sameAddress) ? oldIp : shop.freshIp();
    const isLate = chance.happens(0.5);
    shop.makePod(name, group, { ip: isLate ? null : ip });
    const uid = kube.pod(namespace, name)?.uid ?? '';
    if (chance.happens(0.3)) {
      routing.unhealthy.add(uid);
      clock.after(chance.seldomLong(100, 5_000), () => void routing.unhealthy.delete(uid));
    }
    if (!isLate) return;
    await sleep(clock, chance.seldomLong(10, 3_000));
    if (kube.pod(namespace, name)?.uid === uid) shop.giveAddress(name, ip);
  };
  return {
    replacePod() {
      const found = anyPod();
      if (!found || found.digest.deleting) return null;
      const { address, labels } = found.digest;
      void replace(
        found.name,
        labels[groupLabel] ?? '',
        address !== null && 'ip' in address ? address.ip : null,
      );
      return found.name;
    },
    /** Without a grace period, as when a node is gone. */
    replaceAtPatch(name: string) {
      const pod = kube.pod(namespace, name);
      if (!pod || pod.deleting) return null;
      shop.removePod(name);
      shop.makePod(name, pod.labels[groupLabel] ?? '');
      return name;
    },
    addPod() {
      const name = `extra-${made++}`;
      if (kube.entries('pods').length > 12) return null;
      shop.makePod(name, groupName(chance.int(0, profile.groups - 1)));
      return name;
    },
    removePod() {
      const found = anyPod();
      if (found) shop.removePod(found.name);
      return found?.name ?? null;
    },
    changeAddress() {
      const found = anyPod();
      if (!found) return null;
      const { name, digest } = found;
      if (chance.happens(0.3)) shop.change(name, { address: { invalid: '10.0.0.300' } });
      else shop.giveAddress(name);
      return `${name} had ${JSON.stringify(digest.address)}`;
    },
    takeBack() {
      const found = anyPod();
      if (!found) return null;
      shop.setCondition(found.name, 'False');
      return found.name;
    },
  };
}

function serviceActions({ world, shop, chance, profile }: Parts) {
  const { kube, clock, routing } = world;
  const anyService = () => chance.pick(kube.entries('services'));
  let made = 0;
  return {
    addService() {
      const name = `more-${made++}`;
      if (kube.entries('services').length > 10) return null;
      shop.makeService(name, groupName(chance.int(0, profile.groups - 1)));
      return name;
    },
    removeService() {
      const found = anyService();
      if (found) shop.removeService(found.name);
      return found?.name ?? null;
    },
    recreateService() {
      const found = anyService();
      if (!found) return null;
      shop.removeService(found.name);
      shop.makeService(found.name, found.digest.labels[groupLabel] ?? '');
      return found.name;
    },
    togglePort() {
      const found = anyService();
      if (!found) return null;
      shop.changeService(found.name, { ports: found.digest.ports.length === 0 ? [probedPort] : [] });
      return found.name;
    },
    moveService() {
      const found = anyService();
      // A Service that moves keeps what it knows of its Pods' headers: a known gap of the chart, left out
      // here.
      if (!found || profile.anonymousGroups > 0) return null;
      const labels = { ...found.digest.labels, [groupLabel]: groupName(chance.int(0, profile.groups)) };
      shop.changeService(found.name, { labels });
      return `${found.name} to ${labels[groupLabel]}`;
    },
    blackHole() {
      const found = anyService();
      if (!found) return null;
      routing.blackHoled.add(found.name);
      clock.after(chance.seldomLong(500, 20_000), () => void routing.blackHoled.delete(found.name));
      return found.name;
    },
  };
}

/** What is undone in a moment, and not seen by everybody. */
function fickleActions({ world, shop, chance, profile }: Parts) {
  const { kube, clock } = world;
  return {
    blinkPod() {
      const found = chance.pick(kube.entries('pods'));
      // Elsewhere it names itself, which its group remembers.
      if (!found || profile.anonymousGroups > 0) return null;
      const { name, digest } = found;
      // Who is away already comes back by itself.
      if (digest.labels[groupLabel] === 'elsewhere') return null;
      shop.change(name, { labels: { ...digest.labels, [groupLabel]: 'elsewhere' } });
      clock.after(chance.seldomLong(0, 3_000), () => {
        const now = kube.pod(namespace, name);
        if (now?.uid === digest.uid) shop.change(name, { labels: digest.labels });
      });
      return name;
    },
    blinkService() {
      const found = chance.pick(kube.entries('services'));
      if (!found || profile.anonymousGroups > 0) return null;
      const { name, digest } = found;
      if (Object.keys(digest.labels).length === 0) return null;
      shop.changeService(name, { labels: {} });
      clock.after(chance.seldomLong(0, 3_000), () => shop.changeService(name, { labels: digest.labels }));
      return name;
    },
    /** Perhaps twice in a moment. */
    changeMind() {
      shop.changeMind();
      if (chance.happens(0.5)) clock.after(chance.seldomLong(0, 3_000), () => shop.changeMind());
      return 'withdraw or keep';
    },
  };
}

function otherActions({ world, shop, chance, profile, people }: Parts) {
  const { kube, clock, subjects } = world;
  let messages = 0;
  const send = (id: ActorId, data: Uint8Array) => {
    people.append(subjects.send(id), data).catch(() => {});
  };
  return {
    editGate() {
      shop.makeGate({ attemptsPerReplica: chance.int(1, 4) });
      return 'a new generation';
    },
    recreateGate() {
      shop.removeGate();
      clock.after(chance.seldomLong(0, 3_000), () => shop.makeGate({ isNew: true }));
      return 'removed and made anew';
    },
    owner() {
      if (!profile.hasOwner) return null;
      const group = groupName(chance.int(0, profile.groups - 1));
      const what = chance.int(0, 2);
      if (what === 0) shop.removeOwner(group);
      else shop.makeOwner(group, chance.int(1, 4), what === 1 ? 'web' : 'other');
      return `${group}: ${['removed', 'made', 'of another sort'][what]}`;
    },
    /** A person asks, and the client sends it two or three times, perhaps the last one long after. */
    recheck() {
      // A Pod that is asked starts afresh: not too often.
      const kind = chance.happens(0.2) ? 'pod' : 'service';
      const found = chance.pick(kube.entries(`${kind}s`));
      if (!found) return null;
      const id: ActorId = `${kind}/${namespace}/${found.name}`;
      const messageId = `ask-${++messages}`;
      const data = encode({ type: `${kind}.recheck`, id: messageId });
      send(id, data);
      if (chance.happens(0.5)) clock.after(chance.seldomLong(0, 4_000), () => send(id, data));
      return `${id} ${messageId}`;
    },
    garbage() {
      const found = chance.pick(kube.entries('pods'));
      if (!found) return null;
      const id: ActorId = `pod/${namespace}/${found.name}`;
      const what = chance.pick([
        new Uint8Array([0xc1, 0xff]),
        encode({ type: 'pod.observed', facts: null }),
        encode({ type: 'route.proven', service: 'svc-0-0' }),
        encode({ type: 'nonsense', id: `garbage-${++messages}` }),
      ]);
      if (what) send(id, what);
      return id;
    },
  };
}

/** Every Pod has an address and an owner, nothing is swallowed, nobody interferes. */
function heal({ world, shop, profile }: Parts): void {
  const { kube, routing } = world;
  routing.blackHoled.clear();
  routing.unhealthy.clear();
  if (kube.entries('routegates').length === 0) shop.makeGate({ isNew: true });
  for (const { name, digest } of kube.entries('pods')) {
    const isReachable = digest.address !== null && 'ip' in digest.address;
    // A restored etcd may have put it back to where it was for a moment.
    const isAway = digest.labels[groupLabel] === 'elsewhere';
    if (digest.deleting || isAway) shop.removePod(name);
    else if (!isReachable) shop.giveAddress(name);
  }
  if (!profile.hasOwner) return;
  for (let g = 0; g < profile.groups; g++) shop.makeOwner(groupName(g), profile.podsPerGroup);
}
