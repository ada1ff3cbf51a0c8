/**
 * EndpointSlices for workloads outside the cluster, with real processes: how soon a change is written, in how
 * many writes, and what it costs the replica.
 *
 * Run: [KUBECONFIG=…] node bench/endpoints.ts [--only cold|flip|rate|crowd|half|touch|owner] [--services 500]
 * [--workloads 10] [--program dist/main.js] [--node-options …] The API server is that of KUBECONFIG, else the
 * development one (a process of its own then shares this one's CPU time). A change counts from the API
 * server's answer to it until a watch shows the slice that tells of it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type DevCluster, startDevCluster } from '../packages/dev-cluster/cluster.ts';
import { type Informer, startInformer } from '../packages/dev-cluster/controllers/informer.ts';
import { untilReady } from '../packages/dev-cluster/processes/replicas.ts';
import { namespaces } from '../packages/dev-cluster/resources.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import type { KubeObject } from '../src/base/kube-port.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import { externalWorkloads } from '../src/features/endpoints/resources.ts';
import { managedBy, managedByLabel } from '../src/features/endpoints/slice-labels.ts';
import { endpointSlices, services } from '../src/kube/api/resources.ts';
import { processCosts } from './process-costs.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    services: { type: 'string', default: '500' },
    workloads: { type: 'string', default: '10' },
    /** What the replicas run, such as dist/main.js; the sources if absent. */
    program: { type: 'string' },
    /** Options of Node for the replicas alone, as in deploy/base/orrery.yaml. */
    'node-options': { type: 'string', default: '' },
  },
});
const { signal } = new AbortController();
const kubeconfig = process.env.KUBECONFIG;
/** A row is given up after this time, ms. */
const patienceMs = 120_000;
const row = (what: string, value: string) => console.log(`${what.padEnd(60)} ${value}`);

function quantiles(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (q: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms (${sorted.length})`;
}

async function until(isDone: () => boolean | Promise<boolean>): Promise<boolean> {
  const deadline = clock.monotonic() + patienceMs;
  while (clock.monotonic() < deadline) {
    if (await isDone()) return true;
    await sleep(clock, 5);
  }
  return false;
}

interface Slice extends KubeObject {
  readonly endpoints?: ReadonlyArray<{
    readonly conditions: { readonly ready: boolean };
    readonly targetRef: { readonly name: string };
  }> | null;
}

class Bench {
  readonly cluster: DevCluster;
  readonly namespace: string;
  /** Writes to slices of ours that the watch has shown. */
  writes = 0;
  /** Monotonic ms of the last one. */
  lastWriteAt = 0;
  /** Workload → whether its endpoint is ready, and since when the watch shows it so. */
  readonly shown = new Map<string, { ready: boolean; at: number }>();
  readonly #informer: Informer<Slice>;
  readonly #dir: string;

  private constructor(cluster: DevCluster, namespace: string, dir: string) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.#dir = dir;
    this.#informer = startInformer<Slice>({
      ...{ kube: cluster.kube, clock, random, log, namespace },
      resource: endpointSlices,
      labelSelector: `${managedByLabel}=${managedBy}`,
      onChange: ({ object }) => {
        this.writes += 1;
        this.lastWriteAt = clock.monotonic();
        for (const { conditions, targetRef } of object.endpoints ?? []) {
          if (this.shown.get(targetRef.name)?.ready !== conditions.ready)
            this.shown.set(targetRef.name, { ready: conditions.ready, at: this.lastWriteAt });
        }
      },
    });
  }

  static async begin(replicas: number): Promise<Bench> {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
    const http = { host: '127.0.0.1', port: 0 };
    const { program } = values;
    const options = { clock, random, log, dir, replicas, program, http, restarts: false, print: () => {} };
    const replicaEnv = { NODE_OPTIONS: values['node-options'] };
    const cluster = await startDevCluster(
      { ...options, replicaEnv, ...(kubeconfig === undefined ? {} : { kubeconfig }) },
      signal,
    );
    for (const replica of cluster.replicas) await untilReady(replica, clock, signal);
    const namespace = `bench-${random
      .id()
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '')}`;
    await cluster.kube.create(namespaces, { metadata: { name: namespace } }, signal);
    const bench = new Bench(cluster, namespace, dir);
    await bench.#informer.synced;
    return bench;
  }

  async end(): Promise<void> {
    await this.#informer.stop();
    const { kube } = this.cluster;
    for (const name of new Set(
      this.#informer.all().map(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] ?? ''),
    ))
      await kube.delete(services, this.namespace, name, {}, signal).catch(() => {});
    await this.deleteAll('externalworkloads', '');
    await kube.delete(namespaces, undefined, this.namespace, {}, signal).catch(() => {});
    await this.cluster.stop();
    rmSync(this.#dir, { recursive: true, force: true });
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

  /** No write for so long, ms. */
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

  costs(): string {
    return this.cluster.replicas
      .filter((replica) => replica.pid() !== undefined)
      .map((replica) => processCosts(replica.pid()))
      .join('; ');
  }
}

async function inParallel<T>(
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

async function cold(): Promise<void> {
  const [serviceCount, each] = [Number(values.services), Number(values.workloads)];
  const bench = await Bench.begin(1);
  await bench.cluster.kill(0);
  await bench.fill(serviceCount, each);
  const start = async (what: string) => {
    const started = clock.monotonic();
    bench.writes = 0;
    bench.cluster.start(0);
    await until(() => bench.slices().length === serviceCount && bench.endpoints() === serviceCount * each);
    row(
      `cold start, ${serviceCount} Services × ${each}, ${what}`,
      `${Math.round(bench.lastWriteAt - started)} ms, ${bench.writes} writes`,
    );
  };
  await start('with nothing');
  await bench.quiet(1_000);
  row('  replica', bench.costs());
  await bench.cluster.kill(0);
  await bench.deleteAll('slices', `${managedByLabel}=${managedBy}`);
  await start('warm NATS');
  await bench.end();
}

async function flip(): Promise<void> {
  const bench = await Bench.begin(1);
  const names = await bench.fill(50, 10);
  await until(() => bench.isShown(names, true));
  await bench.quiet(500);
  const times: number[] = [];
  for (const name of names.slice(0, 300)) {
    const at = await bench.flip(name, false);
    await until(() => bench.isShown([name], false));
    times.push((bench.shown.get(name)?.at ?? Number.NaN) - at);
    await sleep(clock, 20);
  }
  row('one readiness flip', quantiles(times));
  row('  replica', bench.costs());
  await bench.end();
}

async function rate(): Promise<void> {
  const bench = await Bench.begin(1);
  const names = await bench.fill(150, 10);
  await until(() => bench.isShown(names, true));
  await bench.quiet(500);
  bench.writes = 0;
  const begun = clock.monotonic();
  const sent = new Map<string, number>();
  // Neighbours in time are of different Services.
  const order = [...names].sort((a, b) => Number(a.split('-')[2]) - Number(b.split('-')[2]));
  await Promise.all(
    order.map(async (name, at) => {
      await sleep(clock, begun + at * 20 - clock.monotonic());
      // A machine that is overloaded gives up some of them; they are not counted.
      await bench.flip(name, false).then(
        (answeredAt) => sent.set(name, answeredAt),
        () => {},
      );
    }),
  );
  await until(() => bench.isShown([...sent.keys()], false));
  const times = [...sent.keys()].map(
    (name) => (bench.shown.get(name)?.at ?? Number.NaN) - (sent.get(name) ?? 0),
  );
  row(`50 flips/s for ${Math.round(names.length / 50)} s`, `${quantiles(times)}, ${bench.writes} writes`);
  row('  replica', bench.costs());
  await bench.end();
}

async function crowd(): Promise<void> {
  const bench = await Bench.begin(1);
  const names = await bench.fill(1, 1_000);
  await until(() => bench.isShown(names, true));
  await bench.quiet(11_000);
  bench.writes = 0;
  const begun = clock.monotonic();
  let last = 0;
  await inParallel(names, async (name) => {
    last = Math.max(last, await bench.flip(name, false));
  });
  await until(() => bench.isShown(names, false));
  await bench.quiet(1_000);
  row(
    `1,000 flips in one Service, made in ${Math.round(last - begun)} ms`,
    `${bench.writes} writes, lag ${Math.round(bench.lastWriteAt - last)} ms`,
  );
  row('  replica', bench.costs());
  await half(bench, names);
  await bench.end();
}

async function half(bench: Bench, names: readonly string[]): Promise<void> {
  bench.writes = 0;
  const going = names.filter((_, at) => at % 2 === 0);
  await inParallel(going, (name) =>
    bench.cluster.kube.delete(externalWorkloads, bench.namespace, name, {}, signal),
  );
  await until(() => bench.endpoints() === names.length - going.length);
  await bench.quiet(1_000);
  const atOnce = `${bench.writes} writes at once, ${bench.slices().length} slices`;
  bench.writes = 0;
  await until(() => bench.writes > 0);
  await bench.quiet(1_000);
  row(
    'delete half of 1,000',
    `${atOnce}; compaction: ${bench.writes} writes, ${bench.slices().length} slices left`,
  );
}

async function touch(): Promise<void> {
  const bench = await Bench.begin(1);
  const names = await bench.fill(1, 5, { port: 80, targetPort: 8080 });
  await until(() => bench.isShown(names, true));
  await bench.quiet(500);
  bench.writes = 0;
  for (let n = 0; n < 20; n++) {
    const body = { metadata: { annotations: { touched: String(n) } } };
    const at = { namespace: bench.namespace, type: 'merge', body } as const;
    await bench.cluster.kube.patch(services, { ...at, name: 'web-0' }, signal);
    await bench.cluster.kube.patch(externalWorkloads, { ...at, name: names[0] ?? '' }, signal);
  }
  await bench.quiet(1_000);
  row('20 touches that change nothing (unnamed port)', `${bench.writes} writes`);
  await bench.end();
}

async function owner(): Promise<void> {
  const bench = await Bench.begin(2);
  const names = await bench.fill(1, 1);
  await until(() => bench.isShown(names, true));
  // Shards settle between the two replicas within some seconds.
  await bench.quiet(6_000);
  const answer = await fetch(
    `${bench.cluster.replicas[0]?.url}/api/v1/actors/service/${bench.namespace}/web-0`,
  );
  const { owner: name } = (await answer.json()) as { owner: string };
  bench.writes = 0;
  const killedAt = clock.monotonic();
  await bench.cluster.kill(Number(/[0-9]+$/.exec(name)?.[0]));
  await bench.flip(names[0] ?? '', false);
  await until(() => bench.isShown(names, false));
  row('owner killed: next write', `${Math.round(bench.lastWriteAt - killedAt)} ms`);
  await bench.end();
}

const scenarios: Readonly<Record<string, () => Promise<void>>> = { cold, flip, rate, crowd, touch, owner };
for (const [name, measure] of Object.entries(scenarios)) {
  if (values.only === undefined || values.only === name) await measure();
}
