/** The declarations of the program's features, as its mirrors have them. */
import type { WorldEntry } from '../../../src/base/digests.ts';
import type { KubeResource } from '../../../src/base/kube-port.ts';
import { kindText, type MergedWatch, mergeOne, watchesOf } from '../../../src/kube/mirror/merged-watch.ts';
import { createInterest, type MirrorInterest } from '../../../src/kube/mirror/mirror-interest.ts';
import { featuresOf } from '../../../src/replica/features.ts';

const features = featuresOf();
const watches = new Map(watchesOf(features).map((watch) => [kindText(watch.resource), watch]));

/** A kind that no feature declares is watched like one that a feature comes to name. */
export function watchOf(resource: KubeResource): MergedWatch {
  const kind = kindText(resource);
  const slash = kind.lastIndexOf('/');
  const named = { apiVersion: kind.slice(0, slash), kind: kind.slice(slash + 1) };
  const declared = watches.get(kind);
  return declared ?? mergeOne(features.flatMap(({ namedWatches }) => namedWatches?.declare(named) ?? []));
}

/** @param told what the world says beforehand */
export function interestIn(resource: KubeResource, told: readonly WorldEntry[] = []): MirrorInterest {
  const interest = createInterest(watchOf(resource), resource);
  for (const entry of told) interest.fold(entry);
  return interest;
}
