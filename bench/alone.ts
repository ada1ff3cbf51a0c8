/**
 * A program that is measured as a process with nothing in it but itself. Either a replica without what the
 * development cluster loads into its own (packages/dev-cluster/processes), which is TypeScript and needs a
 * compiler; or another controller that maintains the same objects.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../packages/dev-cluster/network/ports.ts';

export interface Alone {
  start(): void;
  kill(): Promise<void>;
  pid(): number | undefined;
  /** Where it answers; undefined: nowhere. */
  readonly url?: string;
}

interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The signal that ends it. */
  readonly signal: NodeJS.Signals;
}

function alone({ program, args, env, signal }: Command): Alone {
  let child: ChildProcess | undefined;
  return {
    start() {
      const started = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...env } });
      child = started;
      started.once('exit', (code) => {
        // Nobody waits for ever for one that refuses its options, say.
        if (child === started) throw new Error(`${[program, ...args].join(' ')}: ended with ${code}`);
      });
    },
    async kill() {
      if (child === undefined) return;
      const stopped = child;
      child = undefined;
      const ended = once(stopped, 'exit');
      stopped.kill(signal);
      await ended;
    },
    pid: () => child?.pid,
  };
}

/**
 * @param command to start, with KUBECONFIG in its environment; split into words at spaces. It is asked to
 * end, so that its lease does not delay the next start.
 */
export function otherController(command: string, kubeconfig: string): Alone {
  const [program = '', ...args] = command.split(' ');
  return alone({ program, args, env: { KUBECONFIG: kubeconfig }, signal: 'SIGTERM' });
}

export async function replicaAlone(parts: {
  /** A built program, such as dist/main.js. */
  readonly program: string;
  /** Options of Node for it. */
  readonly options: string;
  readonly natsUrl: string;
  readonly kubeconfig: string;
  /** The signal that ends it; absent: SIGKILL. */
  readonly signal?: NodeJS.Signals;
}): Promise<Alone> {
  const { program, options, natsUrl, kubeconfig, signal = 'SIGKILL' } = parts;
  const host = '127.0.0.1';
  const [http, acme] = [await freePort(host, 0), await freePort(host, 0)];
  const flags = {
    ...{ cluster: 'dev', nats: natsUrl, kubeconfig, replica: 'orrery-0', 'inspector-auth': 'none' },
    ...{ http: `${host}:${http}`, 'acme-http': `${host}:${acme}` },
  };
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  const env = { NODE_OPTIONS: options };
  const command = {
    program: process.execPath,
    args: [program, 'run', ...args],
    env,
    signal,
  } as const;
  return { ...alone(command), url: `http://${host}:${http}` };
}
