/** A replica that has reached NATS and is not yet at work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type ConfiguredServer, startConfigured } from '../bus/nats/configured-server.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';
import { kubeconfigOfNone } from './no-kubernetes.ts';

const cleanups: Array<() => Promise<unknown> | unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const permitted = (publish: readonly string[]) => `
jetstream { store_dir: STORE }
accounts { A: { jetstream: enabled, users: [{ user: r, password: p,
  permissions: { publish: ${JSON.stringify(publish)}, subscribe: [">"] } }] } }`;

/** @param nats its server */
async function startReplica(nats: ConfiguredServer, flags: readonly string[] = []) {
  const file = join(nats.dir, 'kubeconfig');
  writeFileSync(file, kubeconfigOfNone);
  const server = `nats://r:p@127.0.0.1:${nats.port}`;
  const places = [
    '--kubeconfig',
    file,
    '--nats',
    server,
    '--http',
    '127.0.0.1:0',
    '--acme-http',
    '127.0.0.1:0',
  ];
  const replica = spawn(process.execPath, [program, 'run', ...places, ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  cleanups.push(() => replica.kill('SIGKILL'));
  const ended = once(replica, 'exit');
  let log = '';
  replica.stderr.on('data', (chunk) => {
    log += chunk;
  });
  return {
    log: () => log,
    stop() {
      replica.kill('SIGTERM');
      return ended;
    },
  };
}

async function serverWith(config: string): Promise<ConfiguredServer> {
  const server = await startConfigured(config);
  cleanups.push(server.remove);
  return server;
}

const timeout = 60_000;

test('whoever is asked to end before it was entered as a node has ended as asked', { timeout }, async () => {
  const { log, stop } = await startReplica(await serverWith(permitted(['$JS.API.>'])));
  await until(() => log().includes('not entered as a node yet'), { what: 'the refusal' });
  expect(await stop()).toEqual([0, null]);
  expect(log()).not.toContain('error: ');
});

test('features that take long to load, as on a busy machine, do not end it', { timeout }, async () => {
  const server = await serverWith(permitted(['>']));
  const feature = readFileSync(join(import.meta.dirname, '../api/greetings.ts'), 'utf8')
    .replace('../../src/api/index.ts', 'orrery')
    .replace('export const greetings =', 'const greetings =');
  const slow = `export const late = { ...greetings, async load() {
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    return greetings.load();
  } };`;
  const file = join(server.dir, 'late.ts');
  writeFileSync(file, `${feature}\n${slow}\n`);
  const { log, stop } = await startReplica(server, ['--feature', file]);
  await until(() => log().includes('replica starts') || log().includes('ReferenceError'), {
    what: 'the start',
  });
  expect(await stop()).toEqual([0, null]);
});
