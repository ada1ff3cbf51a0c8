/**
 * The place at which the pages are followed: a folder that looks like a checkout, in which `npm start` runs,
 * with kubectl and the program on the PATH.
 *
 * Reading commands run in this process, as in test/cli/command.ts: loading the program fifty times would take
 * longer than all that they do. Anything beyond one command goes to a shell.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { inThisProcess } from '../cli/command.ts';
import { kubectlProgram } from '../kubectl.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';

export const root = join(import.meta.dirname, '../..');

export interface Ended {
  readonly code: number | string;
  readonly said: string;
}

export interface Desk {
  /** What `npm start` printed so far. */
  readonly told: () => string;
  /** Runs it to its end; a command that would never end, until its output satisfies `isEnough`. */
  run(command: string, options?: RunOptions): Promise<Ended>;
  stop(): Promise<void>;
}

export interface RunOptions {
  /** Aliases and variables that the page set before. */
  readonly before?: readonly string[];
  readonly isEnough?: (said: string) => boolean;
}

/** Two do everything that three do, and 20 requests a second all that 100 do, at a lower cost. */
const replicas = 2;
const load = ['--requests', '20'];

/** @param flags of `orrery dev`, besides a free port */
export async function startDesk(flags: readonly string[]): Promise<Desk> {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-pages-'));
  linkAll(root, folder, ['examples']);
  mkdirSync(join(folder, 'examples'));
  linkAll(join(root, 'examples'), join(folder, 'examples'), [slow]);
  writeFileSync(join(folder, 'examples', slow), hastened(readFileSync(join(root, 'examples', slow), 'utf8')));
  const env = environment(folder);
  const built = ['--program', program];
  const started = spawn(
    'npm',
    ['start', '--', '--http', '127.0.0.1:0', '--replicas', String(replicas), ...built, ...load, ...flags],
    {
      ...{ cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] as const },
    },
  );
  let told = '';
  for (const stream of [started.stdout, started.stderr]) stream.on('data', (piece) => (told += piece));
  const stop = async () => {
    await endGroup(started);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const isReady = () => told.match(/^orrery-\d .* ready$/gm)?.length === replicas;
    await until(isReady, { what: 'replicas', timeoutMs: 120_000 });
  } catch (error) {
    await stop();
    throw new Error(`npm start: ${told}`, { cause: error });
  }
  const nats = /nats:\/\/\S+/.exec(told)?.[0] ?? '';
  const replica = /http:\/\/\S+(?=\/ +ready)/.exec(told)?.[0] ?? '';
  return { told: () => told, run: runIn(folder, { ...env, DESK_NATS: nats, DESK_REPLICA: replica }), stop };
}

function linkAll(from: string, to: string, except: readonly string[]): void {
  for (const name of readdirSync(from))
    if (!name.startsWith('.') && !except.includes(name)) symlinkSync(join(from, name), join(to, name));
}

/** What a person should see takes seconds for each Pod, and a page replaces all of them one by one. */
const slow = 'gated-group.yaml';

const hastened = (text: string) =>
  text.replaceAll(/(routing-delay|drain): .+$/gm, (_, name: string) => `${name}: 200ms`);

/** Nothing of the tester's own has any influence; the kubeconfig is the cluster's. */
function environment(folder: string): Record<string, string> {
  const bin = join(folder, '.bin');
  mkdirSync(bin);
  const node = join(root, 'node_modules/.bin/node');
  const programs = {
    orrery: `exec '${node}' '${program}' "$@"`,
    'kubectl-orrery': `exec '${node}' '${program}' "$@"`,
    kubectl: `exec '${kubectlProgram}' "$@"`,
    nats: `exec '${node}' '${root}/test/pages/nats.mjs' "$@"`,
  };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/usr/bin/env bash\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const path = [bin, dirname(node), process.env.PATH].join(':');
  const kubeconfig = join(folder, '.orrery/kubeconfig');
  return { PATH: path, HOME: folder, KUBECONFIG: kubeconfig, KUBECACHEDIR: join(folder, '.cache') };
}

/** One reading command and nothing else, without anything that only a shell or a new process can do. */
const isReading =
  /^orrery (get|explain|events|send|dead|shards|chart|token|access)\b(?!.*--f(eature|ollow))[^|<>;&$`]*$/;

function runIn(folder: string, env: Record<string, string>) {
  return async (
    command: string,
    { before = [], isEnough = () => false }: RunOptions = {},
  ): Promise<Ended> => {
    const words = wordsOf(command);
    if (isReading.test(command) && !words.includes('-w')) {
      const { KUBECONFIG = '', HOME = '' } = env;
      const { code, out, err } = await inThisProcess(words.slice(1), { KUBECONFIG, HOME }, folder);
      return { code, said: out + err };
    }
    const script = ['shopt -s expand_aliases', ...before, command].join('\n');
    const shell = spawn('bash', ['-c', script], {
      ...{ cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] as const },
    });
    return collect(shell, isEnough);
  };
}

/** Words as a shell reads them, comments left out. */
function wordsOf(command: string): string[] {
  return [...command.replace(/ +#.*$/, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  );
}

/** Longer than any command of a page needs: one that waits in vain is ended, and fails. */
const patienceMs = 60_000;

function collect(shell: ChildProcess, isEnough: (said: string) => boolean): Promise<Ended> {
  return new Promise((resolve, reject) => {
    let said = '';
    const patience = systemClock.after(patienceMs, () => void endGroup(shell));
    const take = (piece: Buffer) => {
      said += piece.toString();
      if (isEnough(said)) void endGroup(shell);
    };
    shell.stdout?.on('data', take);
    shell.stderr?.on('data', take);
    shell.once('error', reject);
    shell.once('close', (code, signal) => {
      patience.cancel();
      resolve({ code: isEnough(said) ? 0 : (code ?? signal ?? 'unknown'), said });
    });
  });
}

/** Ends a process and what it started, as Ctrl-C does. */
function endGroup(leader: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (leader.exitCode !== null || leader.signalCode !== null || leader.pid === undefined) return resolve();
    leader.once('exit', () => resolve());
    try {
      process.kill(-leader.pid, 'SIGINT');
    } catch {
      // It has ended, and its exit is told next.
    }
  });
}
