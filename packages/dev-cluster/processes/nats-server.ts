/**
 * A real `nats-server` as a child process, for development and tests.
 *
 * Owns: finding the program, its configuration (loopback only, JetStream in a given folder, a port that the
 * server chooses), its start and its end. When this process dies, even by SIGKILL, the server ends too: a
 * shell between the two holds our end of a pipe and stops the server when the pipe closes. Absent: what is
 * stored there (`bus/nats/ensure-streams.ts`), and installing the program (`npm start` and `npm test` do
 * that).
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { asError, OrreryError } from '../../../src/base/errors.ts';
import { type Log, silentLog } from '../../../src/base/log.ts';
import { isAtLeast, parseVersion } from '../../../src/bus/nats/server/nats-version.ts';
import { freePort } from '../network/ports.ts';

export interface NatsServerParts {
  /** Where JetStream stores, and where the server's configuration is written. */
  readonly dir: string;
  /** Default: one that the server chooses. */
  readonly port?: number;
  readonly name?: string;
  /** For a member of a NATS cluster: the port for the other servers, and their addresses. */
  readonly cluster?: {
    readonly name: string;
    readonly port: number;
    readonly routes: readonly string[];
    /** false: clients do not hear of the other servers; default true. */
    readonly advertises?: boolean;
  };
  readonly clock?: Clock;
  readonly log?: Log;
}

export interface NatsServer {
  /** `nats://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly version: string;
  /** Ends it cleanly; resolves when the process is gone. Safe to call twice. */
  stop(): Promise<void>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT: the server hangs while its connections stay open. */
  pause(): void;
  resume(): void;
}

const run = promisify(execFile);
const projectRoot = resolve(import.meta.dirname, '../../..');
const oldest = { major: 2, minor: 12, patch: 0 };
/** A start takes about 50 ms; a folder with millions of messages is read in seconds. */
const startTimeoutMs = 20_000;
/** A server that has not ended this long after it was asked to is killed: it had time to flush. */
const stopTimeoutMs = 5_000;

/** $1… is the server's command line. Writes the server's pid, then lives as long as the server. */
const watchdog = `
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
echo "$server"
( cat <&3 >/dev/null; kill -TERM "$server" ) >/dev/null 2>&1 &
watcher=$!
wait "$server"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"
`;

/**
 * Starts a server and waits until it accepts connections.
 *
 * @throws OrreryError USAGE if no `nats-server` of at least 2.12 is found, BUS_UNREACHABLE if it does not
 * start
 */
export async function startNatsServer(parts: NatsServerParts): Promise<NatsServer> {
  const { clock = systemClock, log = silentLog } = parts;
  const { path, version } = await findNatsServer();
  await mkdir(parts.dir, { recursive: true });
  const configFile = join(parts.dir, 'nats-server.conf');
  await writeFile(configFile, `${JSON.stringify(configOf(parts), null, 2)}\n`);
  const child = spawn('sh', ['-c', watchdog, 'nats-watchdog', path, '-c', configFile], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // A process group of its own: Ctrl-C at the terminal is for us, and we stop the server last.
    detached: true,
  });
  // A closed pipe tells the child of our end. If the child is gone before us, that is no error here.
  child.stdin?.on('error', () => undefined);
  try {
    const started = await untilReady(child, { clock, log });
    return runningServer(child, started, version, clock);
  } catch (error) {
    child.stdin?.destroy();
    throw error;
  }
}

/**
 * Starts servers `n0`, `n1`, … that know each other; each stores in a folder of that name under `dir`. They
 * elect their leader after this has resolved.
 *
 * @returns the servers, and how to start one of them again as it was
 */
export async function startNatsCluster(parts: {
  readonly size: number;
  readonly dir: string;
  /** Whether clients hear of servers that they were not told of; default true. */
  readonly advertises?: boolean;
  readonly log?: Log;
}): Promise<{ servers: NatsServer[]; startAgain(index: number): Promise<NatsServer> }> {
  const { size, dir, advertises = true, log = silentLog } = parts;
  const indexes = [...Array(size).keys()];
  // A server needs its routes before it starts, so the servers cannot choose these ports.
  const ports = await Promise.all(indexes.map(() => freePort('127.0.0.1', 0)));
  const routes = ports.map((port) => `nats://127.0.0.1:${port}`);
  const start = (index: number, port?: number): Promise<NatsServer> =>
    startNatsServer({
      dir: join(dir, `n${index}`),
      name: `n${index}`,
      cluster: {
        name: 'orrery-dev',
        port: ports[index] ?? 0,
        routes: routes.filter((_, other) => other !== index),
        advertises,
      },
      ...(port === undefined ? {} : { port }),
      log,
    });
  const started = await Promise.allSettled(indexes.map((index) => start(index)));
  const servers = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = started.find((result) => result.status === 'rejected');
  if (failed) {
    await Promise.all(servers.map((server) => server.kill()));
    throw failed.reason;
  }
  return { servers, startAgain: (index) => start(index, servers[index]?.port) };
}

interface NatsProgram {
  readonly path: string;
  readonly version: string;
}

/** By where they were looked for. */
const programs = new Map<string, Promise<NatsProgram>>();

/**
 * The program and its version: `NATS_SERVER`, else from the project's `.tools`, else from the PATH. Once it
 * is found, it is looked for anew only somewhere else: each look runs the program and reads a folder tree.
 */
export function findNatsServer(): Promise<NatsProgram> {
  const { NATS_SERVER, PATH } = process.env;
  const where = JSON.stringify([NATS_SERVER, PATH]);
  const finding = programs.get(where) ?? lookForNatsServer();
  programs.set(where, finding);
  finding.catch(() => programs.delete(where));
  return finding;
}

async function lookForNatsServer(): Promise<NatsProgram> {
  const reasons: string[] = [];
  for (const path of await candidates()) {
    const version = await versionOf(path);
    const parsed = parseVersion(version ?? '');
    if (version !== undefined && parsed && isAtLeast(parsed, oldest)) return { path, version };
    reasons.push(`${path} ${version === undefined ? 'does not run' : `is ${version}`}`);
  }
  const found = reasons.length === 0 ? 'none found' : reasons.join(', ');
  throw new OrreryError(
    'USAGE',
    `a nats-server of 2.12 or newer is needed (${found}): name one in NATS_SERVER, or let "npm start" or "npm test" put it under .tools`,
  );
}

async function candidates(): Promise<string[]> {
  const named = process.env.NATS_SERVER;
  if (named) return [named];
  const tools = join(projectRoot, '.tools');
  const files = existsSync(tools) ? await readdir(tools, { recursive: true, withFileTypes: true }) : [];
  const own = files.filter((file) => file.isFile() && file.name === 'nats-server');
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'nats-server'));
  return [
    ...own.map((file) => join(file.parentPath, file.name)),
    ...onPath.filter((path) => existsSync(path)),
  ];
}

async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: startTimeoutMs });
    return /\bv(\d\S*)/.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

function configOf({ dir, port, name, cluster }: NatsServerParts): object {
  const storeDir = join(dir, 'jetstream');
  return {
    listen: `127.0.0.1:${port ?? -1}`,
    ...(name === undefined ? {} : { server_name: name }),
    jetstream: { store_dir: storeDir },
    ...(cluster === undefined
      ? {}
      : {
          cluster: {
            name: cluster.name,
            listen: `127.0.0.1:${cluster.port}`,
            routes: cluster.routes,
            no_advertise: cluster.advertises === false,
          },
        }),
  };
}

interface Started {
  readonly pid: number;
  readonly port: number;
}

/** Reads the pid and the ports from the child's output. */
function untilReady(child: ChildProcess, { clock, log }: { clock: Clock; log: Log }): Promise<Started> {
  const { promise, resolve: ready, reject } = Promise.withResolvers<Started>();
  const fail = (reason: string) =>
    reject(new OrreryError('BUS_UNREACHABLE', `nats-server did not start: ${reason}`));
  const timer = clock.after(startTimeoutMs, () => fail(`not ready after ${startTimeoutMs} ms`));
  const seen: { pid?: number; port?: number; last: string } = { last: '' };
  const look = (): void => {
    const { pid, port } = seen;
    if (pid === undefined || port === undefined) return;
    timer.cancel();
    ready({ pid, port });
  };
  if (child.stdout)
    createInterface({ input: child.stdout }).on('line', (line) => {
      seen.pid ??= Number(line);
      look();
    });
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.debug({ line }, 'nats-server');
      seen.last = line;
      const port = /Listening for client connections on \S+:(\d+)/.exec(line)?.[1];
      if (port !== undefined) seen.port = Number(port);
      look();
    });
  child.on('error', (error) => fail(asError(error).message));
  child.on('exit', (code) => {
    timer.cancel();
    fail(`exit code ${code}, last line: ${seen.last}`);
  });
  return promise;
}

function runningServer(
  child: ChildProcess,
  { pid, port }: Started,
  version: string,
  clock: Clock,
): NatsServer {
  let isGone = child.exitCode !== null || child.signalCode !== null;
  const gone = isGone ? Promise.resolve() : new Promise<void>((resolve) => child.on('exit', () => resolve()));
  void gone.then(() => {
    isGone = true;
    child.stdin?.destroy();
  });
  const signal = (name: NodeJS.Signals): void => {
    if (isGone) return;
    try {
      process.kill(pid, name);
    } catch {
      // It has just ended by itself; `gone` tells.
    }
  };
  const kill = async (): Promise<void> => {
    signal('SIGKILL');
    await gone;
  };
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    pid,
    version,
    async stop() {
      signal('SIGCONT');
      signal('SIGINT');
      const timer = clock.after(stopTimeoutMs, () => signal('SIGKILL'));
      await gone;
      timer.cancel();
    },
    kill,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  };
}
