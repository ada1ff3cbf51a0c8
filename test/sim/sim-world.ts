/** The world of routes: the stage, plus Kubernetes, its mirror and the routing. */

import {
  type BrokerTimes,
  createStage,
  type Stage,
  type StageParts,
} from '../../packages/testing/simulation/stage.ts';
import type { Chance } from '../../packages/testing/time/chance.ts';
import { type KubeWeather, kubeWeather, SimKube } from './sim-kube.ts';
import { SimMirror } from './sim-mirror.ts';
import { SimRouting } from './sim-routing.ts';

/** The label that assigns Pods and Services to a group. */
export const groupLabel = 'group';

/** How slow things are, ms; each time is drawn up to these. */
export interface Times extends BrokerTimes {
  readonly mirrorDelayMaxMs: number;
  readonly learnMaxMs: number;
}

export interface SimWorld extends Stage {
  readonly kube: SimKube;
  readonly mirror: SimMirror;
  readonly routing: SimRouting;
  readonly weather: KubeWeather;
  /** The share of requests to Kubernetes that fail; faults change it. */
  kubeErrors: number;
}

export function createSimWorld(options: StageParts & { readonly times: Times }): SimWorld {
  const { chance, times, see } = options;
  const network = chance.of('network');
  const stage = createStage(options, network);
  const { clock, hub, subjects } = stage;
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
    ...stage,
    kube,
    mirror,
    routing,
    weather: weatherOf(chance, () => world.kubeErrors),
    kubeErrors: 0,
  };
  return world;
}

const weatherOf = (chance: Chance, errorShare: () => number) => kubeWeather(chance.of('weather'), errorShare);
