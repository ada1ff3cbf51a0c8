/**
 * The Ingress or HTTPRoute that routes a host's challenge path to Orrery's Service during a proof
 * (docs/features/certificates.md, Challenges).
 *
 * It is in the namespace of that Service, because an Ingress cannot route elsewhere. Promises: an object
 * without our label is never touched; creating and removing are idempotent. Left-overs are found by their
 * label and the time until which they are wanted.
 */

import type { Clock } from '../../../base/clock.ts';
import { hasCode, OrreryError } from '../../../base/errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../../../base/kube-port.ts';
import { kubeTime } from '../../../base/kube-time.ts';
import { unlessGone } from '../../../kube/api/absent.ts';
import { kubeResource } from '../../../kube/api/resources.ts';
import { preconditions } from '../../../kube/effects/object-edit.ts';
import type { GatewayExhibit, IngressExhibit } from '../../../machines/domain/exhibit.ts';
import { hostLabel } from '../hosts.ts';

type RouteExhibit = IngressExhibit | GatewayExhibit;

const ingresses = kubeResource('networking.k8s.io/v1', 'ingresses', 'Ingress');
const httpRoutes = kubeResource('gateway.networking.k8s.io/v1', 'httproutes', 'HTTPRoute');

const challengeLabel = 'orrery.dev/challenge';
const untilAnnotation = 'orrery.dev/until';
const fieldManager = 'orrery';
const challengePath = '/.well-known/acme-challenge/';
/** Longer than any attempt. */
const wantedMs = 15 * 60_000;

const resourceOf = ({ kind }: RouteExhibit) => (kind === 'ingress' ? ingresses : httpRoutes);

export const routeName = (host: string) => `acme-${hostLabel(host)}`;

/** @throws OrreryError ACME_REFUSED if an object with that name is somebody else's; KUBE_… */
export async function makeRoute(
  kube: KubePort,
  exhibit: RouteExhibit,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const resource = resourceOf(exhibit);
  const { namespace } = exhibit.service;
  const body = objectOf(exhibit, clock.now() + wantedMs);
  try {
    await kube.create(resource, body, signal);
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
    const there = await kube.get(resource, namespace, exhibit.name, signal);
    if (!isOurs(there)) {
      const place = `${resource.kind} ${namespace}/${exhibit.name}`;
      throw new OrreryError(
        'ACME_REFUSED',
        `${place} exists without the label ${challengeLabel} and is left alone`,
      );
    }
    const options = {
      namespace,
      name: exhibit.name,
      type: 'apply',
      body,
      fieldManager,
      force: true,
    } as const;
    await kube.patch(resource, options, signal);
  }
}

export async function removeRoute(kube: KubePort, exhibit: RouteExhibit, signal: AbortSignal): Promise<void> {
  const { namespace } = exhibit.service;
  const resource = resourceOf(exhibit);
  const there = await unlessGone(kube.get(resource, namespace, exhibit.name, signal));
  if (there !== null && isOurs(there)) await remove(kube, resource, there, signal);
}

/** Removes expired objects of a namespace, whoever created them. @returns their names */
export async function sweepRoutes(
  kube: KubePort,
  namespace: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const removed: string[] = [];
  for (const resource of [ingresses, httpRoutes]) {
    const options = { namespace, labelSelector: challengeLabel };
    // Without the Gateway API there are no routes.
    const list = await unlessGone(kube.list(resource, options, signal));
    for (const object of list?.items ?? []) {
      if (!isOver(object, clock.now())) continue;
      await remove(kube, resource, object, signal);
      removed.push(`${resource.kind} ${namespace}/${object.metadata.name}`);
    }
  }
  return removed;
}

const isOurs = ({ metadata }: KubeObject) => metadata.labels?.[challengeLabel] !== undefined;

/** An object with an unreadable time counts as expired. */
function isOver({ metadata }: KubeObject, now: number): boolean {
  const until = Date.parse(metadata.annotations?.[untilAnnotation] ?? '');
  return Number.isNaN(until) || until < now;
}

/** Only the object that was seen: one that is wanted again meanwhile stays. */
async function remove(
  kube: KubePort,
  resource: KubeResource,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = metadata;
  await unlessGone(kube.delete(resource, namespace, name, preconditions(metadata), signal));
}

/** @param until ms since the epoch */
function objectOf(exhibit: RouteExhibit, until: number): KubeObject {
  const { host, name, service, owner } = exhibit;
  return {
    metadata: {
      name,
      namespace: service.namespace,
      labels: { [challengeLabel]: hostLabel(host), 'app.kubernetes.io/managed-by': 'orrery' },
      annotations: { [untilAnnotation]: kubeTime(until) },
      // A cluster-scoped object may own a namespaced one.
      ownerReferences: [{ apiVersion: 'orrery.dev/v1alpha1', kind: 'Issuer', ...owner }],
    },
    spec: exhibit.kind === 'ingress' ? ingressSpec(exhibit) : routeSpec(exhibit),
  };
}

function ingressSpec({ host, className, service: { name, port } }: IngressExhibit): object {
  const backend = { service: { name, port: { number: port } } };
  return {
    ...(className === null ? {} : { ingressClassName: className }),
    rules: [{ host, http: { paths: [{ path: challengePath, pathType: 'Prefix', backend }] } }],
  };
}

function routeSpec({ host, parentRefs, service: { name, port } }: GatewayExhibit): object {
  return {
    parentRefs,
    hostnames: [host],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: challengePath } }],
        backendRefs: [{ name, port }],
      },
    ],
  };
}
