/**
 * The EndpointSlice controller's part: keeps the slices of Services with selectors (endpoint-slices.ts says
 * what they contain).
 *
 * Owns only slices labelled as its own. Promises: a slice that is right is not written; creates and updates
 * come before deletes, so that an endpoint that moves is never absent. With `onlyAnnotated`, for clusters
 * that have a controller manager, it serves only Services with `dev.orrery.dev/publish`.
 */
import { hasCode } from '../../../src/base/errors.ts';
import { services, endpointSlices as sliceResource } from '../../../src/kube/api/resources.ts';
import {
  devAnnotation,
  type EndpointSliceObject,
  isDeleting,
  keyOf,
  type PodObject,
  type ServiceObject,
} from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { pods as podResource } from '../resources.ts';
import {
  isSameEndpoint,
  isSameSlice,
  managedBy,
  managedByLabel,
  serviceLabel,
  slicesOf,
} from './endpoint-slices.ts';
import { startInformer } from './informer.ts';
import { createReconciler } from './reconciler.ts';
import { createSelections } from './selections.ts';
import { deleteThis } from './workload-parts.ts';

/**
 * The first change is written at once, those of a burst together. The pause, in ms, grows with the work of a
 * run.
 */
const restMs = 50;
const restMsPerEndpoint = 0.5;

export interface EndpointsParts extends DevParts {
  readonly onlyAnnotated?: boolean;
}

export interface Endpoints extends DevPart {
  readonly started: Promise<void>;
}

export function startEndpoints(parts: EndpointsParts): Endpoints {
  const { kube } = parts;
  const isOurs = (service: ServiceObject) =>
    (service.spec?.selector !== undefined && parts.onlyAnnotated !== true) ||
    devAnnotation(service, 'publish') !== undefined;
  const heldBy = (key: string) => slices.inGroup(key).filter((slice) => !isDeleting(slice));

  const restFor = (key: string) =>
    heldBy(key).reduce((sum, slice) => sum + (slice.endpoints?.length ?? 0) * restMsPerEndpoint, restMs);

  const reconcile = async (key: string, signal: AbortSignal) => {
    await synced;
    const service = serviceInformer.get(key);
    const isServed = service !== undefined && !isDeleting(service) && isOurs(service);
    const held = heldBy(key);
    const wanted = new Map(isServed ? slicesOf(service, selections.podsOf(key), held) : []);
    for (const slice of wanted.values()) await write(slice, signal);
    for (const slice of held)
      if (!wanted.has(slice.metadata.name)) await deleteThis(parts, sliceResource, slice, signal);
  };

  const write = async (wanted: EndpointSliceObject, signal: AbortSignal) => {
    const held = slices.get(keyOf(wanted));
    if (held !== undefined && isSameSlice(held, wanted)) return;
    try {
      if (held === undefined) slices.put(await kube.create(sliceResource, wanted, signal));
      else slices.put(await kube.replace(sliceResource, over(held, wanted), signal));
    } catch (thrown) {
      // The namespace or the Service is being deleted: its slices go with it.
      if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
    }
  };

  const queue = createReconciler({ ...parts, name: 'endpoints', reconcile, restMs: restFor });
  const selections = createSelections();
  const serviceInformer = startInformer<ServiceObject>({
    ...parts,
    resource: services,
    onChange({ type, object }) {
      selections.setService(object, type === 'gone');
      queue.enqueue(keyOf(object));
    },
  });
  const pods = startInformer<PodObject>({
    ...parts,
    resource: podResource,
    onChange(change) {
      const keys = selections.setPod(change.object, change.type === 'gone');
      for (const key of isSameEndpoint(change) ? [] : keys) queue.enqueue(key);
    },
  });
  const slices = startInformer<EndpointSliceObject>({
    ...parts,
    resource: sliceResource,
    labelSelector: `${managedByLabel}=${managedBy}`,
    groupOf: serviceKeyOf,
    onChange: ({ object }) => queue.enqueue(serviceKeyOf(object)),
  });
  const informers = [serviceInformer, pods, slices];
  const synced = Promise.all(informers.map((informer) => informer.synced)).then(() => undefined);

  return {
    started: synced,
    async stop() {
      await Promise.all(informers.map((informer) => informer.stop()));
      await queue.stop();
    },
  };
}

function serviceKeyOf(slice: EndpointSliceObject): string {
  return `${slice.metadata.namespace ?? ''}/${slice.metadata.labels?.[serviceLabel] ?? ''}`;
}

/** Conditional on the version that was compared. */
function over(held: EndpointSliceObject, wanted: EndpointSliceObject): EndpointSliceObject {
  const { resourceVersion = '', uid = '' } = held.metadata;
  return { ...wanted, metadata: { ...wanted.metadata, resourceVersion, uid } };
}
