/**
 * What the status of a Release has to say (docs/features/releases.md, “What it reports”): as its actor knows
 * it, and of the replicas, as they run.
 */
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { compareReleases } from '../../../src/base/semantic-version.ts';
import type { Bundle } from '../../../src/features/releases/bundle.ts';
import { releases } from '../../../src/features/releases/resources.ts';
import type { ReleaseContext } from '../../../src/machines/release/release-context.ts';
import type { StatusPromise, Wanted } from '../checkers/true-statuses.ts';
import type { ApiStage } from '../features/feature-world.ts';

/** A replica that runs. */
export interface RunningReplica {
  readonly name: string;
  readonly release: string;
  /** null: it has none. */
  readonly bundle: Bundle | null;
}

/** @param running all replicas at this moment */
export const releaseStatus = (running: () => readonly RunningReplica[]): StatusPromise => ({
  name: 'the Release says how its round stands',
  resource: releases,
  effect: 'release-resource.write',
  withinMs: 90_000,
  // It is written after each round, and each half minute while replicas are in the way.
  noticedMs: 45_000,
  actorOf: ({ metadata }) => `release/_/${metadata.name}`,
  wanted({ snapshot }, object) {
    const { seen, leader, lastError, waitingFor } = snapshot.context as ReleaseContext;
    if (seen.status === null) return null;
    const { state, release } = seen.status;
    return {
      state,
      release,
      leader,
      lastError,
      waitingFor: waitingFor.length === 0 ? null : waitingFor.join('; '),
      ...ofReplicas(object, running()),
    };
  },
});

interface Said {
  readonly state?: string;
  readonly release?: string;
  readonly minimumCompatibleRelease?: string;
  readonly lastError?: string | null;
}

/** Nothing while nobody may lead: then it says what the last leader wrote. */
function ofReplicas({ status }: KubeObject, running: readonly RunningReplica[]): Wanted {
  const leading = leadersIn(running);
  const { bundle } = leading[0] ?? {};
  if (!bundle) return {};
  const said = (status ?? {}) as Said;
  const { state, release, minimumCompatibleRelease: minimum, lastError = null } = said;
  const isDone = state === 'Done' && release === bundle.release && minimum === bundle.minServing;
  return {
    leader: (said: unknown) => leading.some(({ name }) => name === said),
    conditions: {
      Applied: { status: isDone && lastError === null ? 'True' : 'False' },
      AllReplicasServe: { status: running.every((one) => mayServe(one, said)) ? 'True' : 'False' },
      AllReplicasHaveBundle: {
        status: running.every((one) => one.bundle !== null) ? 'True' : 'False',
      },
    },
  };
}

/** Whether a replica can live with the state that was written last (§2.1). */
export function mayServe({ bundle, release }: RunningReplica, said: Said): boolean {
  if (bundle === null) return true;
  const { minimumCompatibleRelease: minimum = '', release: written = '' } = said;
  return compareReleases(release, minimum) >= 0 && compareReleases(written, bundle.minReconciler) >= 0;
}

/** Whether no replica can live with what the Release says was written last. */
export function nobodyServes({ api }: Pick<ApiStage, 'api'>, running: readonly RunningReplica[]): boolean {
  const { bundle } = leadersIn(running)[0] ?? {};
  const said = (bundle && api.find(releases, undefined, bundle.name)?.status) ?? null;
  return said !== null && running.every((one) => !mayServe(one, said as Said));
}

/** Those of the newest release that have a bundle (§2.1). */
function leadersIn(running: readonly RunningReplica[]): readonly RunningReplica[] {
  const isNewest = ({ release }: RunningReplica) =>
    running.every((other) => compareReleases(other.release, release) <= 0);
  return running.filter((one) => one.bundle !== null && isNewest(one));
}
