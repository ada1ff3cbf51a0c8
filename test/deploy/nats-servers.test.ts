/**
 * The NATS servers of the chart, with the configuration that it renders: real ones, three of them, over TLS.
 * Only what a cluster has and this machine has not is changed: addresses, names, folders.
 */
import 'reflect-metadata';
import { type ChildProcess, spawn } from 'node:child_process';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../packages/dev-cluster/network/ports.ts';
import { findNatsServer } from '../../packages/dev-cluster/processes/nats-server.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { encodeJson } from '../../src/bus/codec.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { until } from '../until.ts';
import { readYaml } from './manifests.ts';

const subjects = subjectsOf('default');
const manifests = readYaml('test/deploy/rendered/whole.yaml');
function find(kind: string) {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === 'orrery-nats');
  if (found === undefined) throw new Error(`there is no ${kind} orrery-nats`);
  return found;
}
const config = (find('ConfigMap').data as { 'nats.conf': string })['nats.conf'];

interface Probe {
  readonly httpGet: { readonly path: string };
}
interface Container {
  readonly env: ReadonlyArray<{ readonly name: string; readonly valueFrom?: object }>;
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
}
const { template } = find('StatefulSet').spec as { template: { spec: { containers: [Container] } } };
const [container] = template.spec.containers;

const servers: ChildProcess[] = [];
const ports: { readonly client: string; readonly monitor: string }[] = [];
let folder: string;
let replica: Bus;

/** One certificate that is its own authority, for servers and for what they are to each other: clients. */
async function certify(target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=orrery-nats',
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
      new SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: 'localhost' },
      ]),
    ],
  });
  const key = PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  for (const name of ['ca.crt', 'tls.crt']) await writeFile(join(target, name), certificate.toString('pem'));
  await writeFile(join(target, 'tls.key'), key, { mode: 0o600 });
}

/** The rendered text with the places of this machine in it. */
function onThisMachine(index: number, routes: readonly number[]): string {
  const replaced: readonly (readonly [RegExp, string])[] = [
    [/"0\.0\.0\.0:4222"/, '"127.0.0.1:-1"'],
    [/"0\.0\.0\.0:8222"/, '"127.0.0.1:-1"'],
    [/"0\.0\.0\.0:6222"/, `"127.0.0.1:${routes[index]}"`],
    [/\/etc\/nats\/tls/g, join(folder, 'tls')],
    [/"\/data"/, JSON.stringify(join(folder, `data-${index}`))],
    [/"\/run\/nats\/nats\.pid"/, JSON.stringify(join(folder, `${index}.pid`))],
    [/max_file_store: 45Gi/, 'max_file_store: 64Mi'],
    ...routes.map(
      (port, other) =>
        [
          new RegExp(`nats://orrery-nats-${other}\\.orrery-nats-peers\\.orrery\\.svc:6222`),
          `nats://127.0.0.1:${port}`,
        ] as const,
    ),
  ];
  return replaced.reduce((text, [pattern, by]) => {
    expect(text, String(pattern)).toMatch(pattern);
    return text.replace(pattern, by);
  }, config);
}

async function start(index: number, routes: readonly number[]): Promise<void> {
  const file = join(folder, `${index}.conf`);
  await writeFile(file, onThisMachine(index, routes));
  // Each variable that the StatefulSet sets, and no other.
  const env = Object.fromEntries(
    container.env.map(({ name }) => [name, `p-${name.split('_').at(-1)}-secret`]),
  );
  const child = spawn((await findNatsServer()).path, ['-c', file], {
    env: { ...env, POD_NAME: `orrery-nats-${index}`, GOMEMLIMIT: '900MiB' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  servers.push(child);
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  const found = await until(
    () => {
      if (child.exitCode !== null) throw new Error(said);
      const client = /client connections on 127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      const monitor = /http monitor on 127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      return client && monitor ? { client, monitor } : undefined;
    },
    { what: 'nats-server' },
  );
  ports[index] = found;
}

const connect = (user: string) =>
  connectNats({
    ...{ clock: systemClock, random: systemRandom, name: user, cluster: 'default' },
    ...(user === 'replica' ? { streamReplicas: 3 } : { inboxPrefix: `_INBOX_${user}` }),
    servers: ports.map(({ client }) => `tls://${user}:p-${user}-secret@localhost:${client}`),
    tls: { caFile: join(folder, 'tls/ca.crt') },
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orrery-nats-servers-'));
  await certify(join(folder, 'tls'));
  const routes = await Promise.all([0, 1, 2].map(() => freePort('127.0.0.1', 0)));
  await Promise.all(routes.map((_, index) => start(index, routes)));
  replica = await connect('replica');
});

afterAll(async () => {
  await replica?.close();
  for (const server of servers) {
    if (server.exitCode !== null || server.signalCode !== null) continue;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    await gone;
  }
  if (folder) await rm(folder, { recursive: true, force: true });
});

test('a replica keeps three copies of each stream, over TLS', async () => {
  const { sequence } = await replica.append(subjects.fence(1), encodeJson({ owner: 'r1' }));
  expect(sequence).toBeGreaterThan(0);
  const told = await replica.request('$JS.API.STREAM.INFO.ORRERY_default_STATE', new Uint8Array(), {
    timeoutMs: 5_000,
  });
  expect(JSON.parse(new TextDecoder().decode(told.data))).toMatchObject({
    config: { num_replicas: 3, storage: 'file' },
    cluster: { name: 'orrery-nats', replicas: [{}, {}] },
  });
});

test.each(['startupProbe', 'livenessProbe', 'readinessProbe'] as const)(
  '%s asks what a server answers',
  async (probe) => {
    for (const { monitor } of ports) {
      const { path } = container[probe].httpGet;
      const answered = () => fetch(`http://127.0.0.1:${monitor}${path}`).then(({ status }) => status === 200);
      await until(answered, { what: `${path} of a server that serves` });
    }
  },
);

test('a person may ask, and may not write what replicas write', async () => {
  const person = await connect('person');
  await expect(
    person.append(subjects.fence(1), encodeJson({ owner: 'me' }), { timeoutMs: 500 }),
  ).rejects.toThrow();
  await person.close();
  expect((await replica.last('state', subjects.fence(1)))?.data).toEqual(encodeJson({ owner: 'r1' }));
});

test('while one server is away, writing goes on', async () => {
  const [server] = servers;
  if (server === undefined) throw new Error('no server was started');
  const gone = once(server, 'exit');
  server.kill('SIGKILL');
  await gone;
  const append = () =>
    replica.append(subjects.fence(2), encodeJson({ owner: 'r1' })).then(
      () => true,
      () => false,
    );
  await until(append, { what: 'a write with two servers of three', timeoutMs: 30_000 });
});
