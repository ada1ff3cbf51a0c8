/**
 * The world of RouteGates: one that holds Pods and at times a second of the same condition, edited, broken
 * and created anew; Pods with and without the readiness gate, Services with and without the port, and a
 * routing that learns of each Pod after a while. The mirrors, the joins, the samplers and the patches are the
 * real ones.
 */
import { runs } from '../../../src/actors/effect-runner.ts';
import type { StartFeature } from '../../../src/actors/feature.ts';
import { sampleRoutes } from '../../../src/features/routes/effects/route-sample.ts';
import { routes } from '../../../src/features/routes/feature.ts';
import { FairLimiter } from '../../../src/features/routes/probe/limiter.ts';
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import { startRoutes } from '../../../src/features/routes/start.ts';
import { endpointSlices, services } from '../../../src/kube/api/resources.ts';
import { routeSample, routeWiden } from '../../../src/machines/service/route-effects.ts';
import type { SimApi } from '../api/sim-api.ts';
import { idsOf, objectOf } from '../checkers/lives-as-its-object.ts';
import type { FeatureSimulation, FeatureWorld, WorldParts } from '../features/feature-world.ts';
import { gateActions, letPass } from './gate-actions.ts';
import {
  conditionOf,
  conditionTypes,
  drawnGates,
  gatesOf,
  ipOf,
  isHolding,
  isOver,
  makeGate,
  makePod,
  makeService,
  namespace,
} from './gate-objects.ts';
import { GateRouting } from './gate-routing.ts';
import { gateStatus, holderIn, isInvalid, podCondition } from './gate-statuses.ts';

export const groups = ['a', 'b'] as const;

export const gateSimulation: FeatureSimulation = {
  name: 'routegates',
  kinds: [pods, services, endpointSlices, routeGates],
  // The counting replica's clock decides how long a wait is.
  without: ['clockSet', 'away'],
  skewMaxMs: 200,
  standing: ['route.sample'],
  create: createGates,
};

export interface GateScene {
  readonly routing: GateRouting;
  freshIp(): string;
  /** Creates what is there at the beginning; what is there already stays. */
  makeAll(): void;
}

function createGates(parts: WorldParts): FeatureWorld {
  const { stage, chance, say, profile } = parts;
  const { api } = stage;
  const routing = new GateRouting(stage, chance.of('routing'), Math.min(profile.learnMaxMs, 5_000));
  let addresses = 0;
  const freshIp = () => `10.0.${(++addresses >> 8) & 255}.${addresses & 255}`;
  const makeAll = () => makeObjects(parts, freshIp);
  const scene: GateScene = { routing, freshIp, makeAll };
  const actions = gateActions(parts, scene);
  const start: StartFeature = (given) => {
    const run = startRoutes({})(given);
    const { clock } = given;
    const call = routing.call.bind(routing);
    const { sample, widen } = sampleRoutes({ limiter: new FairLimiter(clock), clock, call });
    const own = [runs(routeSample, sample), runs(routeWiden, widen)];
    const others = (run.effects ?? []).filter(({ type }) => own.every((one) => one.type !== type));
    return { ...run, effects: [...others, ...own] };
  };
  return {
    uses: () => [{ feature: routes(), start }],
    checkers: [],
    mayWait: (id, { snapshot }) => isWaiting(api, id, snapshot.value),
    statuses: [gateStatus(stage), ...conditionTypes.map((type) => podCondition(stage, type))],
    lives: [
      { kind: 'routegate', objects: () => idsOf('routegate', api.all(routeGates)) },
      { kind: 'pod', objects: () => idsOf('pod', api.all(pods)), isSparse: true },
      { kind: 'service', objects: () => idsOf('service', api.all(services)), isSparse: true },
    ],
    begin: makeAll,
    act() {
      const action = chance.pick(actions);
      const what = action?.[1]();
      if (what) say(`${action?.[0]}: ${what}`);
    },
    heal() {
      routing.blackHoled.clear();
      routing.odd.clear();
      letPass(api);
      for (const { metadata, spec } of api.all(routeGates))
        if (isInvalid({ metadata, spec })) api.remove(routeGates, metadata.namespace, metadata.name);
      if (api.all(routeGates).length === 0) makeGate(api, 'web');
      actions.find(([name]) => name === 'addresses given')?.[1]();
    },
    unsettled: () =>
      api.all(pods).flatMap((pod) =>
        gatesOf(pod).flatMap((type) => {
          if (isOver(pod) || holderIn(stage, type) === undefined) return [];
          const { status, reason } = conditionOf(pod, type) ?? {};
          const what = `${type} of ${pod.metadata.name}`;
          return status === 'True' ? [] : [`${what} is ${status} ${reason}, and nothing is owed`];
        }),
      ),
  };
}

/** What is there at the beginning; what is there already stays. */
function makeObjects({ stage: { api }, chance }: WorldParts, freshIp: () => string): void {
  if (api.find(routeGates, namespace, 'web') === null) makeGate(api, 'web');
  for (const group of groups) {
    for (let n = 0; n < chance.int(0, 2); n++) {
      const [name, hasPort] = [`svc-${group}-${n}`, chance.happens(0.8)];
      if (api.find(services, namespace, name) === null) makeService(api, name, group, hasPort);
    }
    for (let n = 0; n < chance.int(1, 2); n++) {
      const [name, gates] = [`pod-${group}-${n}`, drawnGates(chance)];
      if (api.find(pods, namespace, name) === null) makePod(api, name, { group, ip: freshIp(), gates });
    }
  }
}

/**
 * "A Pod without an address waits for one", and with `whenUnverifiable: hold` one whose routes cannot be
 * verified for a Service that can be (docs/features/routes.md §2.9, §5.3); so does a RouteGate that counts it
 * among those that wait.
 */
function isWaiting(api: SimApi, id: string, state: unknown): boolean {
  const { gated, reported } = state as {
    readonly gated?: { readonly waitingForAddress?: unknown; readonly proving?: unknown };
    readonly reported?: unknown;
  };
  const [kind, namespace, name = ''] = objectOf(id).split('/');
  const isAnyHolding = api.all(routeGates).some(isHolding);
  if (kind === 'routegate') {
    const isAnyWithout = api.all(pods).some((one) => gatesOf(one).length > 0 && ipOf(one) === null);
    return (reported === 'waiting' || reported === 'troubled') && (isAnyHolding || isAnyWithout);
  }
  if (kind === 'service') return isAnyHolding;
  const pod = kind === 'pod' ? api.find(pods, namespace, name) : null;
  if (pod !== null && isAnyHolding && gated?.proving !== undefined) return true;
  return gated?.waitingForAddress !== undefined && pod !== null && ipOf(pod) === null;
}
