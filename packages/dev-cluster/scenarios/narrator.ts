/**
 * Tells what happens to the Pods of one group: replaced, held back, Ready – and with how many routes.
 *
 * Watches Pods and the routing's events; writes nothing. Times are its own observations, since a condition's
 * has whole seconds.
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

/** A Pod that is held back for longer than this is worth a line, ms: several times what it takes. */
const patienceMs = 15_000;

export function startNarrator(parts: NarratorParts): DevPart {
  const { clock, print, serviceCount } = parts;
  const stories = new Map<string, Story>();
  const names = new Set<string>();
  /** By address: Service → since when it is routed to. */
  const routes = new Map<string, Map<string, number>>();

  const onRoute = (event: RoutingEvent) => {
    if (event.namespace !== parts.namespace) return;
    const of = routes.get(event.address) ?? new Map<string, number>();
    if (event.type === 'programmed') of.set(event.service, event.at);
    else of.delete(event.service);
    if (of.size > 0) routes.set(event.address, of);
    else routes.delete(event.address);
  };
  const begin = (pod: PodObject): Story => {
    const { name } = pod.metadata;
    const story: Story = {
      name,
      isReplacement: names.has(name),
      containersReadyAt: undefined,
      isReady: false,
      warning: undefined,
    };
    names.add(name);
    stories.set(pod.metadata.uid ?? '', story);
    return story;
  };
  const warn = (story: Story, ip: string) => {
    const count = routes.get(ip)?.size ?? 0;
    print(`${story.name} is still held back: ${count} of ${serviceCount} routes lead to it so far`);
  };
  const ready = (story: Story, ip: string) => {
    const now = clock.now();
    const since = [...(routes.get(ip)?.values() ?? [])];
    const heldMs = Math.max(0, now - (story.containersReadyAt ?? now));
    const sinceLastRouteMs = since.length === 0 ? null : Math.max(0, now - Math.max(...since));
    parts.onReady?.({ pod: story.name, ip, heldMs, routes: since.length, sinceLastRouteMs });
    const what = story.isReplacement ? 'replaced' : 'started';
    const count = `${since.length} of ${serviceCount} routes`;
    if (!parts.isGated) return print(`${story.name} ${what}; Ready at once, with ${count}`);
    const detection =
      sinceLastRouteMs === null ? '' : ` (${inSeconds(sinceLastRouteMs)} after the last one led to it)`;
    print(
      `${story.name} ${what}; held back until ${count} proven; Ready after ${inSeconds(heldMs)}${detection}`,
    );
  };
  const observe = (pod: PodObject) => {
    const story = stories.get(pod.metadata.uid ?? '') ?? begin(pod);
    const ip = pod.status?.podIP ?? '';
    if (story.containersReadyAt === undefined && isTrue(pod, 'ContainersReady') && !isDeleting(pod)) {
      story.containersReadyAt = clock.now();
      story.warning = clock.after(patienceMs, () => warn(story, ip));
    }
    if (story.isReady || !isTrue(pod, 'Ready')) return;
    story.isReady = true;
    story.warning?.cancel();
    ready(story, ip);
  };
  const forget = (pod: PodObject) => {
    stories.get(pod.metadata.uid ?? '')?.warning?.cancel();
    stories.delete(pod.metadata.uid ?? '');
  };

  const stopRoutes = parts.routing.onEvent(onRoute);
  const informer = startInformer<PodObject>({
    ...parts,
    resource: pods,
    onChange: ({ type, object }) => (type === 'set' ? observe(object) : forget(object)),
  });
  return {
    async stop() {
      stopRoutes();
      await informer.stop();
      for (const story of stories.values()) story.warning?.cancel();
    },
  };
}
