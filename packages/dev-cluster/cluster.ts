/**
 * The development cluster: everything that Orrery needs, on one machine, in one folder.
 *
 * Owns the processes (nats-server, replicas) and the parts that run in this one (the development API,
 * kubelet, workloads, endpoints, routing, names). Promises: parts start in the order of their needs and stop
 * in reverse, replicas first. A part that cannot start stops those before it. After `stop` no process and no
 * socket is left, and no file outside the folder. A second cluster on the machine gets other addresses; a
 * second one in the folder is refused.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import { makeGivenFolder } from '../../src/base/config-values.ts';
import { asError, OrreryError } from '../../src/base/errors.ts';
import type { Log } from '../../src/base/log.ts';
import type { Random } from '../../src/base/random.ts';
import { connectKube, type KubeConnection } from '../../src/kube/api/kube-connection.ts';
import { startKubeApi } from '../kube-api/server.ts';
import { type AddressRange, claimRange, parseNetwork } from '../kube-api/socket-addresses.ts';
import { type ControlPlane, findControlPlane, noControlPlane } from './controllers/control-plane.ts';
import { startEndpoints } from './controllers/endpoints.ts';
import { startWorkloads } from './controllers/workloads.ts';
import { clusterLimits } from './limits.ts';
import { ensureDefinitions, ensureInspectorAccess, readManifests } from './manifests.ts';
import { startDns } from './network/dns.ts';
import { outsideVariable } from './network/outside-network.ts';
import { Routing, type RoutingParts } from './network/routing.ts';
import { Kubelet } from './nodes/kubelet.ts';
import type { DevParts } from './parts.ts';
import { lockFolder } from './processes/folder-lock.ts';
import { type NatsServer, startNatsServer } from './processes/nats-server.ts';
import { createReplicas, type DevReplica } from './processes/replicas.ts';
import { announceReplicas } from './replica-service.ts';
import type { DurationRange } from './scenarios/durations.ts';

export interface DevClusterParts {
  /** Created if it is missing. */
  readonly dir: string;
  readonly replicas: number;
  /** What each of them runs; absent: the sources of this checkout. */
  readonly program?: string | undefined;
  /** Address of the first replica; port 0: free ones. */
  readonly http: { readonly host: string; readonly port: number };
  /** A server that is already running, and that whoever started it ends; absent: one of the cluster's own. */
  readonly nats?: NatsServer;
  /** A real API server instead of the development one. */
  readonly kubeconfig?: string;
  /** Orrery's cluster name; default `dev`. */
  readonly cluster?: string;
  readonly nodeName?: string;
  /** Further flags of `orrery run` for each replica, made once the folder is ours. */
  readonly replicaFlags?: (dir: string) => readonly string[];
  readonly replicaEnv?: Readonly<Record<string, string>>;
  /** Whether a replica that died is started again; default true. */
  readonly restarts?: boolean;
  /** Defaults of the routing's delays; Services can set their own. */
  readonly addDelay?: DurationRange;
  readonly removeDelay?: DurationRange;
  /** Who answers connections to a Pod in its place, if not the Pod itself; for benchmarks. */
  readonly answerFor?: RoutingParts['answerFor'];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly print: (line: string) => void;
}

export interface DevCluster {
  readonly dir: string;
  readonly kube: KubeConnection;
  /** Path of the kubeconfig file. */
  readonly kubeconfig: string;
  readonly nats: NatsServer;
  readonly natsUrl: string;
  readonly controlPlane: ControlPlane;
  readonly kubelet: Kubelet;
  readonly nodeName: string;
  readonly routing: Routing;
  /** An address that a machine outside the cluster can use; socket-addresses.ts says where its socket is. */
  readonly outsideAddress: string;
  readonly replicas: readonly DevReplica[];
  /** Kills a replica (default SIGKILL); it is started again if the cluster restarts them. */
  kill(index: number, signal?: NodeJS.Signals): Promise<void>;
  start(index: number): void;
  stop(): Promise<void>;
}

type Undo = () => Promise<unknown> | unknown;

const crdFolder = resolve(import.meta.dirname, '../../deploy/crds');
/** Real API servers refuse loopback addresses in slices; socket-addresses.ts leads these to sockets. */
const advertisedNet = '10';

export async function startDevCluster(options: DevClusterParts, signal: AbortSignal): Promise<DevCluster> {
  const undos: Undo[] = [];
  const stop = async () => {
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) await undo();
  };
  try {
    return { ...(await build(options, signal, (undo) => undos.push(undo))), stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

async function build(
  options: DevClusterParts,
  signal: AbortSignal,
  onStop: (undo: Undo) => void,
): Promise<Omit<DevCluster, 'stop'>> {
  const { clock, random, log } = options;
  const dir = resolve(options.dir);
  makeGivenFolder('--dir', dir);
  onStop(await lockFolder(dir));
  const range = await claimRange();
  onStop(range.release);
  const nats = options.nats ?? (await provideNats(options, join(dir, 'nats'), onStop));
  const kubeconfig = await provideApi(options, dir, range, onStop);
  const kube = connectKube({ kubeconfig, clock, random, log });
  onStop(() => kube.close());
  await ensureDefinitions(kube, await readManifests(crdFolder), clock, signal);

  const isOwn = options.kubeconfig === undefined;
  if (isOwn) await ensureInspectorAccess(kube, signal);
  const controlPlane = isOwn ? noControlPlane : await findControlPlane(kube, clock, signal);
  const parts = await startParts(options, { kube, clock, random, log }, range, controlPlane, signal, onStop);
  const dns = await startDns({ kube, clock, random, log });
  onStop(() => dns.stop());
  await startedInTime(dns.started, clock, signal);
  const replicas = await createReplicas({
    count: options.replicas,
    program: options.program,
    http: options.http,
    dir,
    natsUrl: nats.url,
    kubeconfig,
    dns: `${dns.address.host}:${dns.address.port}`,
    cluster: options.cluster ?? 'dev',
    env: { [outsideVariable]: outsideCidr(range), ...options.replicaEnv },
    flags: options.replicaFlags?.(dir) ?? [],
    restarts: options.restarts ?? true,
    clock,
    print: options.print,
  });
  onStop(() => Promise.all(replicas.map((replica) => replica.stop())));
  if (isOwn) await announceReplicas(kube, replicas, signal);
  for (const replica of replicas) replica.start();
  const at = (index: number) => replicaAt(replicas, index);
  return {
    dir,
    kube,
    kubeconfig,
    nats,
    natsUrl: nats.url,
    controlPlane,
    ...parts,
    outsideAddress: outsideAddressIn(range),
    replicas,
    kill: (index, how = 'SIGKILL') => at(index).kill(how),
    start: (index) => at(index).start(),
  };
}

function outsideCidr(range: AddressRange): string {
  return range.podCidr.replace(/^127/, advertisedNet);
}

/** Far from the addresses that Pods get. */
function outsideAddressIn(range: AddressRange): string {
  const network = parseNetwork(outsideCidr(range));
  return network.at(network.size - 2);
}

async function provideNats(
  { kubeconfig, clock, log }: DevClusterParts,
  dir: string,
  onStop: (undo: Undo) => void,
): Promise<NatsServer> {
  // A development API server forgets everything; what NATS remembers of an earlier life would only mislead.
  if (kubeconfig === undefined) rmSync(dir, { recursive: true, force: true });
  const nats = await startNatsServer({ dir, clock, log });
  onStop(() => nats.stop());
  return nats;
}

/** The API server, as a kubeconfig file in the folder. */
async function provideApi(
  options: DevClusterParts,
  dir: string,
  range: AddressRange,
  onStop: (undo: Undo) => void,
): Promise<string> {
  if (options.kubeconfig !== undefined) return resolve(options.kubeconfig);
  const { clock, random, log } = options;
  const api = await startKubeApi({ serviceCidr: range.serviceCidr, clock, random, log });
  onStop(() => api.stop());
  const file = join(dir, 'kubeconfig');
  writeFileSync(file, api.kubeconfig(), { mode: 0o600 });
  return file;
}

async function startParts(
  options: DevClusterParts,
  parts: DevParts,
  range: AddressRange,
  controlPlane: ControlPlane,
  signal: AbortSignal,
  onStop: (undo: Undo) => void,
): Promise<Pick<DevCluster, 'kubelet' | 'routing' | 'nodeName'>> {
  const isReal = options.kubeconfig !== undefined;
  const podCidr = isReal ? range.podCidr.replace(/^127/, advertisedNet) : range.podCidr;
  const nodeName = options.nodeName ?? 'orrery-dev';
  const { addDelay, removeDelay, answerFor } = options;
  const kubelet = new Kubelet({ ...parts, nodeName, podCidr, schedules: !controlPlane.hasScheduler });
  onStop(() => kubelet.stop());
  const routing = new Routing({
    ...parts,
    podCidr,
    outsideCidr: outsideCidr(range),
    ...(addDelay === undefined ? {} : { addDelay }),
    ...(removeDelay === undefined ? {} : { removeDelay }),
    ...(answerFor === undefined ? {} : { answerFor }),
  });
  onStop(() => routing.stop());
  const endpoints = startEndpoints({ ...parts, onlyAnnotated: controlPlane.hasControllers });
  onStop(() => endpoints.stop());
  const started = [kubelet.started, routing.started, endpoints.started];
  if (!controlPlane.hasControllers) {
    const workloads = startWorkloads(parts);
    onStop(() => workloads.stop());
    started.push(workloads.started);
  }
  await startedInTime(Promise.all(started), parts.clock, signal);
  return { kubelet, routing, nodeName };
}

/** The parts try forever; whoever waits for them does not. */
function startedInTime(started: Promise<unknown>, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = new OrreryError(
      'KUBE_UNREACHABLE',
      'the Kubernetes API did not let the development parts start',
    );
    const timer = clock.after(clusterLimits.startMs, () => finish(late));
    const onAbort = () => finish(asError(signal.reason));
    const finish = (error: Error | null) => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      if (error === null) resolve();
      else reject(error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    started.then(
      () => finish(null),
      (thrown) => finish(asError(thrown)),
    );
  });
}

function replicaAt(replicas: readonly DevReplica[], index: number): DevReplica {
  const replica = replicas[index];
  if (replica === undefined) throw new OrreryError('USAGE', `there is no replica ${index}`);
  return replica;
}
