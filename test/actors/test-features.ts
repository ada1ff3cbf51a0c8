/**
 * The program's features in an engine of a test: their joins, and nothing that acts outside. The test says
 * what effects do.
 */
import type { EngineView, FeatureRun } from '../../src/actors/feature.ts';
import type { Clock } from '../../src/base/clock.ts';
import { createCertificatesJoin } from '../../src/features/certificates/certificates-join.ts';
import { createElectionJoin, createElectionStatusJoin } from '../../src/features/elections/election-join.ts';
import { answerCandidates } from '../../src/features/elections/election-requests.ts';
import { createEndpointsJoin, type EndpointsJoin } from '../../src/features/endpoints/endpoints-join.ts';
import { tellAgain } from '../../src/features/endpoints/start.ts';
import { createProxierJoin } from '../../src/features/proxiers/proxier-join.ts';
import { createRoutesJoin, type RoutesJoin } from '../../src/features/routes/routes-join.ts';
import { createLater } from '../../src/features/routes/start.ts';
import { defaultTimeoutMs } from '../../src/machines/proxier/proxier-context.ts';
import { featuresOf } from '../../src/replica/features.ts';

export const features = featuresOf();

export interface TestFeatures {
  readonly runs: readonly FeatureRun[];
  readonly routes: RoutesJoin;
  readonly endpoints: EndpointsJoin;
}

export function joinsOf(
  engine: EngineView,
  parts: {
    readonly clock: Clock;
    readonly subjects: Parameters<typeof answerCandidates>[0]['subjects'];
    readonly bus: Parameters<typeof answerCandidates>[0]['bus'];
    /** Services hear of new Pods a second later, as in the program. */
    readonly isUnhurried?: boolean;
  },
): TestFeatures {
  const { world } = engine;
  const { clock, isUnhurried = false } = parts;
  const later = isUnhurried ? { later: createLater(clock, (ids) => engine.shards.observe(ids)) } : {};
  const routes = createRoutesJoin({ world, clusterDomain: () => 'cluster.local', ...later });
  const onLapsed = (id: string) => engine.shards.observe([id]);
  const endpoints = createEndpointsJoin({ world, clock, onLapsed });
  const others = [
    createProxierJoin({ world, timeoutMs: defaultTimeoutMs }),
    createElectionJoin(world),
    createElectionStatusJoin(world),
    createCertificatesJoin(world),
  ];
  const candidates = answerCandidates({ ...parts, engine });
  const runs = [routes, endpoints, ...others].map((join): FeatureRun => ({ joins: [join] }));
  const retelling: FeatureRun = { onStep: (transition) => tellAgain(engine.shards, transition) };
  return { runs: [...runs, candidates, retelling], routes, endpoints };
}
