/**
 * The simulated routing: which Pods each Service reaches by now, and who answers a call.
 *
 * Each Service learns of each Pod, and forgets it, after delays of its own; a call goes to any of the Pods
 * that it knows, at random. The Pod that has the address at that moment answers: an address may have passed
 * to another Pod. Services may swallow calls (black-holed), and Pods may for a while answer with an error or
 * without naming themselves.
 */

import type { SimProcess } from '../../packages/testing/replicas/process.ts';
import type { Chance } from '../../packages/testing/time/chance.ts';
import type { SimClock } from '../../packages/testing/time/sim-clock.ts';
import type { PodDigest, ServiceDigest } from '../../src/features/routes/digests.ts';
import type { ProbeAnswer, ProbeParts, ProbeTarget } from '../../src/features/routes/probe/call.ts';
import type { SimKube } from './sim-kube.ts';

/** A real answer to a real call. */
export interface Answered {
  readonly service: string;
  readonly serviceUid: string;
  /** The Pod that answered and the address by which it named itself; null: it did not. */
  readonly podUid: string;
  readonly ip: string | null;
  readonly status: number;
}

export interface RoutingParts {
  readonly kube: SimKube;
  readonly clock: SimClock;
  readonly chance: Chance;
  /** Until a Service reaches a new Pod, ms. */
  readonly learnMs: () => number;
  /** Until a Service forgets a Pod that has gone, ms. */
  readonly forgetMs: () => number;
  /** The label by which Pods and Services belong together. */
  readonly groupLabel: string;
  readonly onAnswer: (answered: Answered) => void;
}

interface Backend {
  readonly ip: string;
  /** Whether the Pod is still where it was. */
  wanted: boolean;
}

export class SimRouting {
  /** Services that swallow every call, by name. */
  readonly blackHoled = new Set<string>();
  /** Groups whose Pods never name themselves. */
  readonly anonymousGroups = new Set<string>();
  /** Pods (by uid) that answer with an error. */
  readonly unhealthy = new Set<string>();
  readonly #options: RoutingParts;
  /** Service uid → Pod uid → backend; what is here is programmed. */
  readonly #routes = new Map<string, Map<string, Backend>>();
  readonly #learning = new Set<string>();

  constructor(options: RoutingParts) {
    this.#options = options;
    options.kube.onChange(({ digest }, before) => {
      if (digest?.kind === 'pods' || before?.kind === 'pods') this.#follow();
      if (digest?.kind === 'services' || before?.kind === 'services') this.#follow();
    });
  }

  /** Whether every Service reaches exactly the Pods that it should. */
  get isSettled(): boolean {
    for (const [service, wanted] of this.#wanted()) {
      const routes = this.#routes.get(service) ?? new Map<string, Backend>();
      for (const [pod, ip] of wanted) if (routes.get(pod)?.ip !== ip) return false;
      for (const pod of routes.keys()) if (!wanted.has(pod)) return false;
    }
    return true;
  }

  /** One call of a probe, with the signature of probe/call.ts. */
  callFor(process: SimProcess) {
    return (
      target: ProbeTarget,
      { clock, parseAddress }: ProbeParts,
      signal: AbortSignal,
      onAnswer: (answer: ProbeAnswer) => void,
    ): Promise<void> =>
      new Promise((resolve) => {
        const end = (answer?: ProbeAnswer) => {
          if (isOver) return;
          isOver = true;
          timer.cancel();
          signal.removeEventListener('abort', abort);
          if (answer) onAnswer(answer);
          resolve();
        };
        const abort = () => end();
        let isOver = false;
        const timer = clock.after(target.timeoutMs, () =>
          end({ kind: 'unreachable', error: 'simulated: no answer in time' }),
        );
        if (signal.aborted) return end();
        signal.addEventListener('abort', abort, { once: true });
        const { clock: world, chance } = this.#options;
        world.after(chance.seldomLong(0.3, 30), () => {
          const answer = this.#serve(target, parseAddress);
          if (answer) world.after(chance.seldomLong(0.3, 30), () => process.enter(() => end(answer)));
        });
      });
  }

  /** Who answers now; null: nobody ever does. */
  #serve({ url }: ProbeTarget, parseAddress: ProbeParts['parseAddress']): ProbeAnswer | null {
    const { kube, chance, onAnswer, groupLabel } = this.#options;
    const refused: ProbeAnswer = { kind: 'unreachable', error: 'simulated: connection refused' };
    const service = this.#serviceAt(new URL(url).hostname);
    if (!service) return refused;
    if (this.blackHoled.has(service.name)) return null;
    const backend = chance.pick([...(this.#routes.get(service.digest.uid)?.values() ?? [])]);
    const pod = kube
      .entries('pods')
      .find(({ digest }) => backend !== undefined && addressOf(digest) === backend.ip)?.digest;
    // A Pod that is gone refuses or is silent, as hosts do.
    if (!pod || !backend) return chance.happens(0.7) ? refused : null;
    const isNamed = !this.anonymousGroups.has(pod.labels[groupLabel] ?? '');
    const status = this.unhealthy.has(pod.uid) ? 503 : 200;
    const ip = isNamed ? backend.ip : null;
    onAnswer({ service: service.name, serviceUid: service.digest.uid, podUid: pod.uid, ip, status });
    if (ip === null) return { kind: 'anonymous', status };
    const address = parseAddress(ip);
    return { kind: 'named', status, addresses: address ? [address] : [], unreadable: [] };
  }

  #serviceAt(host: string): { name: string; digest: ServiceDigest } | undefined {
    const bare = host.replace(/^\[|\]$/g, '');
    return this.#options.kube.entries('services').find(({ name, namespace, digest }) => {
      const isName = bare === `${name}.${namespace}.svc.cluster.local`;
      return isName || digest.clusterIPs.some(({ ip }) => ip === bare);
    });
  }

  /** Service uid → Pod uid → address, as it should be. */
  #wanted(): Map<string, Map<string, string>> {
    const { kube, groupLabel } = this.#options;
    const pods = kube.entries('pods').filter(({ digest }) => addressOf(digest) && !digest.deleting);
    return new Map(
      kube.entries('services').map(({ digest: service }) => {
        const members = pods.filter(({ digest }) => digest.labels[groupLabel] === service.labels[groupLabel]);
        return [
          service.uid,
          new Map(members.map(({ digest }) => [digest.uid, addressOf(digest) ?? ''] as const)),
        ] as const;
      }),
    );
  }

  /** Schedules what has to be learned and forgotten. */
  #follow(): void {
    const { clock, learnMs, forgetMs } = this.#options;
    const wanted = this.#wanted();
    for (const [service, pods] of wanted) {
      for (const [pod, ip] of pods) {
        const key = `${service} ${pod} ${ip}`;
        if (this.#routes.get(service)?.get(pod)?.ip === ip || this.#learning.has(key)) continue;
        this.#learning.add(key);
        clock.after(learnMs(), () => {
          this.#learning.delete(key);
          if (this.#wanted().get(service)?.get(pod) !== ip) return;
          const routes = this.#routes.get(service) ?? new Map<string, Backend>();
          this.#routes.set(service, routes.set(pod, { ip, wanted: true }));
        });
      }
    }
    for (const [service, routes] of this.#routes) {
      for (const [pod, backend] of routes) {
        const isWanted = wanted.get(service)?.get(pod) === backend.ip;
        if (isWanted || !backend.wanted) continue;
        backend.wanted = false;
        clock.after(forgetMs(), () => {
          if (this.#routes.get(service)?.get(pod) !== backend) return;
          // It may be wanted again by now, and nobody would learn of it.
          backend.wanted = this.#wanted().get(service)?.get(pod) === backend.ip;
          if (!backend.wanted) this.#routes.get(service)?.delete(pod);
        });
      }
    }
  }
}

function addressOf({ address }: PodDigest): string | null {
  return address !== null && 'ip' in address ? address.ip : null;
}
