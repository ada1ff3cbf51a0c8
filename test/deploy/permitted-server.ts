/** A real nats-server with the permissions that Orrery ships: its users as they are meant, and as thieves. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectRaw, type NatsConnection } from 'nats';
import { findNatsServer } from '../../packages/dev-cluster/processes/nats-server.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { type Endpoint, serve } from '../../src/bus/rpc.ts';
import { until } from '../until.ts';
import { root } from './manifests.ts';

export const cluster = 'default';

const passwords = {
  replica: 'change-me-1',
  person: 'change-me-2',
  producer: 'change-me-3',
  candidate: 'change-me-4',
  agent: 'change-me-5',
  'worker-a': 'change-me-6',
} as const;
export type Role = keyof typeof passwords;
/** A user that docs/reference/own-features.md adds. */
const added = { pricing: 'change-me-7' } as const;
export type User = Role | keyof typeof added;

export interface PermittedServer {
  /** A folder of the test's own. */
  readonly dir: string;
  /** With the user's name and password. */
  url(user: User): string;
  /** As Orrery's own programs connect. */
  connect(user: User, more?: { readonly streamReplicas?: number }): Promise<Bus>;
  /** As a thief of the credentials does, who may name any subject for the answer. */
  steal(role: Role): Promise<NatsConnection>;
  stop(): Promise<void>;
}

/**
 * Subjects of what is written below `orrery.default`, but for what this replica asks itself now and then:
 * whether two JetStreams take what is written to its streams.
 */
export function hearEverything(replica: Bus) {
  const told: string[] = [];
  const hearing = replica.subscribe(`orrery.${cluster}.>`, ({ subject, headers }) => {
    if (headers['Nats-Expected-Stream'] !== 'none') told.push(subject);
  });
  return { told, stop: () => hearing.stop() };
}

const inboxOf = (user: User) => `_INBOX_${user.replace('-', '_')}`;

/** @param edit what an operator changes in deploy/nats/permissions.conf */
export async function startPermitted(edit = (shipped: string) => shipped): Promise<PermittedServer> {
  const dir = await mkdtemp(join(tmpdir(), 'orrery-permissions-'));
  const file = join(dir, 'server.conf');
  const shipped = await readFile(join(root, 'deploy/nats/permissions.conf'), 'utf8');
  const store = JSON.stringify(join(dir, 'store'));
  // An include is read relative to the file that has it.
  await writeFile(join(dir, 'permissions.conf'), edit(shipped));
  await writeFile(
    file,
    `listen: "127.0.0.1:-1"\njetstream { store_dir: ${store} }\ninclude permissions.conf\n`,
  );
  const server = spawn((await findNatsServer()).path, ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const port = await until(() => /client connections on 127\.0\.0\.1:(\d+)/.exec(said)?.[1], {
    what: 'nats-server',
  });
  const url = (user: User) => `nats://${user}:${{ ...passwords, ...added }[user]}@127.0.0.1:${port}`;
  const thieves: NatsConnection[] = [];
  return {
    dir,
    url,
    connect(user, more = {}) {
      const basics = { clock: systemClock, random: systemRandom, name: user, cluster };
      const inbox = user === 'replica' ? {} : { inboxPrefix: inboxOf(user) };
      return connectNats({ ...basics, ...inbox, ...more, servers: [url(user)] });
    },
    async steal(role) {
      const thief = await connectRaw({ servers: `127.0.0.1:${port}`, user: role, pass: passwords[role] });
      thieves.push(thief);
      return thief;
    },
    async stop() {
      await Promise.all(thieves.map((thief) => thief.close()));
      const gone = once(server, 'exit');
      server.kill();
      await gone;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Answers requests on this connection, as a replica or the program of a feature does. */
export const answerOn = (bus: Bus, endpoints: readonly Endpoint[]) =>
  serve(bus, { name: 'orrery', version: '0.1.0', id: 'r1', clock: systemClock, endpoints });
