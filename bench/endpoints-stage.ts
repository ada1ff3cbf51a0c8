/**
 * The stage of bench/endpoints.ts: a development cluster (or the API server of KUBECONFIG), Services and
 * workloads in it, and a watch that tells when a slice shows what.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DevCluster, startDevCluster } from '../packages/dev-cluster/cluster.ts';
import { type Informer, startInformer } from '../packages/dev-cluster/controllers/informer.ts';
import { untilReady } from '../packages/dev-cluster/processes/replicas.ts';
import { namespaces } from '../packages/dev-cluster/resources.ts';
import { choice, list, number, readFlags, text, whole } from '../scripts/flags.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import type { KubeObject } from '../src/base/kube-port.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import { externalWorkloads } from '../src/features/endpoints/resources.ts';
import { managedBy, managedByLabel } from '../src/features/endpoints/slice-labels.ts';
import { endpointSlices, services } from '../src/kube/api/resources.ts';
import { type Alone, otherController, replicaAlone } from './alone.ts';
import { cpuSeconds, megabytes, processCosts } from './process-costs.ts';

export const values = readFlags(
  'node bench/endpoints.ts',
  'EndpointSlices of workloads outside the cluster: how soon, how many writes, at what cost.',
  {
    only: choice('one part (the first six)', [
      'cold',
      'flip',
      'rate',
      'crowd',
      'touch',
      'owner',
      'size',
      'sizes',
      'storm',
    ]),
    services: whole('how many Services (what the part uses)'),
    workloads: whole('workloads of each (what the part uses)'),
    sizes: list('Services of each row of `sizes` (50,500,5000)', ['50', '500', '5000']),
    flips: number('changes a second of `storm`', 1_000),
    seconds: number('how long `storm` lasts', 30),
    program: text('what the replicas run, such as dist/main.js (the sources)'),
    'node-options': text('options of Node for the replicas only, as in deploy/base/orrery.yaml', ''),
    controller: text('a command: another controller instead of the replica; it gets KUBECONFIG'),
    'managed-by': text('the label value on the slices of that controller', managedBy),
  },
);
/** How many Services, and workloads each, unless the command line says so. */
export const scaleOf = (serviceCount: number, workloads: number): [number, number] => [
  values.services ?? serviceCount,
  values.workloads ?? workloads,
];
export const { signal } = new AbortController();
const kubeconfig = process.env.KUBECONFIG;
/** A row is given up after this time, ms. */
export const patienceMs = 300_000;
export const row = (what: string, value: string) => console.log(`${what.padEnd(60)} ${value}`);

export function quantile(times: readonly number[], q: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export function quantiles(times: readonly number[]): string {
  const at = (q: number) => quantile(times, q).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms (${times.length})`;
}

/** @returns false: it was given up */
export async function until(isDone: () => boolean | Promise<boolean>): Promise<boolean> {
  const deadline = clock.monotonic() + patienceMs;
  while (clock.monotonic() < deadline) {
    if (await isDone()) return true;
    await sleep(clock, 5);
  }
  return false;
}

/** Which slices are counted. */
export const ourSlices = `${managedByLabel}=${values['managed-by']}`;

interface Slice extends KubeObject {
  readonly endpoints?: ReadonlyArray<{
    readonly conditions: { readonly ready: boolean };
    readonly targetRef: { readonly name: string };
  }> | null;
}

export class Bench {
  readonly cluster: DevCluster;
  readonly namespace: string;
  /** Writes to slices of ours that the watch has shown. */
  writes = 0;
  /** When the first and the last one happened, monotonic ms. */
  firstWriteAt = 0;
  lastWriteAt = 0;
  /** Workload → whether its endpoint is ready, and since when the watch has shown that. */
  readonly shown = new Map<string, { ready: boolean; at: number }>();
  readonly #informer: Informer<Slice>;
  readonly #dir: string;
  /** What is measured, if it is a process without the development cluster's own parts. */
  readonly #alone: Alone | undefined;

  private constructor(cluster: DevCluster, namespace: string, dir: string, measured: Alone | undefined) {
    this.cluster = cluster;
    this.#alone = measured;
    this.namespace = namespace;
    this.#dir = dir;
    this.#informer = startInformer<Slice>({
      ...{ kube: cluster.kube, clock, random, log, namespace },
      resource: endpointSlices,
      labelSelector: ourSlices,
      onChange: ({ object }) => {
        this.lastWriteAt = clock.monotonic();
        if (this.writes === 0) this.firstWriteAt = this.lastWriteAt;
        this.writes += 1;
        for (const { conditions, targetRef } of object.endpoints ?? []) {
          if (this.shown.get(targetRef.name)?.ready !== conditions.ready)
            this.shown.set(targetRef.name, { ready: conditions.ready, at: this.lastWriteAt });
        }
      },
    });
  }

  static async begin(count: number): Promise<Bench> {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
    const http = { host: '127.0.0.1', port: 0 };
    const { program, controller } = values;
    const isAlone = controller !== undefined || (program !== undefined && count === 1);
    const replicas = isAlone ? 0 : count;
    const options = { clock, random, log, dir, replicas, program, http, restarts: false, print: () => {} };
    const replicaEnv = { NODE_OPTIONS: values['node-options'] };
    const cluster = await startDevCluster(
      { ...options, replicaEnv, ...(kubeconfig === undefined ? {} : { kubeconfig }) },
      signal,
    );
    const namespace = `bench-${random
      .id()
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '')}`;
    await cluster.kube.create(namespaces, { metadata: { name: namespace } }, signal);
    const bench = new Bench(cluster, namespace, dir, isAlone ? await measuredAlone(cluster) : undefined);
    await bench.#informer.synced;
    bench.#alone?.start();
    await bench.untilReady();
    return bench;
  }

  /** Starts the one replica, or its substitute. */
  start(): void {
    if (this.#alone === undefined) this.cluster.start(0);
    else this.#alone.start();
  }

  async kill(): Promise<void> {
    if (this.#alone === undefined) await this.cluster.kill(0);
    else await this.#alone.kill();
  }

  /** A process that answers nobody is not waited for. */
  async untilReady(withinMs?: number): Promise<void> {
    const answering = this.#alone === undefined ? this.cluster.replicas : [this.#alone];
    for (const { url } of answering)
      if (url !== undefined) await untilReady({ url }, clock, signal, withinMs);
  }

  async end(): Promise<void> {
    await this.#informer.stop();
    await this.#alone?.kill();
    if (kubeconfig !== undefined) await this.#tidyUp();
    await this.cluster.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** Removes what was made from an API server that outlives this run. */
  async #tidyUp(): Promise<void> {
    const { kube } = this.cluster;
    for (const name of new Set(
      this.#informer.all().map(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] ?? ''),
    ))
      await kube.delete(services, this.namespace, name, {}, signal).catch(() => {});
    await this.deleteAll('externalworkloads', '');
    // Nobody collects them where no controller manager runs, and the next run would list them all.
    for (const index of this.cluster.replicas.keys()) await this.cluster.kill(index);
    await this.deleteAll('slices', '');
    await kube.delete(namespaces, undefined, this.namespace, {}, signal).catch(() => {});
  }

  /** `serviceCount` Services, each with its workloads, all ready. */
  async fill(
    serviceCount: number,
    workloadsEach: number,
    port: object = { name: 'http', port: 80, targetPort: 8080 },
  ): Promise<string[]> {
    const { kube } = this.cluster;
    const names: string[] = [];
    for (let service = 0; service < serviceCount; service++)
      for (let n = 0; n < workloadsEach; n++) names.push(`vm-${service}-${n}`);
    await inParallel(names, async (name) => {
      const [, service = '', n = ''] = name.split('-');
      const at = Number(service) * workloadsEach + Number(n);
      const metadata = { name, namespace: this.namespace, labels: { app: `vm-${service}` } };
      const spec = {
        meshTLS: { identity: `spiffe://bench/${name}`, serverName: `${name}.bench` },
        workloadIPs: [{ ip: `10.${100 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}` }],
        ports: [{ name: 'http', port: 8080 }],
      };
      await kube.create(externalWorkloads, { metadata, spec }, signal);
      await this.flip(name, true);
    });
    const each = Array.from({ length: serviceCount }, (_, n) => n);
    await inParallel(each, async (n) => {
      const metadata = { name: `web-${n}`, namespace: this.namespace };
      await kube.create(
        services,
        { metadata, spec: { selector: { app: `vm-${n}` }, ports: [port] } },
        signal,
      );
    });
    return names;
  }

  /** @returns when the API server answered, monotonic ms */
  async flip(name: string, ready: boolean): Promise<number> {
    const lastTransitionTime = new Date(clock.now()).toISOString().replace(/\.[0-9]+Z$/, 'Z');
    const status = { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime }] };
    const patch = {
      namespace: this.namespace,
      name,
      type: 'merge',
      subresource: 'status',
      body: { status },
    } as const;
    await this.cluster.kube.patch(externalWorkloads, patch, signal);
    return clock.monotonic();
  }

  slices(): Slice[] {
    return this.#informer.all();
  }

  endpoints(): number {
    return this.slices().reduce((sum, { endpoints }) => sum + (endpoints?.length ?? 0), 0);
  }

  isShown = (names: readonly string[], ready: boolean): boolean =>
    names.every((name) => this.shown.get(name)?.ready === ready);

  /** @returns how many never came */
  async untilShown(names: readonly string[], ready: boolean): Promise<number> {
    const isMissing = (name: string) => this.shown.get(name)?.ready !== ready;
    let at = 0;
    // With a hundred thousand of them, who came is not looked for again.
    const isDone = await until(() => {
      while (at < names.length && !isMissing(names[at] ?? '')) at += 1;
      return at === names.length;
    });
    return isDone ? 0 : names.filter(isMissing).length;
  }

  /** Waits for this long without a write, ms. */
  async quiet(ms: number): Promise<void> {
    let before = -1;
    while (before !== this.writes) {
      before = this.writes;
      await sleep(clock, ms);
    }
  }

  async deleteAll(what: 'slices' | 'externalworkloads', selector: string): Promise<void> {
    const resource = what === 'slices' ? endpointSlices : externalWorkloads;
    const { kube } = this.cluster;
    const query = { namespace: this.namespace, ...(selector === '' ? {} : { labelSelector: selector }) };
    const { items } = await kube.list(resource, query, signal);
    await inParallel(items, ({ metadata }) =>
      kube.delete(resource, this.namespace, metadata.name, {}, signal),
    );
  }

  /** Processor time of each replica so far, seconds. */
  cpu(): number[] {
    const measured = this.#alone === undefined ? this.cluster.replicas : [this.#alone];
    return measured.map((one) => cpuSeconds(one.pid()));
  }

  /** Memory of the first replica now, MB. */
  resident(): number {
    const pid = (this.#alone ?? this.cluster.replicas[0])?.pid();
    return pid === undefined ? Number.NaN : megabytes(pid, 'VmRSS');
  }

  costs(): string {
    if (this.#alone !== undefined) return processCosts(this.#alone.pid());
    return this.cluster.replicas
      .filter((replica) => replica.pid() !== undefined)
      .map((replica) => processCosts(replica.pid()))
      .join('; ');
  }
}

function measuredAlone({ natsUrl, kubeconfig: file }: DevCluster): Alone | Promise<Alone> {
  const { controller, program = '', 'node-options': options } = values;
  if (controller !== undefined) return otherController(controller, file);
  return replicaAlone({ program, options, natsUrl, kubeconfig: file });
}

export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
  atOnce = 16,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
