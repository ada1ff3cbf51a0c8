/**
 * The world of proxiers: nodes whose service proxies report through the library, keep up, fall behind, fall
 * silent and come back; Nodes that are marked, deleted and created anew; and a load balancer that asks every
 * replica.
 */
import type { StartFeature } from '../../../src/actors/feature.ts';
import { proxiers } from '../../../src/features/proxiers/feature.ts';
import { answerForProxiers } from '../../../src/features/proxiers/node-health-http.ts';
import { nodeEndpoint } from '../../../src/features/proxiers/node-request.ts';
import { createProxierJoin } from '../../../src/features/proxiers/proxier-join.ts';
import { nodes } from '../../../src/features/proxiers/resources.ts';
import type { FeatureSimulation, FeatureWorld, WorldParts } from '../features/feature-world.ts';
import { trueAnswers } from './checkers/true-answers.ts';
import { createLoadBalancer, type Endpoint } from './load-balancer.ts';
import { families, NodeProxy } from './node-proxy.ts';
import { proxierActions } from './proxier-actions.ts';
import { isNearlyLate, timeoutMs, wantedStatus } from './wanted-health.ts';

/** The largest error of the replicas' clocks, ms. */
const skewMaxMs = 200;

export const proxierSimulation: FeatureSimulation = {
  name: 'proxiers',
  kinds: [nodes],
  // The answering replica's clock decides what is late, so the clocks of replicas must be right. In hours
  // without anybody, what was on its way would be stored hours late.
  without: ['clockSet', 'away'],
  skewMaxMs,
  create: createProxiers,
};

/** The right answer about a node. */
export interface WantedAnswer {
  readonly key: string;
  readonly status: 200 | 503 | 404;
  /** Whether the replica can know it, and no clock says otherwise. */
  readonly isSaid: boolean;
}

export interface ProxierScene {
  readonly proxies: readonly NodeProxy[];
  /** Nodes that their proxiers have seen: one that came and went unseen is not known to be gone (§3.2). */
  readonly seen: Set<string>;
  wanted(): readonly WantedAnswer[];
  isHeard(node: string): boolean;
}

function createProxiers(parts: WorldParts): FeatureWorld {
  const { stage, chance, say } = parts;
  const names = Array.from({ length: chance.int(1, 3) }, (_, n) => `node-${n}`);
  const proxies: NodeProxy[] = [];
  const seen = new Set<string>();
  const scene: ProxierScene = {
    proxies,
    seen,
    wanted: () =>
      proxies.flatMap((proxy) =>
        (['healthz', 'livez'] as const satisfies readonly Endpoint[]).map((endpoint) => ({
          key: `${proxy.node} ${endpoint}`,
          isSaid: !proxy.isCut && !isNearlyLate(stage, proxy, 2 * skewMaxMs),
          status: proxy.isForgotten ? 404 : wantedStatus(stage, proxy, endpoint, seen.has(proxy.node)),
        })),
      ),
    isHeard: (node) => proxies.some((one) => one.node === node && one.heardAt !== null),
  };
  const balancer = createLoadBalancer(parts, names);
  const actions = proxierActions(parts, scene);
  const start: StartFeature = (given) => {
    const http = answerForProxiers(given, timeoutMs);
    balancer.serve(given.incarnation, http);
    const join = createProxierJoin({ world: given.engine.world, timeoutMs });
    return { joins: [join], http, requests: [nodeEndpoint(given)] };
  };
  return {
    uses: () => [{ feature: proxiers({ timeoutMs }), start }],
    checkers: [trueAnswers(stage, scene, balancer)],
    begin() {
      for (const node of names) {
        if (chance.happens(0.8)) makeNode(parts, node);
        proxies.push(new NodeProxy({ stage, node, chance: chance.of(node) }));
      }
      balancer.begin();
    },
    act() {
      const action = chance.pick(actions);
      const what = action?.[1]();
      if (what) say(`${action?.[0]}: ${what}`);
    },
    heal() {
      for (const proxy of proxies) {
        proxy.setLink('up');
        proxy.mend();
        // One that falls behind for good should be reported as late, as long as nobody mends it.
        const family = chance.pick(chance.happens(0.4) ? families : []);
        if (family) proxy.fallBehind(family);
      }
    },
    unsettled() {
      const now = stage.clock.now();
      return scene.wanted().flatMap(({ key, status }) => {
        const last = balancer.answers.get(key);
        if (last === undefined || now - last.askedAt > balancer.freshMs) return [`nobody answers for ${key}`];
        return last.status === status ? [] : [`${key} is ${status}, ${last.replica} answers ${last.status}`];
      });
    },
  };
}

export function makeNode({ stage }: WorldParts, name: string): string | null {
  if (stage.api.find(nodes, undefined, name) !== null) return null;
  stage.api.create(nodes, { metadata: { name }, spec: {} });
  return name;
}
