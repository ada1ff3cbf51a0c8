/**
 * What a release must come to after the last fault: the objects are those of the newest release that still
 * runs, what it lacks is gone, what is not ours is unchanged, and the Release says so.
 */

import { compareReleases } from '../../../src/base/semantic-version.ts';
import { type Bundle, bundleLabel } from '../../../src/features/releases/bundle.ts';
import { releases } from '../../../src/features/releases/resources.ts';
import type { ApiStage } from '../features/feature-world.ts';
import type { RunningReplica } from './release-status.ts';
import { bundleId, configMaps, forgedName, namespace } from './release-world.ts';

interface Status {
  readonly state?: string;
  readonly release?: string;
  readonly lastError?: string | null;
}

export function unsettledRelease(
  { api }: Pick<ApiStage, 'api'>,
  running: readonly RunningReplica[],
): readonly string[] {
  const live = [...running].sort((a, b) => compareReleases(b.release, a.release));
  const leading = live.find(({ bundle, release }) => bundle !== null && release === live[0]?.release);
  const newest = leading?.bundle ?? null;
  if (newest === null) return [];
  const oldest = live.at(-1)?.release ?? newest.release;
  const status = (api.find(releases, undefined, newest.name)?.status ?? {}) as Status;
  // Replicas that cannot live with its changes are waited for as long as they are there.
  if (compareReleases(oldest, newest.minServing) < 0) return [];
  const blocked = blockedObjects({ api }, newest);
  const isForeign = (name: string) => blocked.includes(name);
  const wrong = newest.objects.flatMap(({ metadata: { name } }) => {
    const data = api.find(configMaps, namespace, name)?.data as { release?: string } | undefined;
    return isForeign(name) || data?.release === newest.release
      ? []
      : [`${name} says ${data?.release}, not ${newest.release}`];
  });
  // A failed round prunes nothing.
  const left = api.all(configMaps).filter(({ metadata: { name, labels } }) => {
    const isOurs = labels?.[bundleLabel] === bundleId && name !== forgedName;
    return isOurs && !newest.objects.some((one) => one.metadata.name === name);
  });
  const stray = blocked.length > 0 ? [] : left.map(({ metadata }) => `${metadata.name} is not pruned`);
  const kept = ['theirs', 'plain', forgedName].filter(
    (name) => api.find(configMaps, namespace, name) === null,
  );
  const told =
    blocked.length > 0 || (status.state === 'Done' && status.release === newest.release)
      ? []
      : [
          `the Release says ${status.state} ${status.release}, and ${newest.release} stands (${status.lastError})`,
        ];
  return [...wrong, ...stray, ...kept.map((name) => `${name} was somebody else’s and is gone`), ...told];
}

/** Names in the bundle that somebody else's objects have. */
export function blockedObjects(
  { api }: Pick<ApiStage, 'api'>,
  bundle: Bundle | undefined,
): readonly string[] {
  const names = bundle?.objects.map(({ metadata }) => metadata.name) ?? [];
  return names.filter((name) => {
    const found = api.find(configMaps, namespace, name);
    return found !== null && found.metadata.labels?.[bundleLabel] !== bundleId;
  });
}
