/**
 * Authentication to the Kubernetes API: the only file that imports the Kubernetes client, and only for this.
 *
 * Reads a kubeconfig (or several, as in KUBECONFIG) or the Pod's service account: bearer tokens, replaced
 * token files, client certificates, exec plugins, a CA, a proxy. Promises: credentials are looked up again
 * every `limits.kubeCredentialsAgeMs`, and whenever one is refused (401) or the API server is not trusted;
 * concurrent requests share one look-up; none of it is logged (I9). Beyond the library it supports
 * `tokenFile` in a kubeconfig, plain http without `insecure-skip-tls-verify`, a time limit on plugins, and
 * the environment that newer plugins require.
 */

import { readFileSync } from 'node:fs';
import type { Agent as HttpAgent } from 'node:http';
import type { RequestOptions } from 'node:https';
import { delimiter, dirname, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { asError, OrreryError } from '../../base/errors.ts';
import type { KubePort } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import { silentLog } from '../../base/log.ts';
import type { Ambient, Log } from '../../base/log-port.ts';
import { jittered } from '../../base/random.ts';
import { within } from './deadline.ts';
import { type Access, createTransport, type GetAccess, type TlsAccess } from './kube-http.ts';
import { createRestPort } from './rest.ts';

export interface KubeConnectionParts extends Pick<Ambient, 'clock' | 'random'> {
  /** Path of a kubeconfig, or several as in KUBECONFIG; absent: the Pod's service account. */
  readonly kubeconfig?: string | undefined;
  /** A context of the kubeconfig; default: its current one. */
  readonly context?: string | undefined;
  readonly log?: Log;
}

export interface KubeConnection extends KubePort {
  /** Closes idle connections; requests in progress end by themselves. */
  close(): void;
}

/** Opens no connection; the first request does. @throws OrreryError USAGE without a usable configuration */
export function connectKube(parts: KubeConnectionParts): KubeConnection {
  const { clock } = parts;
  const transport = createTransport({ clock, getAccess: kubeAccess(parts) });
  return { ...createRestPort({ transport, clock }), close: () => transport.close() };
}

/** A wrong token stays wrong for a while; calling a plugin at each request would not help. */
const refusalPauseMs = 5_000;

/**
 * Only the address and the credentials of the API server, for requests other than objects. @throws
 * OrreryError USAGE
 */
export function kubeAccess(parts: KubeConnectionParts): GetAccess {
  const { kubeconfig, context, clock, random, log = silentLog } = parts;
  let config = loadConfig(kubeconfig, context);
  let current: { readonly access: Promise<Access>; readonly until: number } | undefined;
  let reloadedAt = Number.NEGATIVE_INFINITY;

  const lookUp = (): Promise<Access> => {
    const access = within(
      {
        clock,
        ms: limits.kubeCredentialsMs,
        what: 'looking up credentials',
        signal: new AbortController().signal,
      },
      () => readAccess(config),
    ).catch((thrown) => {
      current = undefined;
      throw thrown;
    });
    current = { access, until: clock.monotonic() + jittered(limits.kubeCredentialsAgeMs, 0.2, random) };
    return access;
  };
  const reload = () => {
    reloadedAt = clock.monotonic();
    try {
      // From the file, without earlier answers of plugins.
      config = loadConfig(kubeconfig, context);
    } catch (thrown) {
      log.warn(
        { error: asError(thrown).message },
        'the kubeconfig can no longer be read; using its last contents',
      );
    }
    return lookUp();
  };

  return (refused, signal) => {
    if (signal.aborted) return Promise.reject(signal.reason);
    const now = clock.monotonic();
    if (refused && now - reloadedAt > refusalPauseMs) return reload();
    return current !== undefined && now < current.until ? current.access : lookUp();
  };
}

async function readAccess(config: KubeConfig): Promise<Access> {
  const cluster = config.getCurrentCluster();
  const options: RequestOptions = { headers: {} };
  try {
    await config.applyToHTTPSOptions(options);
  } catch (thrown) {
    // A plugin's output may contain anything, so only its beginning is reported.
    throw new OrreryError('KUBE_UNREACHABLE', `no credentials: ${asError(thrown).message.slice(0, 200)}`);
  }
  const server = cluster?.server ?? '';
  return {
    server,
    headers: { 'user-agent': 'orrery', ...headersOf(options) },
    tls: tlsOf(options),
    ...(cluster?.proxyUrl ? { proxy: options.agent as HttpAgent } : {}),
  };
}

function headersOf({ headers, auth }: RequestOptions): Record<string, string> {
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    // A token file ends with a newline, which no header may contain.
    if (value !== undefined) read[name.toLowerCase()] = String(value).trim();
  }
  if (auth) read.authorization = `Basic ${Buffer.from(auth).toString('base64')}`;
  return read;
}

function tlsOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsAccess {
  const given = { ca, cert, key, servername, rejectUnauthorized };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  );
}

function loadConfig(kubeconfig: string | undefined, context: string | undefined): KubeConfig {
  try {
    const config = kubeconfig === undefined ? inCluster() : fromFiles(kubeconfig);
    if (context !== undefined) choose(config, context);
    prepare(config);
    return config;
  } catch (thrown) {
    if (thrown instanceof OrreryError) throw thrown;
    const where = kubeconfig === undefined ? 'the service account' : nameOf(kubeconfig);
    throw new OrreryError('USAGE', `${where} cannot be used: ${asError(thrown).message}`, { cause: thrown });
  }
}

/** Who did not give the flag is told where the value comes from. */
function nameOf(kubeconfig: string): string {
  const variable = ['ORRERY_KUBECONFIG', 'KUBECONFIG'].find((name) => process.env[name] === kubeconfig);
  return `the kubeconfig ${kubeconfig}${variable === undefined ? '' : ` (from ${variable})`}`;
}

function choose(config: KubeConfig, context: string): void {
  const names = config.contexts.map(({ name }) => name);
  if (!names.includes(context)) throw new Error(`it has no context ${context}, only ${names.join(', ')}`);
  config.setCurrentContext(context);
}

function inCluster(): KubeConfig {
  if (!process.env.KUBERNETES_SERVICE_HOST) {
    throw new OrreryError('USAGE', '--kubeconfig is needed outside a cluster: there is no service account');
  }
  const config = new KubeConfig();
  config.loadFromCluster();
  return config;
}

function fromFiles(kubeconfig: string): KubeConfig {
  const [first, ...others] = kubeconfig
    .split(delimiter)
    .filter((file) => file !== '')
    .map(fromFile);
  if (first === undefined) throw new OrreryError('USAGE', '--kubeconfig is empty');
  for (const other of others) first.mergeConfig(other, true);
  return first;
}

function fromFile(file: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(file);
  const { users } = parse(readFileSync(file, 'utf8')) as {
    readonly users?: ReadonlyArray<{
      readonly name?: string;
      readonly user?: { readonly tokenFile?: string };
    }>;
  };
  for (const { name, user } of users ?? []) {
    const tokenFile = user?.tokenFile;
    if (tokenFile === undefined) continue;
    // The library re-reads token files itself, if configured in the form of the old auth providers.
    const authProvider = { name: 'tokenFile', config: { tokenFile: resolve(dirname(file), tokenFile) } };
    config.users = config.users.map((known) => (known.name === name ? { ...known, authProvider } : known));
  }
  return config;
}

function prepare(config: KubeConfig): void {
  if (!config.getCurrentCluster()?.server) {
    throw new OrreryError('USAGE', 'the kubeconfig has no current context with a server');
  }
  // The library rejects plain http unless verification is off; plain http has nothing to verify.
  config.clusters = config.clusters.map((cluster) =>
    cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster,
  );
  config.users = config.users.map((user) => (user.exec ? { ...user, exec: withExecInfo(user.exec) } : user));
}

interface ExecConfig {
  readonly apiVersion?: string;
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value: string }> | null;
}

/** Plugins of the v1 protocol refuse to run without this variable (client.authentication.k8s.io). */
function withExecInfo<T extends ExecConfig>(exec: T): T {
  const variable = 'KUBERNETES_EXEC_INFO';
  const env = exec.env ?? [];
  if (env.some(({ name }) => name === variable)) return exec;
  const info = { apiVersion: exec.apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
  return { ...exec, env: [...env, { name: variable, value: JSON.stringify(info) }] };
}
