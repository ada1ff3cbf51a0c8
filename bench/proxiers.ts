/**
 * Proxiers on one replica: what steady reports from many nodes cost, and how soon an answer changes.
 *
 * One nats-server, one replica, N nodes with two families each; every family sends one message every P
 * seconds (queued and updated in turn, so that each changes the actor). Meanwhile some nodes are asked over
 * HTTP until an update shows in the answer.
 *
 * Run: node bench/proxiers.ts [--nodes 5000] [--period 5] [--seconds 30]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureAll, readManifests } from '../packages/dev-cluster/manifests.ts';
import { startNatsServer } from '../packages/dev-cluster/processes/nats-server.ts';
import { createReplicas, untilReady } from '../packages/dev-cluster/processes/replicas.ts';
import { startKubeApi } from '../packages/kube-api/server.ts';
import { number, readFlags, whole } from '../scripts/flags.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import type { Bus } from '../src/bus/bus.ts';
import { encode } from '../src/bus/codec.ts';
import { connectNats } from '../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../src/bus/subjects.ts';
import { connectKube } from '../src/kube/api/kube-connection.ts';

const values = readFlags(
  'node bench/proxiers.ts',
  'What steady reports from many nodes cost, and how soon an answer changes.',
  {
    nodes: whole('nodes, each with two families', 5_000),
    period: number('seconds between two messages of one family', 5),
    seconds: number('how long it is measured', 30),
  },
);
const { nodes, seconds } = values;
const periodMs = values.period * 1000;
const subjects = subjectsOf('dev');
const families = ['IPv4', 'IPv6'] as const;
const { signal } = new AbortController();
const agent = new Agent({ keepAlive: true });
const row = (what: string, value: string) => console.log(`${what.padEnd(60)} ${value}`);

interface Use {
  /** Of the process, seconds of CPU. */
  readonly cpu: number;
  readonly rssMiB: number;
}

/** What the kernel counts of a process (100 ticks a second). */
function useOf(pid: number): Use {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, rssMiB: Math.round(rss / 1024) };
}

function send(bus: Bus, node: string, type: string, family: string): Promise<unknown> {
  return bus.append(subjects.send(`proxier/_/${node}`), encode({ type, family }));
}

/** Every family of every node sends once a period, evenly spread; queued and updated in turn. */
async function load(bus: Bus, state: { sent: number; failed: number; isOver: boolean }): Promise<void> {
  const total = nodes * families.length;
  const began = clock.monotonic();
  while (!state.isOver) {
    const due = Math.floor(((clock.monotonic() - began) / periodMs) * total);
    for (; state.sent < due; state.sent++) {
      const n = state.sent % total;
      const type = Math.floor(state.sent / total) % 2 === 0 ? 'proxier.updated' : 'proxier.queued';
      send(bus, `node-${n >> 1}`, type, families[n & 1] ?? 'IPv4').catch(() => state.failed++);
    }
    await sleep(clock, 5);
  }
}

function lastUpdated(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve(response.statusCode === 404 ? '' : (JSON.parse(text).status?.IPv4?.lastUpdated ?? '')),
      );
    }).on('error', reject);
  });
}

/** Steps of proxiers that the replica has saved. */
async function stepsOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^orrery_transitions_total\{kind="proxier"\} (\d+)/m.exec(text)?.[1] ?? 0);
}

/**
 * Time from the sending of an update until an answer shows it, on a node of its own, for which nobody else
 * reports.
 */
async function sample(bus: Bus, url: string, n: number): Promise<number> {
  const path = `${url}/proxiers/probe-${n % 20}/livez`;
  const before = await lastUpdated(path);
  const began = clock.monotonic();
  await send(bus, `probe-${n % 20}`, 'proxier.updated', 'IPv4');
  while ((await lastUpdated(path)) === before) await sleep(clock, 1);
  return clock.monotonic() - began;
}

function quantiles(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (q: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms (${sorted.length})`;
}

const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
const nats = await startNatsServer({ dir: join(dir, 'nats'), clock });
const api = await startKubeApi({ clock, random, log });
const kubeconfig = join(dir, 'kubeconfig');
writeFileSync(kubeconfig, api.kubeconfig(), { mode: 0o600 });
const kube = connectKube({ kubeconfig, clock, random, log });
await ensureAll(kube, await readManifests(join(import.meta.dirname, '../deploy/crds')), signal);
const [replica] = await createReplicas({
  count: 1,
  http: { host: '127.0.0.1', port: 0 },
  dir,
  natsUrl: nats.url,
  kubeconfig,
  cluster: 'dev',
  flags: [],
  env: {},
  restarts: false,
  clock,
  print: () => {},
});
if (!replica) throw new Error('one replica was asked for');
replica.start();
await untilReady(replica, clock, signal);
const bus = await connectNats({ servers: [nats.url], name: 'bench', cluster: 'dev', clock, random });
const pid = replica.pid() ?? 0;
const idle = useOf(pid);

const state = { sent: 0, failed: 0, isOver: false };
const loading = load(bus, state);
// The first period creates the actors.
await sleep(clock, periodMs);
const [before, sentBefore, natsBefore] = [useOf(pid), state.sent, useOf(nats.pid)];
const stepsBefore = await stepsOf(replica.url);
const began = clock.monotonic();
const times: number[] = [];
for (let n = 0; clock.monotonic() - began < seconds * 1000; n++) {
  times.push(await sample(bus, replica.url, n));
  await sleep(clock, 20);
}
const took = (clock.monotonic() - began) / 1000;
const [after, steps] = [useOf(pid), (await stepsOf(replica.url)) - stepsBefore];
state.isOver = true;
await loading;

row(`nodes × families, one message each ${values.period} s`, `${nodes} × ${families.length}`);
row('messages', `${Math.round((state.sent - sentBefore) / took)}/s, not stored: ${state.failed}`);
row('steps saved', `${Math.round(steps / took)}/s`);
row('load of the machine, one minute', loadavg()[0]?.toFixed(1) ?? '');
row('replica: CPU', `${(((after.cpu - before.cpu) / took) * 100).toFixed(0)} % of one core`);
row(
  'nats-server: CPU',
  `${(((useOf(nats.pid).cpu - natsBefore.cpu) / took) * 100).toFixed(0)} % of one core`,
);
row('replica: memory', `${after.rssMiB} MiB (idle: ${idle.rssMiB} MiB)`);
row('message → changed answer', quantiles(times));
await replica.stop();
await bus.close();
kube.close();
await api.stop();
await nats.stop();
rmSync(dir, { recursive: true, force: true });
agent.destroy();
