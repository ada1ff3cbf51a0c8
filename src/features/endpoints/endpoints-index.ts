/**
 * The index over the picture for EndpointSlices: which workloads a Service's selector matches, which Services
 * match a workload, and our slices of each Service.
 *
 * Every look-up costs what it finds, not the size of the world: workloads and selectors are indexed by single
 * labels. Each Service has a sum over what its workloads show, so news of one workload among a thousand costs
 * one addition.
 */

import { hash } from '../../actors/shards/rendezvous.ts';
import type { Clock } from '../../base/clock.ts';
import type { Labels } from '../../base/digests.ts';
import type { EndpointSliceDigest, ServiceDigest, WorkloadDigest } from './digests.ts';
import { isDnsLabel, type NamedWorkload } from './packing/desired.ts';
import type { EndpointsScene, ServiceScene, Wave } from './packing/scene.ts';
import { canonical } from './packing/slices.ts';
import { dropFrom, isSelected, pairsOf, putIn } from './selection.ts';
import { zoneLabel } from './slice-labels.ts';
import { createStandingSlices } from './standing-slices.ts';

interface Member {
  readonly digest: WorkloadDigest;
  readonly hashes: readonly [number, number];
}

interface Entry {
  readonly digest: ServiceDigest;
  /** Hash of what the Service shows in its slices. */
  readonly token: string;
  readonly members: Map<string, Member>;
  sums: [number, number];
}

interface IndexParts {
  readonly clock: Clock;
  /** Both as in EndpointsScene. */
  readonly isComplete: () => boolean;
  readonly whole: (signal: AbortSignal) => Promise<void>;
  /** The other controller whose slices are adopted; null: none. */
  readonly takeOver: string | null;
  readonly endpointsPerSlice: number;
  /** Called with the id of an actor to be told again, because something did not come that was expected. */
  readonly onLapsed?: (id: string) => void;
}

/** A pause that ends a wave of changes, ms. */
const wavePauseMs = 100;

/** Kubernetes' own. */
export const endpointsPerSliceDefault = 100;

export class EndpointsIndex implements EndpointsScene {
  readonly #slices;
  readonly #services = new Map<string, Entry>();
  readonly #workloads = new Map<string, WorkloadDigest>();
  /** `<ns> <key>=<value>` → names of the workloads with the label. */
  readonly #workloadsByLabel = new Map<string, Set<string>>();
  /** `<ns> <key>=<value>` → names of the Services whose selector has it as its first requirement. */
  readonly #servicesByLabel = new Map<string, Set<string>>();
  readonly #changed = new Map<
    string,
    { readonly at: number; readonly since: number; readonly count: number }
  >();
  readonly #removedAt = new Map<string, number>();
  readonly #sparseSince = new Map<string, number>();
  readonly #clock: Clock;
  /** What replicas are configured with shows in slices, too; '' is the default. */
  readonly #configured: string;
  readonly #triggers = new Map<string, number>();

  readonly isComplete: () => boolean;
  readonly whole: (signal: AbortSignal) => Promise<void>;

  constructor({ clock, isComplete, whole, takeOver, endpointsPerSlice: max, onLapsed }: IndexParts) {
    this.#clock = clock;
    this.#configured = max === endpointsPerSliceDefault ? '' : `.${max}`;
    this.isComplete = isComplete;
    this.whole = whole;
    this.#slices = createStandingSlices(clock, takeOver, (key) => {
      this.#touch(key);
      onLapsed?.(`service/${key}`);
    });
  }

  /** @returns ids of the actors that it concerns */
  setService(namespace: string, name: string, digest: ServiceDigest | null): string[] {
    const key = `${namespace}/${name}`;
    const before = this.#services.get(key);
    if (before !== undefined) this.#unlink(namespace, name, before.digest);
    this.#services.delete(key);
    if (digest === null) this.#forget(key);
    else {
      const entry: Entry = { digest, token: serviceToken(digest), members: new Map(), sums: [0, 0] };
      this.#services.set(key, entry);
      const first = firstPair(digest);
      if (first !== null) putIn(this.#servicesByLabel, `${namespace} ${first}`, name);
      for (const [workload, found] of this.#matching(namespace, digest))
        join(entry, workload, memberOf(workload, found));
    }
    this.#touch(key);
    const members = [...(before?.members.keys() ?? []), ...(this.#services.get(key)?.members.keys() ?? [])];
    // Whether a name can be a hostname depends on the Service.
    const named = members.filter((workload) => !isDnsLabel(workload));
    return [`service/${key}`, ...named.map((workload) => `workload/${namespace}/${workload}`)];
  }

  /** @param isLive false while the picture is being read: what is new then did not just happen */
  setWorkload(namespace: string, name: string, digest: WorkloadDigest | null, isLive: boolean): string[] {
    const key = `${namespace}/${name}`;
    const before = this.#workloads.get(key) ?? null;
    for (const pair of pairsOf(before?.labels))
      dropFrom(this.#workloadsByLabel, `${namespace} ${pair}`, name);
    for (const pair of pairsOf(digest?.labels)) putIn(this.#workloadsByLabel, `${namespace} ${pair}`, name);
    if (digest === null) this.#workloads.delete(key);
    else this.#workloads.set(key, digest);
    const mayLive = [before, digest].some((one) => one !== null && mayHaveActor(name, one));
    const affected = mayLive ? [`workload/${key}`] : [];
    const member = digest === null ? null : memberOf(name, digest);
    for (const service of new Set([
      ...this.#selecting(namespace, before),
      ...this.#selecting(namespace, digest),
    ])) {
      const entry = this.#services.get(`${namespace}/${service}`);
      const after =
        entry !== undefined && member !== null && isSelected(entry.digest, member.digest.labels)
          ? member
          : null;
      if (entry === undefined || !join(entry, name, after)) continue;
      const at = digest?.readyAt ?? 0;
      if ((isLive || before !== null) && at > (before?.readyAt ?? 0))
        this.#trigger(`${namespace}/${service}`, at);
      this.#touch(`${namespace}/${service}`);
      if (after === null) this.#removedAt.set(`${namespace}/${service}`, this.#clock.monotonic());
      affected.push(`service/${namespace}/${service}`);
    }
    return affected;
  }

  setSlice(namespace: string, name: string, digest: EndpointSliceDigest | null): string[] {
    const services = new Set(this.#slices.setWorld(namespace, name, digest));
    for (const service of services) this.#touch(`${namespace}/${service}`);
    return [...services].map((service) => `service/${namespace}/${service}`);
  }

  /** Ids of the actors that slices, or workloads, call for. */
  *members(): Iterable<string> {
    for (const key of this.#services.keys()) {
      const [namespace = '', name = ''] = key.split('/');
      if (this.isCalledFor(namespace, name)) yield `service/${key}`;
    }
    for (const [key, digest] of this.#workloads)
      if (mayHaveActor(key.slice(key.indexOf('/') + 1), digest)) yield `workload/${key}`;
  }

  isCalledFor(namespace: string, name: string): boolean {
    const entry = this.#services.get(`${namespace}/${name}`);
    return entry !== undefined && (entry.members.size > 0 || this.#slices.has(namespace, name));
  }

  workload(namespace: string, name: string): WorkloadDigest | null {
    return this.#workloads.get(`${namespace}/${name}`) ?? null;
  }

  /** The headless Services that list the workload. */
  headlessServices(namespace: string, name: string): string[] {
    const digest = this.workload(namespace, name);
    return [...this.#selecting(namespace, digest)]
      .filter((service) => {
        const entry = this.#services.get(`${namespace}/${service}`);
        const { headless = false, families = [] } = entry?.digest.selecting ?? {};
        const isListed = digest?.addresses.some(({ family }) => families.includes(family));
        return headless && isListed && entry?.members.has(name);
      })
      .sort();
  }

  read(namespace: string, name: string): ServiceScene | null {
    const key = `${namespace}/${name}`;
    const entry = this.#services.get(key);
    if (entry === undefined || !this.isCalledFor(namespace, name)) return null;
    const workloads: NamedWorkload[] = [...entry.members].map(([workload, { digest }]) => ({
      namespace,
      name: workload,
      digest,
    }));
    return {
      service: entry.digest,
      workloads,
      slices: this.#slices.of(namespace, name),
      ...this.tokens(namespace, name),
    };
  }

  /** Tokens that tell whether a Service's slices have to be looked at. */
  tokens(namespace: string, name: string): { readonly wanted: string; readonly standing: string } {
    const entry = this.#services.get(`${namespace}/${name}`);
    const sums = (entry?.sums ?? []).map((sum) => sum.toString(36)).join('.');
    const wanted = entry === undefined ? '' : `${entry.token}.${sums}${this.#configured}`;
    return { wanted, standing: this.#slices.token(namespace, name) };
  }

  /** Whether the Service has no slice of ours, leaving aside those being deleted. */
  isEmpty(namespace: string, name: string): boolean {
    return this.#slices.of(namespace, name).length === 0;
  }

  /** The other controller that has slices of the Service and is not taken over; '' if there is none. */
  otherWriter(namespace: string, name: string): string {
    return this.#slices.otherWriter(namespace, name);
  }

  changedAt(namespace: string, name: string): number {
    return this.#changed.get(`${namespace}/${name}`)?.at ?? Number.NEGATIVE_INFINITY;
  }

  waveOf(namespace: string, name: string): Wave {
    const { at, since, count } = this.#changed.get(`${namespace}/${name}`) ?? { at: 0, since: 0, count: 0 };
    return { changes: count, everyMs: (at - since) / Math.max(1, count - 1) };
  }

  removedAt(namespace: string, name: string): number {
    return this.#removedAt.get(`${namespace}/${name}`) ?? Number.NEGATIVE_INFINITY;
  }

  sparseFor(namespace: string, name: string, isSparse: boolean): number {
    const key = `${namespace}/${name}`;
    const now = this.#clock.monotonic();
    const since = this.#sparseSince.get(key) ?? now;
    if (isSparse && this.#services.has(key)) this.#sparseSince.set(key, since);
    else this.#sparseSince.delete(key);
    return isSparse ? now - since : 0;
  }

  put(namespace: string, name: string, digest: EndpointSliceDigest, asked?: Labels): void {
    this.#slices.put(namespace, name, digest, asked);
  }

  remove(namespace: string, name: string, uid: string): void {
    this.#slices.remove(namespace, name, uid);
  }

  takeTrigger(namespace: string, name: string): number | null {
    const key = `${namespace}/${name}`;
    const at = this.#triggers.get(key) ?? null;
    this.#triggers.delete(key);
    return at;
  }

  giveBackTrigger(namespace: string, name: string, at: number): void {
    if (this.#services.has(`${namespace}/${name}`)) this.#trigger(`${namespace}/${name}`, at);
  }

  serviceOf(namespace: string, name: string): ServiceDigest | null {
    return this.#services.get(`${namespace}/${name}`)?.digest ?? null;
  }

  stop(): void {
    this.#slices.stop();
  }

  #touch(key: string): void {
    if (!this.#services.has(key)) return;
    const at = this.#clock.monotonic();
    const last = this.#changed.get(key);
    const isSameWave = last !== undefined && at - last.at < wavePauseMs;
    this.#changed.set(key, isSameWave ? { ...last, at, count: last.count + 1 } : { at, since: at, count: 1 });
  }

  #trigger(key: string, at: number): void {
    this.#triggers.set(key, Math.min(at, this.#triggers.get(key) ?? at));
  }

  #forget(key: string): void {
    for (const times of [this.#changed, this.#removedAt, this.#sparseSince]) times.delete(key);
    this.#triggers.delete(key);
  }

  #unlink(namespace: string, name: string, digest: ServiceDigest): void {
    const first = firstPair(digest);
    if (first !== null) dropFrom(this.#servicesByLabel, `${namespace} ${first}`, name);
  }

  #matching(namespace: string, digest: ServiceDigest): Array<[string, WorkloadDigest]> {
    const first = firstPair(digest);
    if (first === null) return [];
    return [...(this.#workloadsByLabel.get(`${namespace} ${first}`) ?? [])].flatMap(
      (name): Array<[string, WorkloadDigest]> => {
        const workload = this.#workloads.get(`${namespace}/${name}`);
        return workload !== undefined && isSelected(digest, workload.labels) ? [[name, workload]] : [];
      },
    );
  }

  /** Services that may match the workload. */
  *#selecting(namespace: string, digest: WorkloadDigest | null): Iterable<string> {
    for (const pair of pairsOf(digest?.labels))
      yield* this.#servicesByLabel.get(`${namespace} ${pair}`) ?? [];
  }
}

/** Hash of what a Service shows in its slices, and of whether it has any. */
function serviceToken({ uid, deleting, labels, selecting }: ServiceDigest): string {
  const text = canonical({ uid, deleting, labels, selecting: selecting ?? null });
  return `${hash(text).toString(36)}.${hash(`~${text}`).toString(36)}`;
}

/** Most workloads have none and never will: at the start, thousands of them are not asked about. */
const mayHaveActor = (name: string, { probe, addresses, invalid }: WorkloadDigest) =>
  probe !== null || invalid.length > 0 || addresses.length === 0 || !isDnsLabel(name);

const members = new WeakMap<WorkloadDigest, Member>();

/** What a workload shows in a slice; computed once for each digest, which belongs to one name. */
function memberOf(name: string, digest: WorkloadDigest): Member {
  const known = members.get(digest);
  if (known !== undefined) return known;
  const text = shownText(name, digest);
  const member = { digest, hashes: [hash(text), hash(`~${text}`)] } as const;
  members.set(digest, member);
  return member;
}

/**
 * In a fixed order, which costs a fraction of sorting all keys: thousands of workloads are read at the start.
 */
function shownText(name: string, digest: WorkloadDigest): string {
  const { uid, addresses, invalid, ports, ready, deleting, labels } = digest;
  const shownAddresses = addresses.map(({ ip, family }) => [ip, family]);
  const shownPorts = ports.map((port) => [port.name, port.port, port.protocol]);
  const isLeft = invalid.length > 0;
  const isReady = ready === 'True';
  return JSON.stringify([
    name,
    uid,
    shownAddresses,
    isLeft,
    shownPorts,
    isReady,
    deleting,
    labels[zoneLabel],
  ]);
}

/** @returns whether anything changed that shows */
function join(entry: Entry, name: string, member: Member | null): boolean {
  const before = entry.members.get(name);
  if (member === null) entry.members.delete(name);
  else entry.members.set(name, member);
  const none = [0, 0] as const;
  const [was, is] = [before?.hashes ?? none, member?.hashes ?? none];
  entry.sums = [(entry.sums[0] - was[0] + is[0]) >>> 0, (entry.sums[1] - was[1] + is[1]) >>> 0];
  return (before === undefined) !== (member === null) || was[0] !== is[0] || was[1] !== is[1];
}

function firstPair({ selecting }: ServiceDigest): string | null {
  return pairsOf(selecting?.selector).sort()[0] ?? null;
}
