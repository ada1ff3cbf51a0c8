/**
 * Elections with real processes and a real API server or the development one: how long a hand-over takes, and
 * how many renewals one replica bears.
 *
 * Run: node bench/elections.ts [--only lease|nats|load] [--runs 50] [--at-once 5] [--elections 1000]
 * [--seconds 10] [--lease 3] [--deadline 2] [--retry 1]
 * - lease: two processes that campaign on a Lease (`orrery elect`'s own campaign): graceful hand-over and
 *   crash, some at a time
 * - nats: two candidates of one Election over NATS, `ttlMs` 3000: graceful hand-over and crash, some at a
 *   time
 * - load: `--elections` elections, each with a leader, on one replica: renewals a second; their Leases are
 *   renewed every `--load-retry` seconds (10), for what is measured is the candidates' requests, not the API
 *   server With KUBECONFIG set the Leases are on that API server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DevCluster, startDevCluster } from '../packages/dev-cluster/cluster.ts';
import { untilReady } from '../packages/dev-cluster/processes/replicas.ts';
import { namespaces } from '../packages/dev-cluster/resources.ts';
import { Candidate } from '../packages/dev-cluster/scenarios/candidate.ts';
import { choice, number, readFlags, whole } from '../scripts/flags.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import { asError } from '../src/base/errors.ts';
import type { KubePort } from '../src/base/kube-port.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import { decode, encodeJson } from '../src/bus/codec.ts';
import { connectNats } from '../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../src/bus/subjects.ts';
import { type Campaign, startCampaign } from '../src/features/elections/campaign.ts';
import { leaseRecordOf } from '../src/features/elections/lease.ts';
import { elections, leases } from '../src/features/elections/resources.ts';

const values = readFlags(
  'node bench/elections.ts',
  'Elections with real processes: hand-overs, and renewals a second.',
  {
    only: choice('one part', ['lease', 'nats', 'load']),
    runs: whole('hand-overs of each sort', 50),
    'at-once': whole('elections at the same time', 5),
    elections: whole('elections of `load`', 1_000),
    seconds: number('how long `load` is measured', 10),
    lease: number('lease duration, seconds', 3),
    deadline: number('renew deadline, seconds', 2),
    retry: number('retry period, seconds', 1),
    'load-retry': number('how often the Leases of `load` are renewed, seconds', 10),
  },
);
const namespace = `bench-${process.pid}`;
const runs = values.runs;
const ttlMs = 3_000;
const timing = {
  leaseMs: values.lease * 1_000,
  renewDeadlineMs: values.deadline * 1_000,
  retryMs: values.retry * 1_000,
};
const { signal } = new AbortController();
const row = (what: string, value: string) => console.log(`${what.padEnd(64)} ${value}`);

function quantiles(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (q: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms (${sorted.length})`;
}

/** A few at a time: their own work must not be what is measured. */
async function measured(names: readonly string[], one: (name: string) => Promise<number>): Promise<number[]> {
  const left = [...names];
  const times: number[] = [];
  const lane = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) times.push(await one(name));
  };
  await Promise.all(Array.from({ length: values['at-once'] }, lane));
  return times;
}

async function until(probe: () => unknown, what: string, pauseMs = 5): Promise<void> {
  const end = clock.monotonic() + 60_000;
  while (!(await probe())) {
    if (clock.monotonic() > end) throw new Error(`waited too long for: ${what}`);
    await sleep(clock, pauseMs);
  }
}

/** A connection to the API server that can be cut for good: a process that dies says nothing more. */
function mortal(kube: KubePort): { readonly kube: KubePort; die(): void } {
  let isDead = false;
  const silence = new Promise<never>(() => {});
  const unless =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      isDead ? silence : call(...args);
  return {
    kube: { ...kube, get: unless(kube.get), create: unless(kube.create), replace: unless(kube.replace) },
    die: () => {
      isDead = true;
    },
  };
}

/**
 * One hand-over on a Lease of its own.
 * @returns ms from the leader's end (graceful) or from its last renewal (crash) to the next leader
 */
async function onLease(kube: KubePort, name: string, isCrash: boolean): Promise<number> {
  const place = { namespace, name };
  let leadsAt = 0;
  const line = mortal(kube);
  const open = (id: string, port: KubePort, onLeading: () => void): Campaign =>
    startCampaign({ kube: port, clock, random, log, place, id, timing, onLeading, onLost: () => {} });
  const first = open('first', line.kube, () => {});
  await until(() => first.leading(), 'the first leads');
  const second = open('second', kube, () => {
    leadsAt = clock.now();
  });
  await until(() => second.status().holder === 'first', 'the second has seen it');
  // Somewhere between two renewals.
  await sleep(clock, timing.retryMs + random.next() * timing.retryMs);
  let from = clock.now();
  if (isCrash) {
    line.die();
    await sleep(clock, 50);
    from = Date.parse(leaseRecordOf(await kube.get(leases, namespace, name, signal)).renewTime);
  } else await first.stop();
  await until(() => leadsAt > 0, 'the second leads');
  if (isCrash) void first.stop();
  await second.stop();
  return leadsAt - from;
}

async function leaseBench({ kube }: DevCluster): Promise<void> {
  const { lease, deadline, retry } = values;
  const title = `Lease ${lease}/${deadline}/${retry} s`;
  for (const isCrash of [false, true]) {
    const names = Array.from({ length: runs }, (_, n) => `l-${isCrash ? 'crash' : 'end'}-${n}`);
    const times = await measured(names, (name) => onLease(kube, name, isCrash));
    const what = isCrash ? 'crash, from the last renewal' : 'graceful, from the leader’s call to end';
    row(`${title}: ${what}`, quantiles(times));
  }
}

type Bus = Awaited<ReturnType<typeof connectNats>>;
const subjects = subjectsOf('dev');

/**
 * @returns ms from the leader's resignation, or from its last message, until the next leader knows that it
 * leads
 */
async function overNats(bus: Bus, name: string, isCrash: boolean): Promise<number> {
  let leadsAt = 0;
  const parts = { bus, subjects, clock, log, election: { namespace, name }, ttlMs };
  const first = new Candidate({ ...parts, id: 'first' });
  await until(() => first.term(), 'the first leads');
  const second = new Candidate({
    ...parts,
    id: 'second',
    onLeading: () => {
      leadsAt = clock.monotonic();
    },
  });
  await sleep(clock, 1_500 + random.next() * 1_000);
  const from = isCrash ? await lastWord(first) : clock.monotonic();
  if (!isCrash) void first.resign();
  await until(() => leadsAt > 0, 'the second leads');
  first.stop();
  second.stop();
  return leadsAt - from;
}

/** The leader dies right after a renewal was answered. */
async function lastWord(leader: Candidate): Promise<number> {
  const before = leader.heardAt();
  await until(() => leader.heardAt() !== before, 'a renewal');
  leader.fallSilent(60_000);
  return leader.heardAt();
}

async function natsBench({ kube }: DevCluster, bus: Bus): Promise<void> {
  for (const isCrash of [false, true]) {
    const names = Array.from({ length: runs }, (_, n) => `n-${isCrash ? 'crash' : 'end'}-${n}`);
    for (const name of names)
      await kube.create(elections, { metadata: { namespace, name }, spec: {} }, signal);
    const times = await measured(names, (name) => overNats(bus, name, isCrash));
    const what = isCrash ? 'crash, from the leader’s last renewal' : 'graceful, from the resignation';
    row(`NATS, ttlMs ${ttlMs}: ${what}`, quantiles(times));
  }
}

async function loadBench({ kube }: DevCluster, bus: Bus): Promise<void> {
  const count = values.elections;
  const names = Array.from({ length: count }, (_, n) => `load-${n}`);
  const retryPeriodSeconds = values['load-retry'];
  const spec = { leaseDurationSeconds: 60, renewDeadlineSeconds: 40, retryPeriodSeconds };
  for (const name of names) await kube.create(elections, { metadata: { namespace, name }, spec }, signal);
  const ask = async (name: string, action: 'campaign' | 'renew', body: object) => {
    const subject = subjects.rpcElection(namespace, name, action);
    return decode((await bus.request(subject, encodeJson(body), { timeoutMs: 5_000 })).data) as {
      leading: boolean;
      reason?: string;
    };
  };
  const leads = async (name: string) => {
    const isLeading = () =>
      ask(name, 'campaign', { candidate: 'a', ttlMs: 600_000 }).then(({ leading }) => leading);
    await until(() => isLeading().catch(() => false), `${name} has a leader`, 200);
  };
  for (let n = 0; n < count; n += 50) await Promise.all(names.slice(n, n + 50).map(leads));
  const end = clock.monotonic() + values.seconds * 1_000;
  const times: number[] = [];
  const refused = new Map<string, number>();
  const client = async (own: readonly string[]) => {
    for (let n = 0; clock.monotonic() < end; n++) {
      const from = clock.monotonic();
      const answer = await ask(own[n % own.length] ?? '', 'renew', { candidate: 'a', term: 1 }).catch(
        (error) => ({ leading: false, reason: asError(error).message }),
      );
      times.push(clock.monotonic() - from);
      const { leading, reason = '' } = answer;
      if (!leading) refused.set(reason, (refused.get(reason) ?? 0) + 1);
    }
  };
  const clients = 64;
  await Promise.all(
    Array.from({ length: clients }, (_, c) => client(names.filter((_, n) => n % clients === c))),
  );
  const perSecond = Math.round(times.length / values.seconds);
  row(
    `${count} elections on one replica, ${clients} renewals at a time`,
    `${perSecond} renewals/s, ${quantiles(times)}`,
  );
  for (const [reason, times] of refused) row(`… without success: ${reason}`, String(times));
}

const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
const kubeconfig = process.env.KUBECONFIG;
const replicas = values.only === 'lease' ? 0 : 1;
const options = { clock, random, log, dir, replicas, http: { host: '127.0.0.1', port: 0 }, restarts: false };
const own = kubeconfig === undefined ? {} : { kubeconfig };
const cluster = await startDevCluster({ ...options, ...own, print: () => {} }, signal);
const bus = await connectNats({
  clock,
  random,
  log,
  servers: [cluster.natsUrl],
  name: 'bench',
  cluster: 'dev',
});
try {
  for (const replica of cluster.replicas) await untilReady(replica, clock, signal);
  await cluster.kube.create(namespaces, { metadata: { name: namespace } }, signal);
  if (values.only === undefined || values.only === 'lease') await leaseBench(cluster);
  if (values.only === undefined || values.only === 'nats') await natsBench(cluster, bus);
  if (values.only === undefined || values.only === 'load') await loadBench(cluster, bus);
} finally {
  await bus.close();
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);
