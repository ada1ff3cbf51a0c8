/**
 * The feature `elections` in one replica: its join, its effects on Leases, and the requests of candidates.
 */

import { shownRecordOf } from '../../actors/control/actor-views.ts';
import { runs } from '../../actors/effect-runner.ts';
import type { EngineView, FeatureParts, FeatureRun, Gauge } from '../../actors/feature.ts';
import { kindOf } from '../../actors/host/cell.ts';
import type { NamespaceGrants } from '../../base/config-values.ts';
import type { ElectionContext } from '../../machines/election/election-context.ts';
import { electionStatusPatch } from '../../machines/election/election-effects.ts';
import { patchElectionStatus } from './effects/election-status.ts';
import { leaseEffects } from './effects/lease-effects.ts';
import { createElectionJoin, createElectionStatusJoin } from './election-join.ts';
import { answerCandidates } from './election-requests.ts';
import { createLeaseStore } from './lease.ts';
import { createLeaseFollower } from './lease-follower.ts';

export interface ElectionsSettings {
  /** By namespace of an Election: further namespaces whose Leases it may use (§7.1). */
  readonly leaseNamespaces: NamespaceGrants;
}

export const startElections = (settings: ElectionsSettings) => (parts: FeatureParts) =>
  start(settings, parts);

function start({ leaseNamespaces }: ElectionsSettings, parts: FeatureParts): FeatureRun {
  const { engine, kube, clock, random, log } = parts;
  const store = createLeaseStore({ kube, clock });
  // Leases are followed by namespace, because one replica may serve a thousand elections.
  const follower = createLeaseFollower({ kube, store, clock, random, log, breadth: 'namespace' });
  const { requests, stop } = answerCandidates(parts);
  return {
    joins: [createElectionJoin(engine.world, leaseNamespaces), createElectionStatusJoin(engine.world)],
    effects: [
      ...leaseEffects({ store, follower, clock }),
      runs(electionStatusPatch, patchElectionStatus(kube)),
    ],
    requests,
    gauges: () => termsIn(engine),
    stop() {
      stop();
      follower.stop();
    },
  };
}

function* termsIn({ shards }: EngineView): Iterable<Gauge> {
  for (const run of shards.open()) {
    for (const cell of run.cells.values()) {
      const record = kindOf(cell) === 'election' ? shownRecordOf(cell) : null;
      if (record === null) continue;
      const { term } = record.snapshot.context as ElectionContext;
      const election = cell.id.slice('election/'.length);
      yield { name: 'orrery_election_term', labels: { election }, value: term };
    }
  }
}
