/**
 * Work for actors of every kind while replicas are rolled over: the scenario's shop under requests, tills
 * that are elected, a virtual machine that comes and goes, certificates that are renewed, nodes whose proxies
 * report. The release is the bundle of the stage.
 */
import {
  type ActorId,
  clock,
  encodeJson,
  externalWorkloads,
  log,
  namespaces,
  random,
  type Scenario,
  services,
  sleep,
  startCertificateScenario,
  startElectionScenario,
  startOutsideScenario,
  startScenario,
  subjectsOf,
  timestamp,
} from './product.ts';
import { clusterName, type Stage } from './stage.ts';

export interface Work {
  /** The shop: its requests are counted. */
  readonly shop: Scenario;
  stop(): Promise<void>;
}

const proxiedNodes = ['roll-a', 'roll-b', 'roll-c'];
const reportEveryMs = 700;
const crowdNamespace = 'crowd';
const crowdEveryMs = 400;
const { signal } = new AbortController();

/** @param crowd number of workloads outside the cluster that change, besides the scenario */
export async function startWork(stage: Stage, print: (line: string) => void, crowd = 0): Promise<Work> {
  const { bus, cluster, dir } = stage;
  const { kube, routing, nodeName, outsideAddress } = cluster;
  const subjects = subjectsOf(clusterName);
  const basics = { kube, clock, random, log, print };
  const shop = startScenario({
    ...basics,
    routing,
    nodeName,
    rollOverEveryMs: 20_000,
    requestsPerSecond: 50,
  });
  const parts = [
    startElectionScenario({ ...basics, bus, subjects, changeEveryMs: 12_000 }),
    startOutsideScenario({ ...basics, dir, address: outsideAddress, upMs: 12_000, downMs: 4_000 }),
    startCertificateScenario({ ...basics, failingMs: 15_000, shortLifetime: '1m' }),
    startProxies(stage),
    ...(crowd === 0 ? [] : [await startCrowd(stage, crowd)]),
  ];
  const stop = async () => {
    for (const part of parts) await part.stop();
    await shop.stop();
  };
  try {
    await shop.started;
  } catch (error) {
    await stop();
    throw error;
  }
  return { shop, stop };
}

/** Service proxies of nodes that report changes, one of them slower than it should be. */
export function startProxies({ bus }: Pick<Stage, 'bus'>) {
  const ending = new AbortController();
  const subjects = subjectsOf(clusterName);
  const say = (node: string, type: string) =>
    bus
      .append(subjects.send(`proxier/_/${node}` as ActorId), encodeJson({ type, family: 'IPv4' }))
      .catch(() => {});
  const play = async () => {
    for (let turn = 0; ; turn++) {
      for (const [index, node] of proxiedNodes.entries()) {
        await say(node, 'proxier.queued');
        if (index > 0 || turn % 5 === 0) await say(node, 'proxier.updated');
      }
      await sleep(clock, reportEveryMs, ending.signal);
    }
  };
  const playing = play().catch(() => {});
  return {
    async stop() {
      ending.abort();
      await playing;
    },
  };
}

/**
 * Workloads outside the cluster, with a Service for every four. One after another becomes ready or unready,
 * so that slices change all the time.
 */
async function startCrowd({ cluster: { kube } }: Stage, count: number) {
  const ending = new AbortController();
  const namespace = crowdNamespace;
  await kube.create(namespaces, { metadata: { name: namespace } }, signal);
  for (let n = 0; n < count / 4; n++) {
    const spec = { selector: { app: `crowd-${n}` }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] };
    await kube.create(services, { metadata: { name: `crowd-${n}`, namespace }, spec }, signal);
  }
  for (let n = 0; n < count; n++) {
    const labels = { app: `crowd-${n >> 2}` };
    const spec = {
      meshTLS: { identity: `spiffe://crowd/${n}`, serverName: `crowd-${n}.example.com` },
      workloadIPs: [{ ip: `10.${201 + (n >> 8)}.1.${n & 255}` }],
      ports: [{ name: 'http', port: 8080 }],
    };
    await kube.create(
      externalWorkloads,
      { metadata: { name: `crowd-${n}`, namespace, labels }, spec },
      signal,
    );
  }
  const turn = (n: number) => {
    const lastTransitionTime = timestamp(clock.now());
    const status = n % 3 === 0 ? 'False' : 'True';
    const body = { status: { conditions: [{ type: 'Ready', status, lastTransitionTime }] } };
    const name = `crowd-${n % count}`;
    const patch = { namespace, name, type: 'merge', subresource: 'status', body } as const;
    return kube.patch(externalWorkloads, patch, ending.signal);
  };
  const play = async () => {
    for (let n = 0; ; n++) {
      await turn(n);
      await sleep(clock, crowdEveryMs, ending.signal);
    }
  };
  const playing = play().catch(() => {});
  return {
    async stop() {
      ending.abort();
      await playing;
    },
  };
}
