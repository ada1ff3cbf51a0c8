/** What `orrery dev` runs: everything on one machine, with a scenario that plays by itself. */
import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { type HostPort, hostPort, type Reader, wholeNumber } from '../../src/base/config-values.ts';
import { asError, OrreryError } from '../../src/base/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { subjects } from '../../src/bus/subjects.ts';
import { devFile, writeDevFile } from '../../src/cli/dev-file.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { readFeaturePlaces } from '../../src/replica/config.ts';
import { loadFeatures } from '../../src/replica/loaded-features.ts';
import { type DevCluster, type DevClusterParts, startDevCluster } from './cluster.ts';
import type { DevPart } from './parts.ts';
import { untilReady } from './processes/replicas.ts';
import { startElectionScenario } from './scenarios/election-scenario.ts';
import { type OutsideScenario, startOutsideScenario } from './scenarios/outside-scenario.ts';
import { startCertificateScenario } from './scenarios/scenario-certificates.ts';
import { prepareBundle, startReleaseScenario } from './scenarios/scenario-release.ts';
import { type Scenario, startScenario } from './scenarios/shop.ts';

export interface DevFlags {
  readonly replicas: string;
  readonly http: string;
  readonly dir: string;
  readonly kubeconfig?: string;
  readonly scenario: boolean;
  readonly requests: string;
  readonly feature?: string;
  readonly program?: string;
}

/** Orrery's cluster name on the NATS server here. */
const clusterName = 'dev';

/**
 * A controller manager also writes slices, and sometimes a second late (its client is throttled). A Pod must
 * serve until the last slice has let go of it.
 */
const slowDrain = '3s';
/** More replicas than this on one machine show nothing new. */
const replicasMax = 16;
/** More requests a second than this show how fast the machine is, nothing else. */
const requestsMax = 1_000;

export async function runDev(flags: DevFlags, terminal: Terminal): Promise<void> {
  const signal = terminal.interrupted;
  const print = (line: string) => terminal.out(`${line}\n`);
  const log = createLog({ level: 'warn' });
  const parts = { clock: systemClock, random: systemRandom, log };
  const features = await readFeatures(flags, terminal);
  const requestsPerSecond = read('requests', flags.requests, wholeNumber(1, requestsMax));
  const options = {
    ...parts,
    ...{ dir: flags.dir, program: flags.program && resolve(flags.program) },
    replicas: read('replicas', flags.replicas, wholeNumber(0, replicasMax)),
    http: read<HostPort>('http', flags.http, hostPort),
    ...(flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig }),
    cluster: clusterName,
    replicaFlags: (dir: string) => [
      ...(flags.scenario ? prepareBundle(dir) : []),
      ...features.flatMap((place) => ['--feature', place]),
    ],
    print,
  };
  let forgetAddresses = () => {};
  let cluster: DevCluster | undefined;
  let scenario: Scenario | undefined;
  let tills: DevPart | undefined;
  let outside: OutsideScenario | undefined;
  let release: { stop(): Promise<void> } | undefined;
  let certificates: DevPart | undefined;
  try {
    print(beginning(options));
    cluster = await startDevCluster(options, signal);
    const http = cluster.replicas.map(({ url }) => url);
    forgetAddresses = writeDevFile(cluster.dir, {
      nats: cluster.natsUrl,
      cluster: clusterName,
      http,
      features,
    });
    await announce(cluster, terminal, signal);
    if (flags.scenario && options.replicas > 0) {
      scenario = play(cluster, { ...parts, requestsPerSecond, print });
      tills = await playElection(cluster, parts, print);
      const { kube, dir, outsideAddress: address } = cluster;
      outside = startOutsideScenario({ ...parts, kube, dir, address, print });
      certificates = startCertificateScenario({ ...parts, kube, print });
      release = startReleaseScenario({ cluster, clock: systemClock, print });
    }
    await interrupted(signal);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    if (cluster !== undefined) print('stopping');
    forgetAddresses();
    await tills?.stop();
    await certificates?.stop();
    await outside?.stop();
    await release?.stop();
    await scenario?.stop();
    await cluster?.stop();
  }
}

/**
 * Reports what is wrong with a feature before anything starts.
 * @throws OrreryError USAGE
 */
async function readFeatures({ feature }: DevFlags, { env, directory }: Terminal): Promise<readonly string[]> {
  const places = readFeaturePlaces({ feature }, env).map((place) =>
    existsSync(resolve(directory, place)) ? resolve(directory, place) : place,
  );
  await loadFeatures(places, directory);
  return places;
}

/** Prints a line for each address; a replica's as soon as it is ready. */
async function announce(cluster: DevCluster, terminal: Terminal, signal: AbortSignal): Promise<void> {
  const line = (name: string, address: string, note: string) =>
    terminal.out(`${name.padEnd(12)} ${address.padEnd(28)} ${note}\n`);
  const here = (file: string) => {
    const path = relative(terminal.directory, file) || '.';
    return path.startsWith('..') ? file : path;
  };
  line('nats', cluster.natsUrl, `store in ${here(cluster.dir)}/nats`);
  line('kubernetes', here(cluster.kubeconfig), `KUBECONFIG=${here(cluster.kubeconfig)} kubectl get pods -A`);
  // Commands find by themselves only what runs in the default folder.
  if (resolve(cluster.dir) !== resolve(terminal.directory, dirname(devFile)))
    terminal.out(`${'commands'.padEnd(12)} orrery get --nats ${cluster.natsUrl} --cluster ${clusterName}\n`);
  const waits = cluster.replicas.map(async (replica) => {
    const isReady = await untilReady(replica, systemClock, signal);
    line(replica.name, `${replica.url}/`, isReady ? 'ready' : `not ready yet; see ${here(replica.logFile)}`);
  });
  await Promise.all(waits);
}

function play(
  cluster: DevCluster,
  parts: Omit<Parameters<typeof startScenario>[0], 'kube' | 'routing'>,
): Scenario {
  const { kube, routing, nodeName, controlPlane } = cluster;
  const placed = controlPlane.hasScheduler ? { nodeName } : {};
  const patient = controlPlane.hasControllers ? { drain: slowDrain } : {};
  const scenario = startScenario({ ...parts, kube, routing, ...placed, ...patient });
  scenario.started.catch((thrown) => parts.print(`scenario: ${asError(thrown).message}`));
  return scenario;
}

/** The candidates are ordinary programs: each has a connection to NATS of its own. */
async function playElection(
  cluster: DevCluster,
  parts: Pick<Parameters<typeof startScenario>[0], 'clock' | 'random' | 'log'>,
  print: (line: string) => void,
): Promise<DevPart> {
  const bus = await connectNats({
    ...parts,
    servers: [cluster.natsUrl],
    name: 'orrery dev candidates',
    cluster: clusterName,
  });
  const { kube } = cluster;
  const scenario = startElectionScenario({ ...parts, kube, bus, subjects: subjects(clusterName), print });
  return {
    async stop() {
      await scenario.stop();
      await bus.close();
    },
  };
}

/** Said first: on a busy machine all that takes a minute. */
function beginning({ dir, replicas, kubeconfig }: DevClusterParts): string {
  const api = kubeconfig === undefined ? 'a Kubernetes API, a node' : 'a node';
  const number = replicas === 1 ? 'one replica' : `${replicas} replicas`;
  return `starting nats-server, ${api} and ${number} in ${dir} …`;
}

function interrupted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** @throws OrreryError USAGE that names the flag, the value and what is allowed */
function read<T>(flag: string, text: string, reader: Reader<T>): T {
  const value = reader.read(text);
  if (value !== undefined) return value;
  throw new OrreryError(
    'USAGE',
    `--${flag}: ${JSON.stringify(text)} is not allowed; allowed: ${reader.allowed}`,
  );
}
