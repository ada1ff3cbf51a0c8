/**
 * What a cluster's garbage collector does for slices whose Service is gone; a kube-apiserver alone has none.
 */

import type { KubeObject } from '../../src/base/kube-port.ts';
import { endpointSlices, services } from '../../src/kube/api/resources.ts';
import type { ActedApi } from '../sim/api/seen-api.ts';

export function collectSlices(api: ActedApi): void {
  const isOwned = ({ metadata: { ownerReferences = [] } }: KubeObject) => {
    const [owner] = ownerReferences;
    return owner === undefined || api.all(services).some(({ metadata }) => metadata.uid === owner.uid);
  };
  const collect = (slice: KubeObject) => {
    const { namespace, name } = slice.metadata;
    if (!isOwned(slice)) api.remove(endpointSlices, namespace, name);
  };
  api.onWrite(({ resource, after }) => {
    if (resource === endpointSlices && after !== null) collect(after);
    if (resource === services && after === null) for (const slice of api.all(endpointSlices)) collect(slice);
  });
}
