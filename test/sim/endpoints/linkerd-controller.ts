/**
 * A model of Linkerd's controller for external workloads, which writes slices for the same Services: one for
 * each family and port, under its own `managed-by`, put right some time after each change of a Service or a
 * workload. It neither sees nor touches slices with another `managed-by`.
 */
import { equal } from '../../../src/base/equal.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import {
  managedByLabel,
  otherWriters,
  serviceNameLabel,
} from '../../../src/features/endpoints/slice-labels.ts';
import { endpointSlices, services } from '../../../src/kube/api/resources.ts';
import type { ActingParts } from '../features/feature-world.ts';
import { endpointsOf, isLasting, type WantedEndpoint } from './wanted-endpoints.ts';

export const [linkerd] = otherWriters;

export interface LinkerdController {
  start(): void;
  stop(): void;
}

export function linkerdController({ stage, chance }: ActingParts, namespace: string): LinkerdController {
  const { api, clock } = stage;
  let isRunning = false;
  let isDue = false;
  let made = 0;
  const own = () =>
    api.all(endpointSlices).filter(({ metadata }) => metadata.labels?.[managedByLabel] === linkerd);
  const put = (service: KubeObject, content: SliceContent) => {
    const { name, uid } = service.metadata;
    const found = own().find((slice) => isFor(slice, name, content));
    if (found !== undefined) {
      if (!equal(found.endpoints, content.endpoints)) api.replace(endpointSlices, { ...found, ...content });
      return found.metadata.name;
    }
    const labels = { [serviceNameLabel]: name, [managedByLabel]: linkerd };
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Service', name, uid, controller: true }];
    const slice = `linkerd-external-${name}-${made++}`;
    api.create(endpointSlices, { metadata: { namespace, name: slice, labels, ownerReferences }, ...content });
    return slice;
  };
  const look = () => {
    isDue = false;
    if (!isRunning) return;
    const kept = api
      .all(services)
      .filter(isLasting)
      .flatMap((service) => contentsOf(endpointsOf(api, service)).map((content) => put(service, content)));
    for (const { metadata } of own())
      if (!kept.includes(metadata.name)) api.remove(endpointSlices, namespace, metadata.name);
  };
  const lookSoon = () => {
    if (!isRunning || isDue) return;
    isDue = true;
    clock.after(chance.seldomLong(5, 1_500), look);
  };
  api.onWrite(({ resource: { plural } }) => {
    if (plural !== endpointSlices.plural) lookSoon();
  });
  return {
    start() {
      isRunning = true;
      lookSoon();
    },
    stop() {
      isRunning = false;
    },
  };
}

interface SliceContent {
  readonly addressType: string;
  readonly ports: readonly object[];
  readonly endpoints: readonly object[];
}

const isFor = (slice: KubeObject, service: string, { addressType, ports }: SliceContent) =>
  slice.metadata.labels?.[serviceNameLabel] === service &&
  slice.addressType === addressType &&
  equal(slice.ports, ports);

function contentsOf(wanted: readonly WantedEndpoint[]): readonly SliceContent[] {
  const groups = Map.groupBy(wanted, ({ family, port }) => `${family} ${port}`);
  return [...groups.values()].map((group) => {
    const [first] = group;
    const ports = first?.port === undefined ? [] : [{ name: 'http', port: first.port, protocol: 'TCP' }];
    return { addressType: first?.family ?? '', ports, endpoints: group.map(endpointOf) };
  });
}

const endpointOf = ({ workload, ips, ready }: WantedEndpoint) => ({
  addresses: ips,
  conditions: { ready, serving: ready, terminating: false },
  targetRef: {
    kind: 'ExternalWorkload',
    name: workload.metadata.name,
    namespace: workload.metadata.namespace,
    uid: workload.metadata.uid,
  },
});
