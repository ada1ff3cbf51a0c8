/**
 * `services/<name>/proxy/<path>`: passes a request, or an upgrade to another protocol, to an endpoint of a
 * Service.
 *
 * Owns: finding the endpoint as the real server does (`[scheme:]name[:port]`, the port by name or number, one
 * of the ready endpoints), and the transport in both directions. Promises: the caller's identity stays here:
 * `Authorization` and `X-Remote-*` are removed. Absent: proxies of Pods and nodes, and the rewriting of links
 * in HTML.
 */
import { Agent, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { joinSockets } from '../../../src/base/http/joined-sockets.ts';
import { listAt, numberAt, objectsAt, textAt } from '../json.ts';
import { socketAddress } from '../socket-addresses.ts';
import { ApiError, notFound } from '../status.ts';
import type { StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';

export interface ProxyTarget {
  readonly namespace: string;
  readonly scheme: string;
  readonly service: string;
  readonly port: string;
  /** With the query. */
  readonly path: string;
}

const form = /^\/api\/v1\/namespaces\/([^/]+)\/services\/([^/]+)\/proxy(\/[^?]*)?(\?.*)?$/;

/** @returns undefined if the request is for something else */
export function proxyTarget(url: string): ProxyTarget | undefined {
  const [, namespace, reference, path = '/', query = ''] = form.exec(url) ?? [];
  if (namespace === undefined || reference === undefined) return undefined;
  const parts = decodeURIComponent(reference).split(':');
  const [scheme = '', service = '', port = ''] = parts.length > 2 ? parts : ['', ...parts];
  return { namespace, scheme, service, port, path: path + query };
}

/**
 * Passes the request on and answers as the endpoint does.
 * @throws ApiError 404, 503, before an answer has begun
 */
export async function proxyRequest(
  cluster: Cluster,
  target: ProxyTarget,
  { incoming, body, response }: { incoming: IncomingMessage; body: Buffer; response: ServerResponse },
): Promise<void> {
  const outgoing = open(cluster, target, incoming);
  response.once('close', () => outgoing.destroy());
  outgoing.end(body);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', (error) => reject(unreachable(error)));
  });
  response.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers));
  answer.pipe(response);
}

/**
 * Joins the two connections if the endpoint accepts the other protocol.
 * @throws ApiError as above
 */
export function proxyUpgrade(
  cluster: Cluster,
  target: ProxyTarget,
  { incoming, socket, head }: { incoming: IncomingMessage; socket: Duplex; head: Buffer },
): void {
  const outgoing = open(cluster, target, incoming);
  socket.on('error', () => outgoing.destroy());
  outgoing.once('error', () => socket.destroy());
  // Refused: the answer is an ordinary one, and the connection ends.
  outgoing.once('response', (answer) => {
    socket.write(headText(answer));
    answer.pipe(socket);
  });
  outgoing.once('upgrade', (answer: IncomingMessage, there: Duplex, first: Buffer) => {
    socket.write(headText(answer));
    joinSockets({ socket, head }, { socket: there, head: first });
  });
  outgoing.end();
}

const direct = new Agent({ keepAlive: false });

function open(cluster: Cluster, target: ProxyTarget, incoming: IncomingMessage) {
  const { host, port } = endpointOf(cluster, target);
  const isTls = target.scheme === 'https';
  const options = {
    host,
    port,
    path: target.path,
    method: incoming.method ?? 'GET',
    headers: { ...forwarded(incoming), host: `${host.includes(':') ? `[${host}]` : host}:${port}` },
  };
  // As in the real server, whatever is behind the proxy is not verified.
  return isTls
    ? requestHttps({ ...options, agent: false, rejectUnauthorized: false })
    : requestHttp({ ...options, agent: direct });
}

function endpointOf(cluster: Cluster, target: ProxyTarget): { host: string; port: number } {
  const { namespace, service: name } = target;
  const services = cluster.store.collection('services');
  const service = services.get({ namespace, name })?.object;
  if (service === undefined) throw notFound({ plural: 'services', group: '' }, name);
  const portName = portNameOf(service, target);
  const slices = cluster.store.collection('discovery.k8s.io/endpointslices').list(namespace);
  const found = slices
    .map(({ object }) => object)
    .filter((slice) => slice.metadata.labels?.['kubernetes.io/service-name'] === name)
    .flatMap((slice) => addressesOf(slice, portName));
  const one = found[Math.floor(cluster.random.next() * found.length)];
  if (one === undefined) throw unavailable(`no endpoints available for service ${JSON.stringify(name)}`);
  return one;
}

/** A number is the Service's port; endpoints know ports by name. */
function portNameOf(service: StoredObject, { service: name, port }: ProxyTarget): string {
  const ports = objectsAt(service, 'spec', 'ports');
  if (port === '' && ports.length === 1) return textAt(ports[0], 'name');
  if (!/^\d+$/.test(port)) return port;
  const known = ports.find((one) => numberAt(one, 'port') === Number(port));
  if (known === undefined)
    throw unavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
  return textAt(known, 'name');
}

function addressesOf(slice: StoredObject, portName: string): { host: string; port: number }[] {
  const port = objectsAt(slice, 'ports').find((one) => textAt(one, 'name') === portName);
  const number = numberAt(port, 'port');
  if (number === undefined) return [];
  return objectsAt(slice, 'endpoints')
    .filter((endpoint) => (endpoint.conditions as { ready?: unknown } | undefined)?.ready !== false)
    .flatMap((endpoint) => listAt(endpoint, 'addresses'))
    .map((address) => ({ host: socketAddress(String(address)), port: number }));
}

const hops = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
const own = /^(authorization|x-remote-.*|impersonate-.*|content-length)$/;

function forwarded({ headers, socket, method }: IncomingMessage): NodeJS.Dict<string | string[]> {
  const kept = Object.entries(headers).filter(([name]) => !hops.includes(name) && !own.test(name));
  const { upgrade } = headers;
  return {
    ...Object.fromEntries(kept),
    'x-forwarded-for': socket.remoteAddress ?? '',
    ...(upgrade === undefined || method !== 'GET' ? {} : { connection: 'Upgrade', upgrade }),
  };
}

function withoutHops(headers: IncomingMessage['headers']): NodeJS.Dict<string | string[]> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hops.includes(name)));
}

function headText({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : [],
  );
  return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, '', ''].join('\r\n');
}

function unavailable(message: string): ApiError {
  return new ApiError(503, 'ServiceUnavailable', message);
}

function unreachable(error: Error): ApiError {
  return unavailable(`error trying to reach service: ${error.message}`);
}
