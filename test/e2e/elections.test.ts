/**
 * Elections with real processes: a nats-server, an API server, three replicas, candidates in this process and
 * one in Python.
 *
 * With KUBECONFIG set the same runs against that API server.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { untilReady } from '../../packages/dev-cluster/processes/replicas.ts';
import { namespaces } from '../../packages/dev-cluster/resources.ts';
import { Candidate } from '../../packages/dev-cluster/scenarios/candidate.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { silentLog as log } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { leaseRecordOf } from '../../src/features/elections/lease.ts';
import { elections, leases } from '../../src/features/elections/resources.ts';
import { program } from '../suite/program.ts';
import { until as untilBy } from '../until.ts';

const root = join(import.meta.dirname, '../..');
const kubeconfig = process.env.KUBECONFIG;
const { signal } = new AbortController();
const undos: Array<() => Promise<unknown> | unknown> = [];

afterEach(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

/**
 * The processes may have to share the machine with many others: only what they promise each other is bound
 * to a time.
 */
const until = <T>(probe: () => T | Promise<T>, { what }: { what: string }) =>
  untilBy(probe, { what, timeoutMs: 60_000 });

interface Stage {
  readonly cluster: DevCluster;
  readonly bus: Bus;
  readonly namespace: string;
  candidate(id: string, ttlMs: number, onLeading: (id: string, term: number) => void): Candidate;
}

async function setStage(): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-elections-'));
  undos.push(() => rmSync(dir, { recursive: true, force: true }));
  const basics = { clock, random, log };
  const http = { host: '127.0.0.1', port: 0 };
  const own = kubeconfig === undefined ? {} : { kubeconfig };
  const options = { ...basics, ...own, dir, program, replicas: 3, http, restarts: true, print: () => {} };
  const cluster = await startDevCluster(options, signal);
  undos.push(() => cluster.stop());
  for (const replica of cluster.replicas) await untilReady(replica, clock, signal);
  const namespace = `t-${Math.abs(process.pid)}`;
  await cluster.kube.create(namespaces, { metadata: { name: namespace } }, signal);
  await cluster.kube.create(elections, { metadata: { namespace, name: 'oven' }, spec: {} }, signal);
  const bus = await connectNats({ ...basics, servers: [cluster.natsUrl], name: 'test', cluster: 'dev' });
  undos.push(() => bus.close());
  const election = { namespace, name: 'oven' };
  const parts = { bus, subjects: subjectsOf('dev'), clock, log, election };
  return {
    cluster,
    bus,
    namespace,
    candidate(id, ttlMs, onLeading) {
      const candidate = new Candidate({ ...parts, id, ttlMs, onLeading: (term) => onLeading(id, term) });
      undos.push(() => candidate.stop());
      return candidate;
    },
  };
}

async function ownerOf({ bus, namespace }: Stage): Promise<number> {
  const { createControl } = await import('../../src/actors/control/control-client.ts');
  const control = createControl({ bus, subjects: subjectsOf('dev') });
  const view = await control.get(`election/${namespace}/oven`);
  return Number(view?.owner?.split('-').at(-1));
}

test('candidates lead by the Lease, one for each term; the leader survives the death of the replica that serves it; Python takes part', async () => {
  const stage = await setStage();
  const { cluster, namespace } = stage;
  const leaders: Array<[id: string, term: number]> = [];
  const note = (id: string, term: number) => void leaders.push([id, term]);
  const lease = async () => leaseRecordOf(await cluster.kube.get(leases, namespace, 'oven', signal));

  // That 3 s are enough is shown where time is virtual (test/features/elections/failover.test.ts).
  const a = stage.candidate('a', 30_000, note);
  await until(() => a.term(), { what: 'a leads' });
  expect(await lease()).toMatchObject({ holder: 'a', transitions: 0 });
  const [b, c] = [stage.candidate('b', 6_000, note), stage.candidate('c', 30_000, note)];

  // The replica that serves the election dies; the leader stays, under its term.
  await cluster.kill(await ownerOf(stage));
  const renewed = (await lease()).renewTime;
  await until(async () => (await lease()).renewTime !== renewed, { what: 'another replica renews' });
  expect([a.term(), b.term(), c.term(), leaders]).toEqual([1, null, null, [['a', 1]]]);

  // It resigns, and the next one leads; that one falls silent, and is followed when its time is over.
  await a.resign();
  await until(() => b.term(), { what: 'b leads' });
  const heardAt = b.heardAt();
  b.fallSilent(600_000);
  await until(() => c.term(), { what: 'c leads' });
  expect(clock.monotonic() - heardAt).toBeGreaterThan(5_900);
  expect(leaders).toEqual([
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ]);
  expect(await lease()).toMatchObject({ holder: 'c', transitions: 2 });
  const status = await until(
    async () => {
      const found = await cluster.kube.get(elections, namespace, 'oven', signal);
      return (found.status as { holder?: string })?.holder === 'c' ? found.status : undefined;
    },
    { what: 'the status tells of c' },
  );
  expect(status).toMatchObject({ holder: 'c', term: 3, transitions: 2 });
  const measured = `orrery_election_term{election="${namespace}/oven"} 3`;
  const texts = async () =>
    Promise.all(cluster.replicas.map(({ url }) => fetch(`${url}/metrics`).then((answer) => answer.text())));
  await until(async () => (await texts()).filter((text) => text.includes(measured)).length === 1, {
    what: 'its owner counts the term, and nobody else does',
  });

  if (spawnSync('python3', ['--version']).status === 0) await pythonLeads(stage, c);
}, 300_000);

async function pythonLeads({ cluster, namespace }: Stage, leader: Candidate): Promise<void> {
  // This server asks for no login, and looks at none.
  const nats = `python:pass@${new URL(cluster.natsUrl).host}`;
  const flags = ['--nats', nats, '--cluster', 'dev', '--election', `${namespace}/oven`, '--id', 'python'];
  const child: ChildProcess = spawn('python3', [join(root, 'examples/election/candidate.py'), ...flags]);
  undos.push(() => child.kill('SIGKILL'));
  let out = '';
  child.stdout?.on('data', (text) => {
    out += text;
  });
  const record = async () => leaseRecordOf(await cluster.kube.get(leases, namespace, 'oven', signal));
  const status = async () =>
    (await cluster.kube.get(elections, namespace, 'oven', signal)).status as { candidates: string[] };
  await until(async () => (await status()).candidates.includes('python'), { what: 'python is a candidate' });
  await leader.resign();
  await until(() => out.includes('python leads under term 4'), { what: 'python leads' });
  expect((await record()).holder).toBe('python');
  child.kill('SIGTERM');
  await until(() => out.includes('python resigned from term 4'), { what: 'python resigns' });
  await until(async () => (await record()).holder !== 'python', { what: 'the Lease is passed on' });
}
