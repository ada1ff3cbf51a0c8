/**
 * Reports what happens to the Pods of one group: replaced, held back, Ready – and with how many routes.
 *
 * Watches Pods and the routing's events; writes nothing. Times are its own observations, because those of a
 * condition are whole seconds.
 */
import type { Timer } from '../../../src/base/clock.ts';
import { startInformer } from '../controllers/informer.ts';
import type { Routing, RoutingEvent } from '../network/routing.ts';
import { isDeleting, isTrue, type PodObject } from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { pods } from '../resources.ts';
import { inSeconds } from './durations.ts';

/** A Pod became Ready. */
export interface PodReady {
  readonly pod: string;
  readonly ip: string;
  /** From "its containers are ready" to Ready, ms. */
  readonly heldMs: number;
  /** Services whose routing led to the Pod at that time. */
  readonly routes: number;
  /** From the last of these routes to Ready, ms; null if there is none. */
  readonly sinceLastRouteMs: number | null;
}

export interface NarratorParts extends DevParts {
  readonly namespace: string;
  readonly labelSelector: string;
  readonly routing: Pick<Routing, 'onEvent'>;
  readonly serviceCount: number;
  readonly isGated: boolean;
  readonly print: (line: string) => void;
  readonly onReady?: (fact: PodReady) => void;
}

interface Story {
  readonly name: string;
  readonly isReplacement: boolean;
  containersReadyAt: number | undefined;
  isReady: boolean;
  warning: Timer | undefined;
}

/** A Pod that is held back for longer than this, ms, is worth a line: several times what it usually takes. */
const patienceMs = 15_000;

export class Narrator implements DevPart {
  readonly #parts: NarratorParts;
  readonly #stories = new Map<string, Story>();
  readonly #names = new Set<string>();
  /** By address: Service → since when it routes to it. */
  readonly #routes = new Map<string, Map<string, number>>();
  readonly #stopRoutes: () => void;
  readonly #informer: DevPart;

  constructor(parts: NarratorParts) {
    this.#parts = parts;
    this.#stopRoutes = parts.routing.onEvent((event) => this.#noteRoute(event));
    this.#informer = startInformer<PodObject>({
      ...parts,
      resource: pods,
      onChange: ({ type, object }) => (type === 'set' ? this.#observe(object) : this.#forget(object)),
    });
  }

  async stop(): Promise<void> {
    this.#stopRoutes();
    await this.#informer.stop();
    for (const story of this.#stories.values()) story.warning?.cancel();
  }

  #noteRoute({ namespace, address, type, service, at }: RoutingEvent): void {
    if (namespace !== this.#parts.namespace) return;
    const of = this.#routes.get(address) ?? new Map<string, number>();
    if (type === 'programmed') of.set(service, at);
    else of.delete(service);
    if (of.size > 0) this.#routes.set(address, of);
    else this.#routes.delete(address);
  }

  #observe(pod: PodObject): void {
    const { clock } = this.#parts;
    const story = this.#stories.get(pod.metadata.uid ?? '') ?? this.#begin(pod);
    const ip = pod.status?.podIP ?? '';
    if (story.containersReadyAt === undefined && isTrue(pod, 'ContainersReady') && !isDeleting(pod)) {
      story.containersReadyAt = clock.now();
      story.warning = clock.after(patienceMs, () => this.#warn(story, ip));
    }
    if (story.isReady || !isTrue(pod, 'Ready')) return;
    story.isReady = true;
    story.warning?.cancel();
    this.#tellReady(story, ip);
  }

  #begin({ metadata: { name, uid = '' } }: PodObject): Story {
    const isReplacement = this.#names.has(name);
    const story: Story = {
      name,
      isReplacement,
      containersReadyAt: undefined,
      isReady: false,
      warning: undefined,
    };
    this.#names.add(name);
    this.#stories.set(uid, story);
    return story;
  }

  #forget({ metadata: { uid = '' } }: PodObject): void {
    this.#stories.get(uid)?.warning?.cancel();
    this.#stories.delete(uid);
  }

  #warn({ name }: Story, ip: string): void {
    const count = `${this.#routes.get(ip)?.size ?? 0} of ${this.#parts.serviceCount}`;
    this.#parts.print(`${name} is still held back: ${count} routes lead to it so far`);
  }

  #tellReady(story: Story, ip: string): void {
    const { clock, print, serviceCount } = this.#parts;
    const now = clock.now();
    const since = [...(this.#routes.get(ip)?.values() ?? [])];
    const heldMs = Math.max(0, now - (story.containersReadyAt ?? now));
    const sinceLastRouteMs = since.length === 0 ? null : Math.max(0, now - Math.max(...since));
    this.#parts.onReady?.({ pod: story.name, ip, heldMs, routes: since.length, sinceLastRouteMs });
    const what = story.isReplacement ? 'replaced' : 'started';
    const count = `${since.length} of ${serviceCount} routes`;
    if (!this.#parts.isGated) return void print(`${story.name} ${what}; Ready at once, with ${count}`);
    const detection =
      sinceLastRouteMs === null ? '' : ` (${inSeconds(sinceLastRouteMs)} after the last one led to it)`;
    print(
      `${story.name} ${what}; held back until ${count} proven; Ready after ${inSeconds(heldMs)}${detection}`,
    );
  }
}
