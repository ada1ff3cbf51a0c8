/**
 * "No endpoint absent that should be there, none that should not": after the last fault the slices of each
 * Service list exactly what its objects say, each endpoint once (docs/features/endpoints.md §2).
 */
import {
  headlessLabel,
  managedBy,
  managedByLabel,
  serviceNameLabel,
} from '../../../src/features/endpoints/slice-labels.ts';
import { endpointSlices, services } from '../../../src/kube/api/resources.ts';
import type { SeenStage } from '../api/seen-api.ts';
import { isHeadless, isLasting, listedIn, slicesOf, wantedOf } from './wanted-endpoints.ts';

/** @param takeOver whose slices must be gone or ours; absent: nobody's */
export function unsettledSlices({ api }: SeenStage, takeOver?: string): readonly string[] {
  const wrong = api
    .all(services)
    .filter(isLasting)
    .flatMap((service) => {
      const { name, labels, uid } = service.metadata;
      const slices = slicesOf(api, name);
      const [wanted, listed] = [wantedOf(api, service), listedIn(slices)];
      if (wanted.join('\n') !== listed.join('\n'))
        return [
          `${name} lists ${listed.join('; ') || 'nothing'} and should list ${wanted.join('; ') || 'nothing'}`,
        ];
      const strayed = slices.find(({ metadata }) => metadata.labels?.team !== labels?.team);
      if (strayed) return [`${strayed.metadata.name} does not carry the labels of ${name}`];
      const mislabelled = slices.find(
        ({ metadata }) => (metadata.labels?.[headlessLabel] === '') !== isHeadless(service),
      );
      if (mislabelled) return [`${mislabelled.metadata.name} does not say whether ${name} is headless`];
      const left = takeOver === undefined ? [] : slicesOf(api, name, [takeOver]);
      if (left.length > 0) return [`${left[0]?.metadata.name} of ${name} was not taken over`];
      const foreign = slices.find(({ metadata }) => metadata.ownerReferences?.[0]?.uid !== uid);
      return foreign ? [`${foreign.metadata.name} does not belong to the present ${name}`] : [];
    });
  const names = new Set(api.all(services).map(({ metadata }) => metadata.name));
  const orphans = api.all(endpointSlices).filter(({ metadata: { labels = {} } }) => {
    return labels[managedByLabel] === managedBy && !names.has(labels[serviceNameLabel] ?? '');
  });
  return [...wrong, ...orphans.map(({ metadata }) => `${metadata.name} is of no Service`)];
}
