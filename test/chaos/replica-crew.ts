/**
 * The replicas of a run as processes of their own, each with connections of its own to every server, which
 * can be cut.
 *
 * Promises: nobody but us ends a process; one that ends by itself is reported. `stop` leaves none behind.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { outsideVariable } from '../../packages/dev-cluster/network/outside-network.ts';
import { freePort } from '../../packages/dev-cluster/network/ports.ts';
import { createReplica, type ReplicaProcess } from '../../packages/dev-cluster/processes/processes.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import { program } from '../suite/program.ts';
import { type Link, openLink } from './link.ts';

const host = '127.0.0.1';

export interface CrewParts {
  readonly dir: string;
  readonly cluster: string;
  readonly kubeconfig: string;
  /** The ports of the NATS servers. */
  readonly natsPorts: ReadonlyArray<() => number>;
  readonly copies: 1 | 3;
  readonly outsideCidr: string;
  readonly flags: readonly string[];
  /** A process ended without being asked. */
  readonly onDeath: (member: Member, how: string) => void;
}

export interface Member {
  readonly name: string;
  /** Another process with this name is running. */
  readonly isTwin: boolean;
  readonly natsLinks: readonly Link[];
  readonly kubeLink: Link;
  readonly http: string;
  readonly logFile: string;
  readonly clockFile: string;
  state: 'running' | 'paused' | 'ending' | 'dead';
  readonly process: ReplicaProcess;
}

export interface Crew {
  readonly members: readonly Member[];
  readonly logFiles: readonly string[];
  start(name: string, isTwin?: boolean): Promise<Member>;
  kill(member: Member): Promise<void>;
  /** Ends it in good order. */
  end(member: Member): Promise<void>;
  pause(member: Member): void;
  resume(member: Member): void;
  stop(): Promise<void>;
}

export function createCrew(parts: CrewParts): Crew {
  const members = new Set<Member>();
  const logFiles = new Set<string>();
  let count = 0;
  let isOver = false;
  const leave = async (member: Member) => {
    members.delete(member);
    member.state = 'dead';
    await Promise.all([...member.natsLinks, member.kubeLink].map((link) => link.close()));
  };
  const signal = (member: Member, name: 'SIGSTOP' | 'SIGCONT', state: Member['state']) => {
    if (member.state === 'dead' || member.state === 'ending') return;
    member.state = state;
    void member.process.kill(name);
  };
  return {
    get members() {
      return [...members];
    },
    get logFiles() {
      return [...logFiles];
    },
    async start(name, isTwin = false) {
      const member = await prepare(parts, name, isTwin, ++count, (how) => {
        if (member.state === 'ending' || member.state === 'dead' || isOver) return;
        void leave(member);
        parts.onDeath(member, how);
      });
      logFiles.add(member.logFile);
      if (isOver) return member;
      members.add(member);
      member.process.start();
      return member;
    },
    async kill(member) {
      member.state = 'ending';
      await member.process.kill('SIGKILL');
      await leave(member);
    },
    async end(member) {
      member.state = 'ending';
      await member.process.stop();
      await leave(member);
    },
    pause: (member) => signal(member, 'SIGSTOP', 'paused'),
    resume: (member) => signal(member, 'SIGCONT', 'running'),
    async stop() {
      isOver = true;
      await Promise.all([...members].map((member) => member.process.stop()));
      await Promise.all([...members].map(leave));
    },
  };
}

async function prepare(
  parts: CrewParts,
  name: string,
  isTwin: boolean,
  number: number,
  onDeath: (how: string) => void,
): Promise<Member> {
  const { dir, copies } = parts;
  const file = (what: string) => join(dir, `${name}-${number}.${what}`);
  const kubePort = portIn(readFileSync(parts.kubeconfig, 'utf8'));
  const [kubeLink, ...natsLinks] = await Promise.all([
    openLink(() => kubePort),
    ...parts.natsPorts.map((port) => openLink(port)),
  ]);
  const kubeconfig = file('kubeconfig');
  const text = readFileSync(parts.kubeconfig, 'utf8').replaceAll(`:${kubePort}`, `:${kubeLink.port}`);
  writeFileSync(kubeconfig, text, { mode: 0o600 });
  const clockFile = file('clock');
  writeFileSync(clockFile, '0');
  const http = `${host}:${await freePort(host, 0)}`;
  const flags = {
    cluster: parts.cluster,
    nats: natsLinks.map(({ port }) => `nats://${host}:${port}`).join(),
    'stream-replicas': `${copies}`,
    kubeconfig,
    replica: name,
    http,
    'acme-http': `${host}:${await freePort(host, 0)}`,
    'inspector-auth': 'none',
  };
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  const process = createReplica({
    name,
    program,
    args: ['run', ...args, ...parts.flags],
    logFile: file('log'),
    env: {
      [outsideVariable]: parts.outsideCidr,
      CHAOS_CLOCK: clockFile,
      NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, 'stepped-clock.ts')).href}`,
    },
    clock,
    restarts: false,
    onDeath,
  });
  return {
    ...{ name, isTwin, natsLinks, kubeLink, clockFile, process },
    http: `http://${http}`,
    logFile: file('log'),
    state: 'running',
  };
}

function portIn(kubeconfig: string): number {
  const port = /server["']?:\s*["']?https?:\/\/[^\s"']+?:(\d+)/.exec(kubeconfig)?.[1];
  if (port === undefined) throw new Error('the kubeconfig names no server with a port');
  return Number(port);
}
