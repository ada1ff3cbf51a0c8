/**
 * The simulated mirror: brings digests into the world stream under the fences of the watches, as
 * kube/mirror.ts does.
 *
 * Each resource has a queue of its own, in order, with only the latest value of each object; each message
 * takes a drawn time. Objects that no RouteGate in the world needs are left out. A statement (`_synced`)
 * follows once everything is there that a RouteGate needs of the resource: it is queued behind all that was
 * due when the RouteGate appeared. A takeover moves the fences, compares the world with what the API server
 * says now, and publishes the differences.
 */

import type { SimClock } from '../../packages/testing/time/sim-clock.ts';
import { sleep } from '../../src/base/clock.ts';
import { type SyncedDigest, selects } from '../../src/base/digests.ts';
import { hasCode } from '../../src/base/errors.ts';
import type { BusMessage } from '../../src/bus/bus.ts';
import { decode, encode, encodeJson } from '../../src/bus/codec.ts';
import type { MemoryHub } from '../../src/bus/memory/hub.ts';
import type { MemoryBus } from '../../src/bus/memory/memory-bus.ts';
import type { Subjects } from '../../src/bus/subjects.ts';
import type { RouteGateDigest } from '../../src/features/routes/digests.ts';
import type { Digest } from './digest.ts';
import type { KubeEntry, SimKube } from './sim-kube.ts';

export const watchedResources = ['routegates', 'pods', 'services', 'endpointslices'] as const;
/** A kind of which the simulated world has no objects; that is stated all the same. */
const workloads = {
  resource: 'externalworkloads.workload.linkerd.io',
  statement: 'workload.linkerd.io/v1beta1/ExternalWorkload',
} as const;
/** The kind of the groups' owners in a simulated world. */
export const groupKind = {
  apiVersion: 'example.com/v1',
  kind: 'Owner',
  resource: 'owners.example.com',
} as const;

export interface MirrorParts {
  readonly hub: MemoryHub;
  readonly subjects: Subjects;
  readonly clock: SimClock;
  readonly kube: SimKube;
  /** How long a change takes to reach the stream. */
  readonly delayMs: () => number;
}

const beatMs = 400;

interface Queue {
  readonly resource: string;
  /** Subject → its due content. */
  readonly due: Map<string, Digest | null>;
  fence: number;
  working: boolean;
}

export class SimMirror {
  readonly #options: MirrorParts;
  readonly #queues = new Map<string, Queue>();
  readonly #published = new Map<string, string>();
  /** RouteGates as the world has them; the other mirrors follow these. */
  readonly #gates = new Map<string, { readonly namespace: string; readonly digest: RouteGateDigest }>();
  bus: MemoryBus;
  #generation = 0;
  /** Nobody mirrors: nothing is said or stored. */
  isAway = false;
  readonly #met = new Set<string>();
  #messages = 0;

  constructor(options: MirrorParts) {
    this.#options = options;
    this.bus = options.hub.connect('mirror');
    for (const resource of [...watchedResources, groupKind.resource, workloads.resource]) {
      this.#queues.set(resource, { resource, due: new Map(), fence: 0, working: false });
    }
    options.kube.onChange((entry) => this.#changed(entry));
    this.takeOver();
    this.#beatOn();
  }

  /** Like a replica that takes no shards: its statements count only while it is heard. */
  #beat(): void {
    if (this.isAway) return;
    const beat = {
      replica: 'mirror',
      incarnation: `${this.#generation}`,
      leaving: true,
      serving: false,
      tells: true,
    };
    this.bus.publish(this.#options.subjects.member('mirror'), encodeJson(beat));
  }

  #beatOn(): void {
    this.#beat();
    this.#options.clock.rhythms.after(beatMs, () => this.#beatOn());
  }

  /** A newcomer is answered at once, as by every replica. */
  #hear({ data }: BusMessage): void {
    const { incarnation, replica } = decode(data) as { incarnation: string; replica: string };
    if (replica === 'mirror' || this.#met.has(incarnation)) return;
    this.#met.add(incarnation);
    this.#beat();
  }

  /** Nobody mirrors any more, until somebody takes over. */
  leave(): void {
    this.isAway = true;
    this.#generation++;
  }

  /** Another replica becomes the mirror of everything. */
  takeOver(): void {
    const { hub, subjects } = this.#options;
    void this.bus.close();
    this.isAway = false;
    this.#generation++;
    this.bus = hub.connect(`mirror-${this.#generation}`);
    this.bus.subscribe(subjects.memberAll, (message) => this.#hear(message));
    this.#published.clear();
    this.#gates.clear();
    for (const { subject, data } of hub.stored('world')) {
      // What was stated before is stated anew.
      if ((subjects.parseWorld(subject)?.resource ?? '_synced') === '_synced') continue;
      this.#note(subject, data.byteLength === 0 ? null : (decode(data) as Digest));
    }
    for (const queue of this.#queues.values()) {
      queue.due.clear();
      queue.working = false;
      queue.fence = 0;
      this.#look(queue);
    }
  }

  /** Whether everything is in the stream. */
  get isIdle(): boolean {
    return [...this.#queues.values()].every(({ due }) => due.size === 0);
  }

  #changed({ resource }: KubeEntry): void {
    const queue = this.#queues.get(resource);
    if (queue) this.#look(queue);
  }

  /** What is in the stream now. Every resource is searched for what a RouteGate needs. */
  #note(subject: string, digest: Digest | null): boolean {
    this.#published.set(subject, JSON.stringify(digest));
    const parsed = this.#options.subjects.parseWorld(subject);
    if (parsed?.resource !== 'routegates') return false;
    this.#gates.delete(subject);
    if (digest?.kind === 'routegates') this.#gates.set(subject, { namespace: parsed.namespace, digest });
    return true;
  }

  /** Queues the differences between the API and the stream. */
  #look(queue: Queue): void {
    const { kube, subjects } = this.#options;
    const gates = [...this.#gates.values()];
    const wanted = new Map<string, Digest>();
    for (const entry of kube.all()) {
      if (entry.resource !== queue.resource || entry.digest === null) continue;
      const isNeeded = gates.some(({ namespace, digest }) => needs(digest, namespace, entry));
      if (isNeeded || entry.digest.kind === 'routegates')
        wanted.set(subjects.world(entry.resource, entry.namespace, entry.name), entry.digest);
    }
    const isOfQueue = (subject: string) => subjects.parseWorld(subject)?.resource === queue.resource;
    for (const subject of [...this.#published.keys(), ...queue.due.keys()].filter(isOfQueue)) {
      if (!wanted.has(subject)) this.#offer(queue, subject, null);
    }
    for (const [subject, digest] of wanted) this.#offer(queue, subject, digest);
    this.#offer(queue, subjects.world('_synced', '', statementName(queue.resource)), {
      kind: 'synced',
      gates:
        queue.resource === 'routegates'
          ? []
          : gates.map(({ digest }) => `${digest.uid}/${digest.generation}`),
      resource: queue.resource,
    } satisfies SyncedDigest);
    void this.#work(queue, this.#generation);
  }

  #offer({ due }: Queue, subject: string, digest: Digest | null): void {
    const isDue = due.has(subject);
    const isNews = JSON.stringify(digest) !== (this.#published.get(subject) ?? 'null');
    if (!isDue && !isNews) return;
    // A statement goes behind whatever is due now; an object keeps its place.
    if (digest?.kind === 'synced') due.delete(subject);
    due.set(subject, digest);
  }

  async #work(queue: Queue, generation: number): Promise<void> {
    const { clock, delayMs } = this.#options;
    if (queue.working) return;
    queue.working = true;
    const isCurrent = () => generation === this.#generation;
    while (queue.due.size > 0 && isCurrent()) {
      await sleep(clock, delayMs());
      // The first one now: something may have taken its place meanwhile.
      const [subject, digest] = firstOf(queue.due) ?? [];
      if (!isCurrent() || subject === undefined || digest === undefined) continue;
      queue.due.delete(subject);
      await this.#publish(queue, subject, digest, isCurrent);
    }
    if (isCurrent()) queue.working = false;
  }

  async #publish(queue: Queue, subject: string, digest: Digest | null, isCurrent: () => boolean) {
    const { clock, subjects } = this.#options;
    const guard = { subject: subjects.worldFence(statementName(queue.resource)), sequence: 0 };
    const msgId = `mirror/${++this.#messages}`;
    while (isCurrent()) {
      try {
        if (queue.fence === 0) {
          const fence = await this.#claim(guard.subject);
          if (!isCurrent()) return;
          queue.fence = fence;
          // Each reign states anew what it has listed.
          this.#published.delete(subjects.world('_synced', '', statementName(queue.resource)));
        }
        const data = digest === null ? new Uint8Array() : encode(digest);
        await this.bus.append(subject, data, { guard: { ...guard, sequence: queue.fence }, msgId });
        if (!isCurrent()) return;
        const isGate = this.#note(subject, digest);
        // Its required content may have changed while it was on its way.
        for (const other of this.#queues.values()) if (isGate || other === queue) this.#look(other);
        return;
      } catch (error) {
        // Somebody else mirrors now, or our own claim was stored without an answer: claim again.
        if (hasCode(error, 'BUS_CONFLICT')) queue.fence = 0;
        await sleep(clock, 100);
      }
    }
  }

  async #claim(subject: string): Promise<number> {
    const last = await this.bus.last('world', subject);
    const value = { replica: 'mirror', incarnation: `${this.#generation}`, at: this.#options.clock.now() };
    const guard = { subject, sequence: last?.sequence ?? 0 };
    const reign = { releasedAt: null, statesAnew: true };
    const { sequence } = await this.bus.append(subject, encodeJson({ ...value, ...reign }), { guard });
    return sequence;
  }
}

function firstOf<K, V>(map: Map<K, V>): [K, V] | undefined {
  return map.entries().next().value;
}

/** The name of the statement about a resource. */
function statementName(resource: string): string {
  if (resource === workloads.resource) return workloads.statement;
  return resource === groupKind.resource ? `${groupKind.apiVersion}/${groupKind.kind}` : resource;
}

function needs(gate: RouteGateDigest, namespace: string, entry: KubeEntry): boolean {
  const { spec } = gate;
  const { digest } = entry;
  if ('invalid' in spec || digest === null) return false;
  if (digest.kind === 'groupresource') return spec.groupResource !== null;
  if (entry.namespace !== namespace) return false;
  if (digest.kind === 'pods') return selects(spec.podSelector, digest.labels);
  if (digest.kind === 'services') return selects(spec.serviceSelector, digest.labels);
  return digest.kind === 'endpointslices';
}
