/** The Kubernetes resources that this feature watches. */
import type { Interest, NamedKind, WatchDeclaration } from '../../actors/world/watch-declaration.ts';
import { asDigest } from '../../base/digests.ts';
import { services } from '../../kube/api/resources.ts';
import { carriedOver, domainPart, ingressPart, issuerPart, secretPart, servicePart } from './digest.ts';
import type { ServiceDigest } from './digests.ts';
import { namespaces, secrets } from './resources.ts';

const own = (kind: string): NamedKind => ({ apiVersion: 'orrery.dev/v1alpha1', kind });
const ingress: NamedKind = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' };

export const watches: readonly WatchDeclaration[] = [
  {
    resource: services,
    name: 'services',
    digest: servicePart,
    carry: carriedOver,
    interest: servicesThatServe,
  },
  // Only Secrets with a certificate of ours; the API server leaves out all others.
  { resource: secrets, label: 'orrery.dev/domain', withoutLabels: true, digest: secretPart },
  // Only their labels, by which Issuers select them.
  { resource: namespaces, digest: () => ({}) },
  { resource: own('Issuer'), digest: issuerPart },
  { resource: own('Domain'), digest: domainPart },
  { resource: ingress, withoutLabels: true, digest: ingressPart },
];

/** Services that want hosts served. */
function servicesThatServe(): Interest {
  return {
    tellers: [],
    fold: () => 'nothing',
    wants: (_namespace, _name, digest) => asDigest<ServiceDigest>(digest, 'services')?.serve !== undefined,
  };
}
