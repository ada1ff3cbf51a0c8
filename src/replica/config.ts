/**
 * Configuration of a replica: every flag of `orrery run` with its variable, its default and its allowed
 * values.
 *
 * Owns the table of flags (the command line, the usage text and docs/reference/command-line.md are generated
 * from it) and the reading of their values. Promise: a value that is not allowed ends in one USAGE error,
 * whose line names the flag, the value and what is allowed. Absent: the parsing of argv (cli/program.ts), and
 * opening the named files.
 */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import {
  anyText,
  type Cidr,
  cidrList,
  type HostPort,
  hostPort,
  inboxPrefix,
  isLoopback,
  listOf,
  type NamespaceGrants,
  nameServer,
  namespaceGrants,
  namespaceList,
  oneOf,
  replicaName,
  type ServicePlace,
  servicePlace,
  urlList,
  wholeNumber,
  word,
} from '../base/config-values.ts';
import { OrreryError } from '../base/errors.ts';
import { type LogLevel, logLevels } from '../base/log-port.ts';
import { type OtherWriter, otherWriters } from '../features/endpoints/slice-labels.ts';
import { flagRefused, type HttpTls, readHttpTls, refuseOpenNats } from './config-refusals.ts';
import { featureFlag } from './feature-flag.ts';
import { type FeatureName, featureNames } from './feature-names.ts';
import { type Flag, flag } from './flag.ts';
import type { NatsConfig } from './nats-access.ts';

/** What a client of a running Orrery needs: the flags that the reading commands share with `run`. */
export interface ClientConfig {
  readonly cluster: string;
  readonly nats: NatsConfig;
}

export interface RunConfig extends ClientConfig {
  /** Path of a kubeconfig (or several, as in KUBECONFIG); null: the Pod's service account. */
  readonly kubeconfig: string | null;
  readonly replica: string;
  /** The Kubernetes Node on which it runs (NODE_NAME); null: unknown. */
  readonly node: string | null;
  readonly http: HostPort;
  /** Certificate and key of `http`; null: no TLS. */
  readonly httpTls: HttpTls | null;
  /** A separate port for health and readiness; null: only on `http`. */
  readonly healthHttp: HostPort | null;
  /** Where challenge answers are served. */
  readonly acmeHttp: HostPort;
  /** Orrery's own Service with that port, to which Issuers may route challenges; null: none. */
  readonly acmeService: ServicePlace | null;
  /** The name server for the names of challenges; null: the system's resolver. */
  readonly acmeDns: HostPort | null;
  readonly streamReplicas: 1 | 3;
  /** Directory of release-gated manifests; null: none. */
  readonly bundle: string | null;
  readonly proxierHealthTimeoutMs: number;
  readonly endpointsPerSlice: number;
  /** The other controller whose EndpointSlices are taken over; null: none. */
  readonly takeOverSlices: OtherWriter | null;
  /** The name server that probes use for Services; null: the system's resolver. */
  readonly probeDns: HostPort | null;
  /** The addresses that probes of workloads may call; null: all except loopback and link-local ones. */
  readonly probeCidrs: readonly Cidr[] | null;
  /** null: all. */
  readonly namespaces: readonly string[] | null;
  /** By namespace of an Election: further namespaces whose Leases it may use. */
  readonly electionNamespaces: NamespaceGrants;
  /** Features to load: paths and names of packages. */
  readonly features: readonly string[];
  /** Features that do not run; empty: all run. */
  readonly without: readonly FeatureName[];
  readonly inspectorAuth: 'kubernetes' | 'none';
  readonly metricsAuth: 'kubernetes' | 'none';
  readonly logLevel: LogLevel;
  /** Version of this program, from package.json. */
  readonly release: string;
}

/** The flags about reaching a running Orrery. */
export const clientFlags = {
  cluster: flag(word, {
    placeholder: 'NAME',
    description: 'name of this Orrery: several may share one NATS',
    default: 'default',
  }),
  nats: flag(urlList, {
    placeholder: 'URL,…',
    description: 'NATS servers',
    default: 'nats://127.0.0.1:4222',
    otherEnv: 'NATS_URL',
  }),
  'nats-creds': flag(anyText, {
    placeholder: 'FILE',
    description: 'NATS credentials (JWT and seed, or a seed alone)',
  }),
  'nats-ca': flag(anyText, {
    placeholder: 'FILE',
    description: 'certificate authorities that sign the NATS servers (turns TLS on)',
  }),
  'nats-cert': flag(anyText, {
    placeholder: 'FILE',
    description: 'client certificate for NATS (with --nats-key)',
  }),
  'nats-key': flag(anyText, {
    placeholder: 'FILE',
    description: 'private key of the client certificate (with --nats-cert)',
  }),
  'nats-inbox': flag(inboxPrefix, {
    placeholder: 'PREFIX',
    description: 'subject prefix for answers, as the permissions of the NATS user allow it',
    defaultText: '_INBOX',
  }),
} as const;

/** Every flag of `orrery run`. */
export const runFlags = {
  ...clientFlags,
  kubeconfig: flag(anyText, {
    placeholder: 'FILE',
    description: 'how to reach Kubernetes',
    defaultText: 'the service account of the Pod',
    otherEnv: 'KUBECONFIG',
  }),
  replica: flag(replicaName, {
    placeholder: 'ID',
    description: 'name of this replica; different for each',
    defaultText: 'POD_NAME, otherwise the host name',
  }),
  http: flag(hostPort, {
    placeholder: 'HOST:PORT',
    description: 'health, metrics, API and inspector',
    default: '0.0.0.0:8080',
  }),
  'http-cert': flag(anyText, {
    placeholder: 'FILE',
    description: 'certificate for --http, PEM (with --http-key); renewed files are loaded within a minute',
  }),
  'http-key': flag(anyText, { placeholder: 'FILE', description: 'private key of --http-cert' }),
  'health-http': flag(hostPort, {
    placeholder: 'HOST:PORT',
    description: 'health and readiness only, on their own port, without TLS',
    defaultText: 'on --http only',
  }),
  'acme-http': flag(hostPort, {
    placeholder: 'HOST:PORT',
    description: 'answers to ACME challenges',
    default: '0.0.0.0:8089',
  }),
  'acme-service': flag(servicePlace, {
    placeholder: 'NS/NAME:PORT',
    description: "Orrery's own Service, to which Issuers route challenges by an Ingress or an HTTPRoute",
    defaultText: 'none: no Issuer can',
  }),
  'acme-dns': flag(nameServer, {
    placeholder: 'IP:PORT',
    description: 'name server for looking up challenge names (CNAME, SOA)',
    defaultText: "the system's resolver",
  }),
  'stream-replicas': flag(oneOf('1', '3'), {
    placeholder: '1|3',
    description: 'copies of each stream: 3 needs a NATS cluster',
    default: '1',
  }),
  bundle: flag(anyText, {
    placeholder: 'DIR',
    description: 'release-gated manifests (docs/features/releases.md)',
    defaultText: 'none',
  }),
  'proxier-health-timeout': flag(wholeNumber(1, 86_400), {
    placeholder: 'SECONDS',
    description: 'how long a change may wait in a service proxy before the node counts as unhealthy',
    default: '60',
  }),
  'endpoints-per-slice': flag(wholeNumber(1, 1000), {
    placeholder: 'N',
    description: 'maximum number of endpoints in one EndpointSlice',
    default: '100',
  }),
  'take-over-slices': flag(oneOf(...otherWriters), {
    placeholder: 'CONTROLLER',
    description: 'adopt the EndpointSlices of this controller; stop it first',
    defaultText: 'none',
  }),
  'probe-cidrs': flag(cidrList, {
    placeholder: 'CIDR,…',
    description: 'the only addresses that workload probes may call',
    defaultText: "all but loopback, link-local, multicast and clouds' metadata",
  }),
  'probe-dns': flag(nameServer, {
    placeholder: 'IP:PORT',
    description: 'name server that probes use to resolve Services',
    defaultText: "the system's resolver",
  }),
  namespaces: flag(namespaceList, {
    placeholder: 'A,B',
    description: 'watch these namespaces only',
    defaultText: 'all',
  }),
  'election-namespaces': flag(namespaceGrants, {
    placeholder: 'NS=NS,…',
    description: 'namespaces whose Leases the Elections of a namespace may use besides their own',
    defaultText: 'none',
  }),
  feature: featureFlag,
  without: flag(listOf(...featureNames), {
    placeholder: 'FEATURE,…',
    description:
      'features that do not run and so need no permissions; the same for all replicas. Records of their actors are kept',
    defaultText: 'none: all run',
  }),
  'inspector-auth': flag(oneOf('kubernetes', 'none'), {
    placeholder: 'kubernetes|none',
    description:
      'who may use the API and the inspector; none (everybody) only with a loopback address for --http',
    default: 'kubernetes',
  }),
  'metrics-auth': flag(oneOf('none', 'kubernetes'), {
    placeholder: 'none|kubernetes',
    description: 'who may read /metrics; kubernetes: as for --inspector-auth',
    default: 'none',
  }),
  'nats-insecure': flag(oneOf('true', 'false'), {
    placeholder: 'true|false',
    description: 'allow a NATS that is not on loopback without credentials and TLS',
    default: 'false',
    isSwitch: true,
  }),
  'log-level': flag(oneOf(...logLevels), {
    placeholder: 'LEVEL',
    description: `lowest level logged: ${logLevels.join(', ')}`,
    default: 'info',
  }),
} as const;

export type FlagName = keyof typeof runFlags;
type ClientFlagName = keyof typeof clientFlags;
type ValueOf<N extends FlagName> = Exclude<ReturnType<(typeof runFlags)[N]['read']>, undefined>;

/** The values of flags as given on the command line, by the name of the flag. */
export type FlagTexts = Readonly<Record<string, string | undefined>>;
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment variable of a flag: `--nats-creds` is `ORRERY_NATS_CREDS`. */
export function environmentName(name: string): string {
  return `ORRERY_${name.toUpperCase().replaceAll('-', '_')}`;
}

/**
 * The configuration of `orrery run`. The command line overrides the environment, which overrides the default.
 *
 * @throws OrreryError USAGE
 */
export function readRunConfig(given: FlagTexts, env: Environment): RunConfig {
  const value = reader(given, env);
  const http = value('http') ?? unset('http');
  const inspectorAuth = value('inspector-auth') ?? unset('inspector-auth');
  if (inspectorAuth === 'none' && !isLoopback(http.host)) {
    const allowed = 'none only with a loopback address for --http, such as 127.0.0.1:8080';
    throw flagRefused('inspector-auth', `none (with --http ${http.host}:${http.port})`, allowed);
  }
  const client = readClientConfig(given, env);
  if (value('nats-insecure') !== 'true') refuseOpenNats(client.nats);
  return {
    ...client,
    httpTls: readHttpTls(value('http-cert'), value('http-key')),
    healthHttp: value('health-http') ?? null,
    metricsAuth: inspectorAuth === 'none' ? 'none' : (value('metrics-auth') ?? unset('metrics-auth')),
    kubeconfig: value('kubeconfig') ?? null,
    replica: value('replica') ?? defaultReplica(env),
    node: env.NODE_NAME || null,
    http,
    acmeHttp: value('acme-http') ?? unset('acme-http'),
    acmeService: value('acme-service') ?? null,
    acmeDns: value('acme-dns') ?? null,
    streamReplicas: value('stream-replicas') === '3' ? 3 : 1,
    bundle: value('bundle') ?? null,
    proxierHealthTimeoutMs: readProxierTimeoutMs(given, env),
    endpointsPerSlice: value('endpoints-per-slice') ?? unset('endpoints-per-slice'),
    takeOverSlices: value('take-over-slices') ?? null,
    probeDns: value('probe-dns') ?? null,
    probeCidrs: value('probe-cidrs') ?? null,
    namespaces: value('namespaces') ?? null,
    electionNamespaces: value('election-namespaces') ?? {},
    features: value('feature') ?? [],
    without: value('without') ?? [],
    inspectorAuth,
    logLevel: value('log-level') ?? unset('log-level'),
    release: readRelease(),
  };
}

/** `--proxier-health-timeout` in milliseconds. @throws OrreryError USAGE */
export function readProxierTimeoutMs(given: FlagTexts, env: Environment): number {
  const value = reader(given, env);
  return 1000 * (value('proxier-health-timeout') ?? unset('proxier-health-timeout'));
}

/** `--feature`, for commands that run no replica. @throws OrreryError USAGE */
export function readFeaturePlaces(given: FlagTexts, env: Environment): readonly string[] {
  return reader(given, env)('feature') ?? [];
}

/** @throws OrreryError USAGE */
export function readClientConfig(given: FlagTexts, env: Environment): ClientConfig {
  const value = reader(given, env);
  const certFile = value('nats-cert') ?? null;
  const keyFile = value('nats-key') ?? null;
  if ((certFile === null) !== (keyFile === null)) {
    const [name, file] =
      certFile === null ? (['nats-key', keyFile] as const) : (['nats-cert', certFile] as const);
    throw flagRefused(name, file ?? '', '--nats-cert and --nats-key together, or neither');
  }
  return {
    cluster: value('cluster') ?? unset('cluster'),
    nats: {
      servers: value('nats') ?? unset('nats'),
      credsFile: value('nats-creds') ?? null,
      caFile: value('nats-ca') ?? null,
      certFile,
      keyFile,
      inbox: value('nats-inbox') ?? null,
    },
  };
}

/** Whether a flag was given on the command line or by the environment. */
export function isGiven(name: ClientFlagName, given: FlagTexts, env: Environment): boolean {
  return sourceOf(name, given, env) !== undefined;
}

/** The version in package.json, which is beside both `src/` and `dist/`. */
export function readRelease(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const version =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest ? manifest.version : '';
  return String(version);
}

type ReadFlag = <N extends FlagName>(name: N) => ValueOf<N> | undefined;

function reader(given: FlagTexts, env: Environment): ReadFlag {
  return (name) => {
    const { default: fallback, allowed, read }: Flag<unknown> = runFlags[name];
    const source = sourceOf(name, given, env);
    const text = source?.text ?? fallback;
    if (text === undefined) return undefined;
    const value = read(text);
    if (value === undefined) throw flagRefused(name, text, allowed, source?.variable);
    return value as ValueOf<typeof name>;
  };
}

function sourceOf(
  name: FlagName,
  given: FlagTexts,
  env: Environment,
): { text: string; variable?: string } | undefined {
  const text = given[name];
  if (text !== undefined) return { text };
  const { otherEnv }: Flag<unknown> = runFlags[name];
  // An empty variable counts as unset, because that is how shells and manifests restore a default.
  for (const variable of [environmentName(name), otherEnv]) {
    const fromEnv = variable === undefined ? undefined : env[variable];
    if (variable !== undefined && fromEnv) return { text: fromEnv, variable };
  }
  return undefined;
}

function defaultReplica(env: Environment): string {
  const name = env.POD_NAME || hostname();
  const value = replicaName.read(name);
  if (value === undefined) throw flagRefused('replica', name, replicaName.allowed);
  return value;
}

function unset(name: string): never {
  throw new OrreryError('INVARIANT', `--${name} has a default`);
}
