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
import { featureNames } from '../../src/replica/feature-names.ts';
import { featuresOf } from '../../src/replica/features.ts';

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
      inbox: null,
    },
    kubeconfig: null,
    replica: hostname(),
    node: null,
    http: { host: '0.0.0.0', port: 8080 },
    httpTls: null,
    healthHttp: null,
    metricsAuth: 'none',
    acmeHttp: { host: '0.0.0.0', port: 8089 },
    acmeService: null,
    acmeDns: null,
    streamReplicas: 1,
    bundle: null,
    proxierHealthTimeoutMs: 60_000,
    endpointsPerSlice: 100,
    takeOverSlices: null,
    probeDns: null,
    probeCidrs: null,
    namespaces: null,
    electionNamespaces: {},
    features: [],
    without: [],
    inspectorAuth: 'kubernetes',
    logLevel: 'info',
    release: expect.stringMatching(/^\d+\.\d+\.\d+/),
  });
});

test('the command line comes before ORRERY_<FLAG>, that before the general variable, that before the default', () => {
  const env = { ORRERY_NATS: 'tls://b:2', NATS_URL: 'tls://c:3' };
  expect(read({ nats: 'tls://a:1' }, env).nats.servers).toEqual(['tls://a:1']);
  expect(read({}, env).nats.servers).toEqual(['tls://b:2']);
  expect(read({}, { NATS_URL: 'tls://c:3' }).nats.servers).toEqual(['tls://c:3']);
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
    'acme-service': 'orrery/orrery:8089',
    'acme-dns': '127.0.0.1:53',
    nats: 'tls://z:9',
    'health-http': '127.0.0.1:3',
    'nats-insecure': 'true',
    'probe-cidrs': '10.0.0.0/8',
    'probe-dns': '127.0.0.1:53',
    'take-over-slices': 'linkerd-external-workloads-controller',
    'election-namespaces': 'shop=bank',
    without: 'elections',
  };
  const numbers = ['stream-replicas', 'proxier-health-timeout', 'endpoints-per-slice'];
  const text = good[name] ?? (numbers.includes(name) ? '3' : name === 'log-level' ? 'warn' : 'kubernetes');
  const pairs: Record<string, string> = {
    'nats-cert': 'nats-key',
    'nats-key': 'nats-cert',
    'http-cert': 'http-key',
    'http-key': 'http-cert',
  };
  const other = pairs[name];
  const others = other === undefined ? {} : { [other]: 'x' };
  const otherEnv = other === undefined ? {} : { [environmentName(other)]: 'x' };
  expect(read({}, { [environmentName(name)]: text, ...otherEnv })).toEqual(read({ [name]: text, ...others }));
});

describe('values that are taken', () => {
  test.each([
    [{ http: ':9000' }, { http: { host: '0.0.0.0', port: 9000 } }],
    [{ http: '[::1]:0' }, { http: { host: '::1', port: 0 } }],
    [{ http: 'localhost:80', 'inspector-auth': 'none' }, { inspectorAuth: 'none' }],
    [{ 'stream-replicas': '3' }, { streamReplicas: 3 }],
    [{ namespaces: 'a, b,a' }, { namespaces: ['a', 'b'] }],
    [{ nats: 'a:1, tls://b:2', 'nats-insecure': 'true' }, { nats: { servers: ['nats://a:1', 'tls://b:2'] } }],
    [
      { 'election-namespaces': 'shop=bank,till, mall=bank' },
      { electionNamespaces: { shop: ['bank', 'till'], mall: ['bank'] } },
    ],
    [
      { 'probe-cidrs': '10.0.0.0/8, fd00::/8' },
      {
        probeCidrs: [
          { address: '10.0.0.0', prefix: 8 },
          { address: 'fd00::', prefix: 8 },
        ],
      },
    ],
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
    ['acme-service', 'orrery:8089'],
    ['acme-dns', 'ns.example.com:53'],
    ['stream-replicas', '2'],
    ['stream-replicas', '3.0'],
    ['proxier-health-timeout', '0'],
    ['proxier-health-timeout', '1e3'],
    ['endpoints-per-slice', '1001'],
    ['take-over-slices', 'endpointslice-controller.k8s.io'],
    ['probe-cidrs', '10.0.0.0'],
    ['probe-dns', 'localhost:53'],
    ['probe-dns', ':53'],
    ['probe-dns', '127.0.0.1:0'],
    ['namespaces', 'Shop'],
    ['namespaces', ''],
    ['election-namespaces', 'shop'],
    ['election-namespaces', 'shop=bank=till'],
    ['election-namespaces', 'Shop=bank'],
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
    nats: {
      servers: ['nats://a:1'],
      credsFile: null,
      caFile: null,
      certFile: null,
      keyFile: null,
      inbox: null,
    },
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

describe('NATS that everybody in reach may use', () => {
  test.each([
    'nats://nats.nats.svc:4222',
    '10.0.0.1',
    'nats://127.0.0.1:4222,nats://nats:4222',
    '[fd00::1]:4222',
  ])('%s is refused without credentials and without TLS', (nats) => {
    expect(complaint({ nats })).toMatch(
      /^--nats: ".*" is not allowed; allowed: credentials .* or TLS .*--nats-insecure/,
    );
    expect(read({ nats, 'nats-insecure': 'true' }).nats.servers.length).toBeGreaterThan(0);
  });

  test.each([
    { nats: 'nats://127.0.0.1:4222' },
    { nats: 'nats://[::1]:4222' },
    { nats: 'localhost' },
    { nats: 'tls://nats:4222' },
    { nats: 'nats://replica:secret@nats:4222,nats://nats-1:4222' },
    { nats: 'nats://nats:4222', 'nats-creds': 'replica.creds' },
    { nats: 'nats://nats:4222', 'nats-ca': 'ca.crt' },
  ])('%j is taken', (given) => {
    expect(complaint(given)).toBe('no complaint');
  });

  test('the environment says so too, and where the address is from', () => {
    expect(complaint({}, { NATS_URL: 'nats://nats:4222' })).toContain('--nats: "nats://nats:4222"');
    expect(complaint({}, { NATS_URL: 'nats://nats:4222', ORRERY_NATS_INSECURE: 'true' })).toBe(
      'no complaint',
    );
  });
});

test('a certificate for HTTP comes with its key', () => {
  expect(complaint({ 'http-cert': 'c.pem' })).toContain('--http-cert and --http-key together');
  expect(read({ 'http-cert': 'c', 'http-key': 'k' }).httpTls).toEqual({ certFile: 'c', keyFile: 'k' });
});

test('metrics ask for what the API asks for, where both ask', () => {
  expect(read({ 'metrics-auth': 'kubernetes' }).metricsAuth).toBe('kubernetes');
  const open = { http: '127.0.0.1:80', 'inspector-auth': 'none', 'metrics-auth': 'kubernetes' };
  expect(read(open).metricsAuth).toBe('none');
});

describe('features that do not run', () => {
  test('can be any of those that there are, and no others', () => {
    expect(featuresOf().map(({ name }) => name)).toEqual(featureNames);
    expect(read({}, { ORRERY_WITHOUT: 'elections, routes' }).without).toEqual(['routes', 'elections']);
    expect(complaint({ without: 'elections,rotes' })).toMatch(
      /--without.*rotes.*allowed: a comma list of routes,/,
    );
  });

  test('are not among those that the replica starts', () => {
    expect(featuresOf({}, ['certificates', 'proxiers']).map(({ name }) => name)).toEqual([
      'routes',
      'endpoints',
      'elections',
      'releases',
    ]);
  });
});
