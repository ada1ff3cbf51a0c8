/** Replicas as processes: kept running, ended in good order, never left behind. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { clusterLimits } from '../../packages/dev-cluster/limits.ts';
import { createReplica, type ReplicaProcess } from '../../packages/dev-cluster/processes/processes.ts';
import { systemClock } from '../../src/base/clock.ts';
import { until } from '../until.ts';

const fixtures = join(import.meta.dirname, 'fixtures');
let dir: string;
let logFile: string;
let deaths: Array<{ how: string; pauseMs: number | null }>;
const replicas: ReplicaProcess[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-processes-'));
  logFile = join(dir, 'child.log');
  deaths = [];
});
afterEach(async () => {
  await Promise.all(replicas.splice(0).map((replica) => replica.stop()));
  rmSync(dir, { recursive: true });
});

function create(restarts: boolean): ReplicaProcess {
  const replica = createReplica({
    name: 'child',
    program: join(fixtures, 'child.ts'),
    args: [],
    logFile,
    clock: systemClock,
    restarts,
    onDeath: (how, pauseMs) => deaths.push({ how, pauseMs }),
  });
  replicas.push(replica);
  return replica;
}
const log = () => {
  try {
    return readFileSync(logFile, 'utf8');
  } catch {
    return '';
  }
};
const starts = (count: number) =>
  until(() => [...log().matchAll(/start (\d+)/g)].length >= count, { what: `${count} starts` });
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('a replica that dies is started again, and it is told', async () => {
  const replica = create(true);
  replica.start();
  await starts(1);
  const first = replica.pid();
  await replica.kill('SIGKILL');
  expect(replica.pid()).toBeUndefined();
  await starts(2);
  expect(replica.pid()).not.toBe(first);
  expect(deaths).toEqual([{ how: 'SIGKILL', pauseMs: 500 }]);
});

test('a replica that shall not be started again stays away until it is', async () => {
  const replica = create(false);
  replica.start();
  await starts(1);
  await replica.kill('SIGKILL');
  expect(deaths).toEqual([{ how: 'SIGKILL', pauseMs: null }]);
  replica.start();
  await starts(2);
});

test('stop asks a replica to end, waits for it, and does not start it again', async () => {
  const replica = create(true);
  replica.start();
  await starts(1);
  const pid = replica.pid() ?? 0;
  await replica.stop();
  expect(log()).toContain('asked to end');
  expect(isAlive(pid)).toBe(false);
  expect(deaths).toEqual([]);
  replica.start();
  expect(replica.pid()).toBeUndefined();
});

test('a child ends when its parent is killed', async () => {
  const pid = await orphan();
  await until(() => !isAlive(pid), { what: 'the child is gone', timeoutMs: clusterLimits.stopMs / 2 });
  expect(log()).toContain('asked to end');
});

test('a child that does not listen is ended all the same', async () => {
  const pid = await orphan('stubborn');
  await until(() => log().includes('asked to end'), { what: 'the child is asked' });
  await until(() => !isAlive(pid), { what: 'the child is gone', timeoutMs: clusterLimits.stopMs * 2 });
});

/** The pid of a child whose parent was just killed. */
async function orphan(...args: string[]): Promise<number> {
  const parent = spawn(process.execPath, [join(fixtures, 'parent.ts'), logFile, ...args], {
    stdio: 'ignore',
  });
  await starts(1);
  const pid = Number(/start (\d+)/.exec(log())?.[1]);
  expect(isAlive(pid)).toBe(true);
  parent.kill('SIGKILL');
  return pid;
}
