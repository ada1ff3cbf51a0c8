/**
 * What an ingress controller and a gateway do, as far as challenges need it: a request for a host goes
 * wherever an Ingress or an HTTPRoute of the cluster says at that moment.
 */
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { customResourceDefinitions } from '../../../packages/dev-cluster/resources.ts';
import type { KubeObject, KubePort, KubeResource } from '../../../src/base/kube-port.ts';
import { until } from '../../until.ts';

const networking = { group: 'networking.k8s.io', version: 'v1', namespaced: true };
export const ingresses: KubeResource = { ...networking, plural: 'ingresses', kind: 'Ingress' };
export const httpRoutes: KubeResource = {
  group: 'gateway.networking.k8s.io',
  version: 'v1',
  plural: 'httproutes',
  kind: 'HTTPRoute',
  namespaced: true,
};
const { signal } = new AbortController();

/** The Gateway API's own definition is large; only its shape matters here. */
export async function installHttpRoutes(kube: KubePort): Promise<void> {
  const { group, plural, kind } = httpRoutes;
  const names = { plural, singular: 'httproute', kind, listKind: `${kind}List` };
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    },
  };
  const versions = [{ name: 'v1', served: true, storage: true, schema }];
  const spec = { group, scope: 'Namespaced', names, versions };
  // The real API server protects the group: kubernetes.io/docs/reference/labels-annotations-taints.
  const annotations = { 'api-approved.kubernetes.io': 'unapproved, a stand-in for tests' };
  await kube.create(
    customResourceDefinitions,
    { metadata: { name: `${plural}.${group}`, annotations }, spec },
    signal,
  );
  await until(
    () =>
      kube.list(httpRoutes, {}, signal).then(
        () => true,
        () => false,
      ),
    { what: 'HTTPRoutes' },
  );
}

interface Backend {
  readonly name: string;
  readonly port: number;
}

export interface ChallengeRouter {
  readonly url: string;
  /** Requests that were routed, by the kind of object that said so: `Ingress shop/orrery:8089`. */
  readonly led: string[];
  stop(): void;
}

/** @param answerers where the Service's port leads */
export async function startRouter(
  kube: KubePort,
  answerers: () => readonly string[],
): Promise<ChallengeRouter> {
  const led: string[] = [];
  const server = createServer(async (request, response) => {
    const found = await backendFor(kube, request.headers.host ?? '', request.url ?? '');
    const [answerer] = answerers();
    if (found === null || answerer === undefined) return void response.writeHead(404).end();
    led.push(found);
    const out = httpRequest(`${answerer}${request.url}`, (answer) => {
      response.writeHead(answer.statusCode ?? 502);
      answer.pipe(response);
    });
    out.on('error', () => response.writeHead(502).end());
    out.end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, led, stop: () => void server.close() };
}

async function backendFor(kube: KubePort, hostHeader: string, path: string): Promise<string | null> {
  const host = hostHeader.replace(/:\d+$/, '');
  for (const [resource, read] of [
    [ingresses, ingressBackend],
    [httpRoutes, routeBackend],
  ] as const) {
    const { items } = await kube.list(resource, {}, signal).catch(() => ({ items: [] }));
    for (const object of items) {
      const backend = read(object.spec as never, host, path);
      if (backend) return `${resource.kind} ${object.metadata.namespace}/${backend.name}:${backend.port}`;
    }
  }
  return null;
}

interface IngressSpec {
  readonly rules: ReadonlyArray<{
    readonly host: string;
    readonly http: {
      readonly paths: ReadonlyArray<{
        readonly path: string;
        readonly backend: {
          readonly service: { readonly name: string; readonly port: { readonly number: number } };
        };
      }>;
    };
  }>;
}

function ingressBackend({ rules }: IngressSpec, host: string, path: string): Backend | undefined {
  const paths = rules.filter((rule) => rule.host === host).flatMap((rule) => rule.http.paths);
  const service = paths.find((one) => path.startsWith(one.path))?.backend.service;
  return service && { name: service.name, port: service.port.number };
}

interface RouteSpec {
  readonly hostnames: readonly string[];
  readonly rules: ReadonlyArray<{
    readonly matches: ReadonlyArray<{ readonly path: { readonly value: string } }>;
    readonly backendRefs: readonly Backend[];
  }>;
}

function routeBackend({ hostnames, rules }: RouteSpec, host: string, path: string): Backend | undefined {
  if (!hostnames.includes(host)) return undefined;
  return rules.find((rule) => rule.matches.some((match) => path.startsWith(match.path.value)))
    ?.backendRefs[0];
}

/** Names of the objects with the label of challenges. */
export async function routesLeft(kube: KubePort, namespace: string): Promise<string[]> {
  const lists = await Promise.all(
    [ingresses, httpRoutes].map((one) =>
      kube.list(one, { namespace, labelSelector: 'orrery.dev/challenge' }, signal),
    ),
  );
  return lists.flatMap(({ items }: { readonly items: readonly KubeObject[] }) =>
    items.map(({ metadata }) => metadata.name),
  );
}
