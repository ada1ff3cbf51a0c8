/** The flags of `orrery run`: what each takes, where its value comes from, and how a wrong one is told. */
import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { duration, isLoopback } from '../../src/base/config-values.ts';
import { hasCode } from '../../src/base/errors.ts';
import {
  environmentName,
  type FlagTexts,
  readClientConfig,
  readRunConfig,
  runFlags,
} from '../../src/replica/config.ts';

const read = (given: FlagTexts = {}, env: Record<string, string> = {}) => readRunConfig(given, env);

function complaint(given: FlagTexts, env: Record<string, string> = {}): string {
  try {
    read(given, env);
  } catch (error) {
    if (hasCode(error, 'USAGE')) return error.message;
    throw error;
  }
  return 'no complaint';
}

test('with nothing given the defaults are those of the contract', () => {
  expect(read()).toEqual({
    cluster: 'default',
    nats: {
      servers: ['nats://127.0.0.1:4222'],
      credsFile: null,
      caFile: null,
      certFile: null,
      keyFile: null,
    },
    kubeconfig: null,
    replica: hostname(),
    node: null,
    http: { host: '0.0.0.0', port: 8080 },
    acmeHttp: { host: '0.0.0.0', port: 8089 },
    streamReplicas: 1,
    bundle: null,
    proxierHealthTimeoutMs: 60_000,
    endpointsPerSlice: 100,
    takeOverSlices: null,
    probeDns: null,
    namespaces: null,
    inspectorAuth: 'kubernetes',
    logLevel: 'info',
    release: expect.stringMatching(/^\d+\.\d+\.\d+/),
  });
});

test('the command line comes before ORRERY_<FLAG>, that before the general variable, that before the default', () => {
  const env = { ORRERY_NATS: 'nats://b:2', NATS_URL: 'nats://c:3' };
  expect(read({ nats: 'nats://a:1' }, env).nats.servers).toEqual(['nats://a:1']);
  expect(read({}, env).nats.servers).toEqual(['nats://b:2']);
  expect(read({}, { NATS_URL: 'nats://c:3' }).nats.servers).toEqual(['nats://c:3']);
  expect(read({}, { KUBECONFIG: '/etc/kube.yaml' }).kubeconfig).toBe('/etc/kube.yaml');
  expect(read({}, { POD_NAME: 'orrery-0' }).replica).toBe('orrery-0');
});

test('an empty variable counts as not set', () => {
  expect(read({}, { ORRERY_HTTP: '', NATS_URL: '' })).toEqual(read());
});

test.each(Object.keys(runFlags))('--%s has an environment variable', (name) => {
  expect(environmentName(name)).toMatch(/^ORRERY_[A-Z_]+$/);
  const good: Record<string, string> = {
    http: '127.0.0.1:1',
    'acme-http': '127.0.0.1:2',
    nats: 'nats://z:9',
    'probe-dns': '127.0.0.1:53',
    'take-over-slices': 'linkerd-external-workloads-controller',
  };
  const numbers = ['stream-replicas', 'proxier-health-timeout', 'endpoints-per-slice'];
  const text = good[name] ?? (numbers.includes(name) ? '3' : name === 'log-level' ? 'warn' : 'kubernetes');
  const pair: Record<string, string> =
    name === 'nats-cert' ? { ORRERY_NATS_KEY: 'k' } : { ORRERY_NATS_CERT: 'c' };
  const others = name === 'nats-cert' || name === 'nats-key' ? pair : {};
  expect(read({}, { [environmentName(name)]: text, ...others })).toEqual(
    read({
      [name]: text,
      ...Object.fromEntries(Object.entries(others).map(([k, v]) => [`nats-${k.slice(12).toLowerCase()}`, v])),
    }),
  );
});

describe('values that are taken', () => {
  test.each([
    [{ http: ':9000' }, { http: { host: '0.0.0.0', port: 9000 } }],
    [{ http: '[::1]:0' }, { http: { host: '::1', port: 0 } }],
    [{ http: 'localhost:80', 'inspector-auth': 'none' }, { inspectorAuth: 'none' }],
    [{ 'stream-replicas': '3' }, { streamReplicas: 3 }],
    [{ namespaces: 'a, b,a' }, { namespaces: ['a', 'b'] }],
    [{ nats: 'a:1, tls://b:2' }, { nats: { servers: ['nats://a:1', 'tls://b:2'] } }],
    [{ 'probe-dns': '[::1]:53' }, { probeDns: { host: '::1', port: 53 } }],
    [{ 'proxier-health-timeout': '90' }, { proxierHealthTimeoutMs: 90_000 }],
  ])('%j', (given, part) => {
    expect(read(given)).toMatchObject(part);
  });
});

describe('values that are refused, with flag, value and what is allowed in one line', () => {
  test.each([
    ['cluster', 'two words'],
    ['cluster', ''],
    ['nats', 'http://a:1'],
    ['nats', 'nats://'],
    ['nats', 'nats://a:1,,nats://b:2'],
    ['replica', 'a/b'],
    ['http', '8080'],
    ['http', 'a:65536'],
    ['http', '1.2.3.400:80'],
    ['http', '[1.2.3.4]:80'],
    ['http', '::1:80'],
    ['acme-http', 'a:-1'],
    ['stream-replicas', '2'],
    ['stream-replicas', '3.0'],
    ['proxier-health-timeout', '0'],
    ['proxier-health-timeout', '1e3'],
    ['endpoints-per-slice', '1001'],
    ['take-over-slices', 'endpointslice-controller.k8s.io'],
    ['probe-dns', 'localhost:53'],
    ['probe-dns', ':53'],
    ['probe-dns', '127.0.0.1:0'],
    ['namespaces', 'Shop'],
    ['namespaces', ''],
    ['inspector-auth', 'basic'],
    ['log-level', 'loud'],
  ])('--%s %s', (name, value) => {
    const line = complaint({ [name]: value });
    expect(line).toMatch(/^[^\n]+$/);
    expect(line).toContain(`--${name}: ${JSON.stringify(value)} is not allowed; allowed: `);
  });

  test('a value from the environment names its variable', () => {
    expect(complaint({}, { ORRERY_LOG_LEVEL: 'loud' })).toContain(
      '--log-level (from ORRERY_LOG_LEVEL): "loud"',
    );
    expect(complaint({}, { NATS_URL: '??' })).toContain('--nats (from NATS_URL): "??"');
  });

  test('--inspector-auth none is refused where others can reach the address', () => {
    expect(complaint({ 'inspector-auth': 'none' })).toContain('only with a loopback address for --http');
    expect(complaint({ 'inspector-auth': 'none', http: '127.0.0.1:80' })).toBe('no complaint');
  });

  test('a client certificate needs its key, and the other way round', () => {
    expect(complaint({ 'nats-cert': 'c.pem' })).toContain('--nats-cert and --nats-key together');
    expect(complaint({ 'nats-key': 'k.pem' })).toContain('--nats-key: "k.pem"');
  });

  test('a password in a URL is not repeated', () => {
    expect(complaint({ nats: 'nats://ann:s3cret@:bad' })).not.toContain('s3cret');
  });
});

test('the reading commands take the part of the flags that says where', () => {
  expect(readClientConfig({ cluster: 'dev', nats: 'nats://a:1' }, {})).toEqual({
    cluster: 'dev',
    nats: { servers: ['nats://a:1'], credsFile: null, caFile: null, certFile: null, keyFile: null },
  });
});

test.each([
  ['127.0.0.1', true],
  ['127.8.8.8', true],
  ['::1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['localhost.example.com', false],
])('%s is loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

test.each([
  ['90s', 90_000],
  ['15m', 900_000],
  ['1h', 3_600_000],
  ['2d', 172_800_000],
  ['30', 30_000],
  ['1w', undefined],
  ['-1h', undefined],
  ['', undefined],
])('the time %j is %s ms', (text, ms) => {
  expect(duration.read(text)).toBe(ms);
});
