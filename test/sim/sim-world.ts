/**
 * Everything that the simulated replicas share: time, the broker, Kubernetes, its mirror and the routing; and
 * the eye that sees it all.
 */

import type { Chance } from '../../packages/testing/time/chance.ts';
import { shardCount } from '../../src/base/limits.ts';
import type { StreamName } from '../../src/bus/bus.ts';
import { type MemoryHub, memoryHub } from '../../src/bus/memory/hub.ts';
import { streamDefinitions } from '../../src/bus/streams.ts';
import { type Subjects, subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { createLedger, type See } from './sightings.ts';
import { SimClock } from './sim-clock.ts';
import { type KubeWeather, kubeWeather, SimKube } from './sim-kube.ts';
import { SimMirror } from './sim-mirror.ts';
import { SimRouting } from './sim-routing.ts';

/** By this label Pods and Services belong to a group. */
export const groupLabel = 'group';

/** How slow things are, ms; every time is drawn up to these. */
export interface Times {
  readonly latencyMaxMs: number;
  readonly followLagMaxMs: Readonly<Partial<Record<StreamName, number>>>;
  readonly mirrorDelayMaxMs: number;
  readonly learnMaxMs: number;
}

export type Trace = (who: string, facts: object, message: string) => void;

export interface SimWorld {
  readonly clock: SimClock;
  readonly subjects: Subjects;
  /** How many there are. */
  readonly shards: number;
  readonly hub: MemoryHub;
  readonly kube: SimKube;
  readonly mirror: SimMirror;
  readonly routing: SimRouting;
  readonly weather: KubeWeather;
  readonly see: See;
  /** Takes the replicas' log lines; null: nobody reads them. */
  readonly trace: Trace | null;
  lagMs(stream: StreamName): number;
  /** The share of requests to Kubernetes that fail; changed by the faults. */
  kubeErrors: number;
}

export function createSimWorld(options: {
  readonly chance: Chance;
  readonly times: Times;
  readonly see: See;
  readonly trace?: Trace | null;
  /** Absent: as many as the program has. */
  readonly shards?: number;
}): SimWorld {
  const { chance, times, see, shards = shardCount } = options;
  const clock = new SimClock();
  const subjects = subjectsOf('sim');
  const network = chance.of('network');
  const lags = chance.of('lags');
  const hub = memoryHub({
    clock,
    cluster: 'sim',
    streams: streamDefinitions('sim', shards),
    // Which client is served next follows from the delays drawn here; no connection overtakes itself
    // (memory-link.ts).
    schedule: (fn) => void clock.after(network.seldomLong(0.01, times.latencyMaxMs), fn),
  });
  hub.observe(createLedger(subjects, see));
  const kube = new SimKube(clock);
  const delays = chance.of('mirror');
  const routing = new SimRouting({
    kube,
    clock,
    chance: chance.of('routing'),
    learnMs: () => network.between(0, times.learnMaxMs),
    forgetMs: () => network.between(0, Math.min(times.learnMaxMs, 3_000)),
    groupLabel,
    onAnswer: (answered) => see({ kind: 'answered', ...answered }),
  });
  const delayMs = () => delays.seldomLong(0.1, times.mirrorDelayMaxMs);
  const mirror = new SimMirror({ hub, subjects, clock, kube, delayMs });
  const world: SimWorld = {
    clock,
    subjects,
    shards,
    hub,
    kube,
    mirror,
    routing,
    see,
    trace: options.trace ?? null,
    weather: kubeWeather(chance.of('weather'), () => world.kubeErrors),
    lagMs: (stream) => lags.seldomLong(0, times.followLagMaxMs[stream] ?? 0),
    kubeErrors: 0,
  };
  return world;
}
