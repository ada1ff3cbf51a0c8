/**
 * A kubeconfig as the conformance tests need it: the API server's address, and our credentials (token, or
 * client certificate), as YAML with data inline or in files.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';

export interface Access {
  readonly url: string;
  readonly token?: string;
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly skipsVerification: boolean;
}

interface Named<K extends string, V> {
  readonly name: string;
  readonly value: { readonly [key in K]?: V };
}

type Fields = Readonly<Record<string, unknown>>;

/** @throws Error if the current context leads nowhere */
export function readKubeconfig(text: string, folder: string): Access {
  const config = parse(text) as Fields;
  const context = entry(config, 'contexts', 'context', String(config['current-context']));
  const cluster = entry(config, 'clusters', 'cluster', String(context.cluster));
  const user = entry(config, 'users', 'user', String(context.user));
  const token = textOf(user.token) ?? fileOf(folder, user.tokenFile)?.toString('utf8').trim();
  const ca = dataOf(folder, cluster, 'certificate-authority');
  const cert = dataOf(folder, user, 'client-certificate');
  const key = dataOf(folder, user, 'client-key');
  return {
    url: String(cluster.server).replace(/\/$/, ''),
    skipsVerification: cluster['insecure-skip-tls-verify'] === true,
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

export function readKubeconfigFile(path: string): Access {
  return readKubeconfig(readFileSync(path, 'utf8'), dirname(resolve(path)));
}

function entry(config: Fields, list: string, key: string, name: string): Fields {
  const entries = (config[list] ?? []) as ReadonlyArray<Named<string, unknown> & Fields>;
  const found = entries.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`the kubeconfig has no ${key} "${name}"`);
  return found[key] as Fields;
}

function dataOf(folder: string, owner: Fields, field: string): Buffer | undefined {
  const inline = textOf(owner[`${field}-data`]);
  return inline === undefined ? fileOf(folder, owner[field]) : Buffer.from(inline, 'base64');
}

function fileOf(folder: string, path: unknown): Buffer | undefined {
  const name = textOf(path);
  return name === undefined ? undefined : readFileSync(resolve(folder, name));
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
