/** A view of the API server in which only objects with a label exist: the server itself leaves out the others. */
import type { KubePort } from './port.ts';

export function labelled(kube: KubePort, label: string): KubePort {
  return {
    ...kube,
    list: (resource, options, signal) => kube.list(resource, { ...options, labelSelector: label }, signal),
    watch: (resource, options, onEvent, signal) =>
      kube.watch(resource, { ...options, labelSelector: label }, onEvent, signal),
  };
}
