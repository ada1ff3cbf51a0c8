/** The command `orrery dev` as a person uses it: one process, its lines, and its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { inThisProcess } from '../cli/command.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';

const mainFile = resolve(import.meta.dirname, '../../src/main.ts');
let dir: string;
let dev: ChildProcess | undefined;
let output: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-command-'));
  output = '';
});
afterEach(async () => {
  dev?.kill('SIGKILL');
  await until(() => processesHere().length === 0, { what: 'the end of everything' });
  rmSync(dir, { recursive: true, force: true });
});

function start(...args: string[]): Promise<number | null> {
  const child = spawn(process.execPath, [mainFile, 'dev', '--dir', join(dir, 'dev'), ...args], { cwd: dir });
  dev = child;
  const take = (data: Buffer) => {
    output += data.toString();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  return new Promise((done) => child.once('exit', (code) => done(code)));
}
const line = (pattern: RegExp) =>
  until(() => pattern.exec(output), { what: `${pattern} in:\n${output}`, timeoutMs: 40_000 });

/** Processes that work in the folder of this test. */
function processesHere(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandOf(pid).includes(dir));
}
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

test('a wrong value ends with exit code 2 and a line that names the flag', async () => {
  expect(await start('--replicas', 'many')).toBe(2);
  expect(output).toMatch(/^error: --replicas: .* is not allowed; allowed: .*\n$/);
  const { code, err } = await inThisProcess(['dev', '--dir', join(dir, 'dev'), '--http', 'nowhere'], {}, dir);
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringMatching(/^error: --http: .* is not allowed; allowed: .*\n$/),
  });
  expect(existsSync(join(dir, 'dev'))).toBe(false);
});

test('a folder that cannot be made or written to is refused in one line that names it', async () => {
  const { signal } = new AbortController();
  const parts = { clock: systemClock, random: systemRandom, log: silentLog, print: () => {} };
  // Node's own recursive mkdir never returns below /proc; and not even root may put a file there.
  for (const folder of ['/proc/x/y', '/proc', '/dev/null', '/dev/null/x']) {
    const start = { ...parts, dir: folder, replicas: 0, http: { host: '127.0.0.1', port: 0 } };
    await expect(startDevCluster(start, signal)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(
        `^--dir: "${folder}" is not allowed; allowed: a folder that can be made and written to [(].*[)]$`,
      ),
    });
  }
});

test('it tells every address, stops on SIGTERM with 0, and leaves no process and no file but its folder', async () => {
  const ended = start('--replicas', '1', '--http', '127.0.0.1:0', '--no-scenario');
  await line(/^nats +nats:\/\/127\.0\.0\.1:\d+/m);
  await line(/^kubernetes +dev\/kubeconfig/m);
  await line(/^commands +orrery get --nats nats:\/\/127\.0\.0\.1:\d+ --cluster dev$/m);
  const [, url = ''] = await line(/^orrery-0 +(http:\/\/\S+) +ready$/m);
  expect((await fetch(`${url}readyz`)).status).toBe(200);
  dev?.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(processesHere()).toEqual([]);
  expect(readdirSync(dir)).toEqual(['dev']);
});

test('a replica that dies is told and started again; all end when the command is killed', async () => {
  const ended = start('--replicas', '1', '--http', '127.0.0.1:0', '--no-scenario', '--program', program);
  await line(/^orrery-0 .* ready$/m);
  const replica = processesHere().find((pid) => commandOf(pid).includes('--replica orrery-0'));
  process.kill(Number(replica), 'SIGKILL');
  await line(/^orrery-0 ended \(SIGKILL\); see \S+; it is started again in 0\.5 s$/m);
  await until(
    () => processesHere().some((pid) => pid !== replica && commandOf(pid).includes('--replica orrery-0')),
    {
      what: 'another replica',
    },
  );
  dev?.kill('SIGKILL');
  await ended;
  await until(() => processesHere().length === 0, { what: 'no process is left' });
});
