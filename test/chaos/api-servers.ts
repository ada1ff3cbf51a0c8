/**
 * The Kubernetes API of a run: a kube-apiserver with its etcd if their programs are given, an existing one if
 * there is a kubeconfig, otherwise none (the development cluster brings its own).
 *
 * Promises: whatever is started here ends with `stop`, and when this process dies: a shell between the two
 * holds our end of a pipe. Ports are free ones of the loopback address.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../packages/dev-cluster/network/ports.ts';
import { systemClock as clock, sleep } from '../../src/base/clock.ts';

export type ApiProgram = 'kube-apiserver' | 'etcd';

export interface ApiServers {
  /** Absent: the development API. */
  readonly kubeconfig?: string;
  /** Whether we may kill it. */
  readonly canFail: boolean;
  kill(program: ApiProgram): Promise<void>;
  start(program: ApiProgram): Promise<void>;
  pause(program: ApiProgram): void;
  resume(program: ApiProgram): void;
  /** Absent: etcd's tools are not beside its program. */
  readonly backups?: EtcdBackups;
  stop(): Promise<void>;
}

/** As docs/disaster-recovery.md says; one at a time. */
export interface EtcdBackups {
  /** The newest revision. */
  revision(): Promise<number>;
  backUp(): Promise<void>;
  /**
   * Kills both programs and starts them on the last backup.
   *
   * @param isBumped so that every client learns that its version is too old
   * @param onDead called when both are dead
   */
  putBack(isBumped: boolean, onDead: () => void): Promise<void>;
}

const run = promisify(execFile);
const host = '127.0.0.1';
const token = 'chaos';
const readyWithinMs = 90_000;
const pauseMs = 250;
/** Addresses that a development cluster can listen on (docs/development-cluster.md). */
const serviceCidr = '127.96.0.0/16';

/** Somebody else's server, or none: nothing of it is killed. */
export function apiServersOf(kubeconfig: string | undefined): ApiServers {
  const nothing = async () => {};
  return {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    canFail: false,
    kill: nothing,
    start: nothing,
    pause: () => {},
    resume: () => {},
    stop: nothing,
  };
}

/** Ends its program when our end of the pipe closes, however that happens. */
const watchdog = `
exec 3<&0
"$@" 3<&- </dev/null >/dev/null &
server=$!
echo "$server"
( cat <&3 >/dev/null; kill -KILL "$server" ) >/dev/null 2>&1 &
watcher=$!
wait "$server"
kill "$watcher" 2>/dev/null
`;

interface Running {
  readonly shell: ChildProcess;
  readonly pid: number;
}

export async function startApiServers(
  dir: string,
  programs: { readonly kubeApiserver: string; readonly etcd: string },
): Promise<ApiServers> {
  mkdirSync(dir, { recursive: true });
  const [client, peer, port] = [await freePort(host, 0), await freePort(host, 0), await freePort(host, 0)];
  const lines = {
    etcd: [programs.etcd, ...etcdFlags(dir, client, peer)],
    'kube-apiserver': [programs.kubeApiserver, ...apiFlags(dir, client, port)],
  };
  const running = new Map<ApiProgram, Running>();
  let isOver = false;
  /** A backup is being put back, which starts both in the end. */
  let isBusy = false;
  const start = async (program: ApiProgram) => {
    if (isOver || isBusy || running.has(program)) return;
    running.set(program, await launch(lines[program], join(dir, `${program}.log`)));
  };
  const signal = (program: ApiProgram, name: NodeJS.Signals) => {
    const pid = running.get(program)?.pid;
    if (pid !== undefined) process.kill(pid, name);
  };
  const kill = (program: ApiProgram) => {
    const one = running.get(program);
    running.delete(program);
    return killed(one);
  };
  const startBoth = async () => {
    isBusy = false;
    await start('etcd');
    await start('kube-apiserver');
    return untilReady(dir, port);
  };
  const killBoth = async () => {
    await kill('kube-apiserver');
    await kill('etcd');
  };
  const stop = () => {
    isOver = true;
    return killBoth();
  };
  try {
    const kubeconfig = await startBoth();
    const swap = async (data: () => Promise<void>) => {
      isBusy = true;
      await killBoth();
      await data().finally(startBoth);
    };
    return {
      ...backupsOf(dir, programs.etcd, client, peer, swap),
      ...{ kubeconfig, canFail: true, kill, start, stop },
      pause: (program) => signal(program, 'SIGSTOP'),
      resume: (program) => signal(program, 'SIGCONT'),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @param swap exchanges the data while both programs are dead */
function backupsOf(
  dir: string,
  etcd: string,
  client: number,
  peer: number,
  swap: (data: () => Promise<void>) => Promise<void>,
): Pick<ApiServers, 'backups'> {
  const [ctl, util] = ['etcdctl', 'etcdutl'].map((tool) => join(dirname(etcd), tool)) as [string, string];
  if (!existsSync(ctl) || !existsSync(util)) return {};
  const file = join(dir, 'backup.db');
  const ask = async (...args: string[]) =>
    (await run(ctl, ['--endpoints', `http://${host}:${client}`, ...args])).stdout;
  const bumped = ['--bump-revision', '1000000000', '--mark-compacted'];
  const backups: EtcdBackups = {
    async revision() {
      const [one] = JSON.parse(await ask('endpoint', 'status', '-w', 'json')) as [EtcdStatus];
      return one.Status.header.revision;
    },
    async backUp() {
      rmSync(file, { force: true });
      await ask('snapshot', 'save', file);
    },
    putBack: (isBumped, onDead) =>
      swap(async () => {
        onDead();
        rmSync(join(dir, 'etcd'), { recursive: true, force: true });
        const place = etcdFlags(dir, client, peer).filter((flag) => !flag.includes('-client-urls'));
        const flags = place.filter((flag) => !flag.startsWith('--listen'));
        await run(util, ['snapshot', 'restore', file, ...flags, ...(isBumped ? bumped : [])]);
      }),
  };
  return { backups };
}

interface EtcdStatus {
  readonly Status: { readonly header: { readonly revision: number } };
}

async function killed(one: Running | undefined): Promise<void> {
  if (one === undefined) return;
  const ended = one.shell.exitCode === null ? once(one.shell, 'exit') : null;
  process.kill(one.pid, 'SIGKILL');
  await ended;
  one.shell.stdin?.destroy();
}

function etcdFlags(dir: string, client: number, peer: number): string[] {
  return [
    '--name=chaos',
    `--data-dir=${join(dir, 'etcd')}`,
    `--listen-client-urls=http://${host}:${client}`,
    `--advertise-client-urls=http://${host}:${client}`,
    `--listen-peer-urls=http://${host}:${peer}`,
    `--initial-advertise-peer-urls=http://${host}:${peer}`,
    `--initial-cluster=chaos=http://${host}:${peer}`,
  ];
}

function apiFlags(dir: string, etcd: number, port: number): string[] {
  const key = join(dir, 'service-accounts.key');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  writeFileSync(key, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  const tokens = join(dir, 'tokens.csv');
  writeFileSync(tokens, `${token},chaos,chaos,system:masters\n`, { mode: 0o600 });
  return [
    `--etcd-servers=http://${host}:${etcd}`,
    `--bind-address=${host}`,
    `--secure-port=${port}`,
    `--cert-dir=${join(dir, 'certificates')}`,
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--token-auth-file=${tokens}`,
    '--authorization-mode=RBAC',
    '--disable-admission-plugins=ServiceAccount',
    `--service-cluster-ip-range=${serviceCidr}`,
    '--profiling=false',
  ];
}

async function launch([program = '', ...flags]: readonly string[], logFile: string): Promise<Running> {
  const log = openSync(logFile, 'a');
  try {
    const shell = spawn('sh', ['-c', watchdog, 'chaos-watchdog', program, ...flags], {
      stdio: ['pipe', 'pipe', log],
      detached: true,
    });
    shell.stdin?.on('error', () => undefined);
    const [line] = (await once(shell.stdout ?? shell, 'data')) as [Buffer];
    return { shell, pid: Number(line.toString()) };
  } finally {
    closeSync(log);
  }
}

/** @returns the file of a kubeconfig */
async function untilReady(dir: string, port: number): Promise<string> {
  const certificate = join(dir, 'certificates', 'apiserver.crt');
  const deadline = clock.monotonic() + readyWithinMs;
  while (!existsSync(certificate) || (await statusOf(port)) !== 200) {
    if (clock.monotonic() > deadline)
      throw new Error(`the kube-apiserver does not become ready; see ${join(dir, 'kube-apiserver.log')}`);
    await sleep(clock, pauseMs);
  }
  const file = join(dir, 'kubeconfig');
  const ca = readFileSync(certificate).toString('base64');
  const cluster = {
    name: 'chaos',
    cluster: { server: `https://${host}:${port}`, 'certificate-authority-data': ca },
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [cluster],
    users: [{ name: 'chaos', user: { token } }],
    contexts: [{ name: 'chaos', context: { cluster: 'chaos', user: 'chaos' } }],
    'current-context': 'chaos',
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

function statusOf(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` };
    const options = { host, port, path: '/readyz', headers, rejectUnauthorized: false, agent: false };
    const request = get(options, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.setTimeout(2_000, () => request.destroy());
    request.on('error', () => resolve(undefined));
  });
}
