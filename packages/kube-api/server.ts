/**
 * A small Kubernetes API server for development and tests: in one process, in memory, on a loopback address.
 *
 * What it has, what differs and what is absent: docs/development-cluster.md. test/conformance, which runs on
 * both, compares it with the real server.
 */
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../src/base/clock.ts';
import { invariant } from '../../src/base/errors.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import type { Random } from '../../src/base/random.ts';
import { createDefaultRoles } from './access/default-roles.ts';
import { Tokens } from './access/tokens.ts';
import { Definitions } from './controllers/definitions.ts';
import { DisruptionBudgets } from './controllers/disruption-budgets.ts';
import { EventExpiry } from './controllers/event-expiry.ts';
import { GarbageCollector } from './controllers/garbage-collector.ts';
import { NamespaceCleaner } from './controllers/namespace-cleaner.ts';
import { createHttpServer } from './http/http-server.ts';
import { createCertificates } from './http/server-certificate.ts';
import type { JsonObject } from './json.ts';
import { apiLimits } from './limits.ts';
import { Registry } from './resources/registry.ts';
import { ServiceAddresses } from './storage/service-addresses.ts';
import { Store } from './storage/store.ts';
import type { Cluster } from './verb-parts.ts';
import { Fanout } from './watch/fanout.ts';
import { insert } from './writing/insert.ts';
import { readObject } from './writing/read-object.ts';

/** The namespaces of a new cluster. */
const namespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

export interface KubeApiParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Default: a free port. */
  readonly port?: number;
  readonly log?: Log;
  /** The bearer token; default: a random one. */
  readonly token?: string;
  /** The network of cluster IPs; default 127.96.0.0/16, on which a process can listen without any set-up. */
  readonly serviceCidr?: string;
  /** Changes of each resource from which a watch can be resumed; default apiLimits.historyChanges. */
  readonly historyChanges?: number;
}

export interface KubeApi {
  readonly url: string;
  readonly token: string;
  /** PEM: the authority that vouches for the server, and for nothing else. */
  readonly ca: string;
  /** A kubeconfig for this server, as YAML. */
  kubeconfig(): string;
  /** Ends all watches and connections. */
  stop(): Promise<void>;
}

/** The API within one process: no socket, no HTTP. */
export interface ProcessApi {
  readonly cluster: Cluster;
  readonly token: string;
  stop(): void;
}

/**
 * What the server has behind its socket.
 * @param port that it claims to listen on
 */
export function createProcessApi(options: KubeApiParts, port = 443): ProcessApi {
  const token = options.token ?? options.random.id();
  const { cluster, stopControllers } = createCluster(options, token);
  createContent(cluster, port);
  createDefaultRoles(cluster);
  return {
    cluster,
    token,
    stop() {
      stopControllers();
      cluster.fanout.closeAll();
    },
  };
}

/** @throws Error if the port is taken; OrreryError USAGE if `serviceCidr` is not an IPv4 network */
export async function startKubeApi(options: KubeApiParts): Promise<KubeApi> {
  const token = options.token ?? options.random.id();
  const { cluster, stopControllers } = createCluster(options, token);
  const certificates = createCertificates();
  const server = createHttpServer(cluster, certificates);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  createContent(cluster, port);
  createDefaultRoles(cluster);
  const url = `https://127.0.0.1:${port}`;
  return {
    url,
    token,
    ca: certificates.ca,
    kubeconfig: () => kubeconfigText(url, token, certificates.ca),
    stop() {
      stopControllers();
      cluster.fanout.closeAll();
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function createCluster(
  options: KubeApiParts,
  token: string,
): { cluster: Cluster; stopControllers: () => void } {
  const store = new Store(options.historyChanges ?? apiLimits.historyChanges);
  const cluster: Cluster = {
    store,
    registry: new Registry(),
    fanout: new Fanout(),
    addresses: new ServiceAddresses(options.serviceCidr ?? '127.96.0.0/16', options.random),
    tokens: new Tokens({ clock: options.clock, random: options.random, store }, token),
    clock: options.clock,
    random: options.random,
    log: options.log ?? silentLog,
  };
  const controllers = [
    new Definitions(cluster),
    new GarbageCollector(cluster),
    new NamespaceCleaner(cluster),
    new DisruptionBudgets(cluster),
    new EventExpiry(cluster),
  ];
  store.onChange((change) => cluster.addresses.note(change));
  for (const controller of controllers) store.onChange((change) => controller.note(change));
  // Watchers come last: whoever hears of a change finds everything else up to date.
  store.onChange((change) => cluster.fanout.publish(change));
  return {
    cluster,
    stopControllers: () => {
      for (const controller of controllers) controller.stop();
    },
  };
}

function kubeconfigText(url: string, token: string, ca: string): string {
  invariant(/^[\w.~+/=-]+$/.test(token), 'a bearer token is of the characters of RFC 6750');
  return `apiVersion: v1
kind: Config
clusters:
  - name: orrery-dev
    cluster:
      server: ${url}
      certificate-authority-data: ${Buffer.from(ca).toString('base64')}
contexts:
  - name: orrery-dev
    context:
      cluster: orrery-dev
      user: developer
current-context: orrery-dev
users:
  - name: developer
    user:
      token: ${JSON.stringify(token)}
`;
}

/** What a new cluster holds: its namespaces, and the Service of the API server itself. */
function createContent(cluster: Cluster, port: number): void {
  for (const name of namespaces) create(cluster, 'namespaces', '', { metadata: { name } });
  create(cluster, 'services', 'default', {
    metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: cluster.addresses.first,
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }],
    },
  });
}

function create(cluster: Cluster, plural: string, namespace: string, value: JsonObject): void {
  const resource = cluster.registry.find('', 'v1', plural);
  invariant(resource, 'the first objects are of built-in kinds', { plural });
  const { object } = readObject(resource, value, { fieldValidation: 'Strict' });
  insert(cluster, resource, object, { namespace, isDryRun: false });
}
