/**
 * Chooses the Orrery to reach over HTTP: from the flags, the environment, or the choice of `orrery login`.
 *
 * Promises: a wrong value ends in one USAGE error with the flag, the value and what is allowed; the stored
 * choice contains no secret. Absent: any request.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { makeGivenFolder, notAllowed } from '../../base/config-values.ts';
import { asError, OrreryError } from '../../base/errors.ts';
import { environmentName, type FlagTexts } from '../../replica/config.ts';
import type { Terminal } from '../terminal.ts';

/** Flags of the commands that can use HTTP, beside those for NATS. */
export const serverFlags = {
  server: [
    'URL',
    'over HTTP instead of NATS: https://HOST[:PORT], or kube[:NAMESPACE[/SERVICE:PORT]] through the Kubernetes API',
  ],
  'server-ca': ['FILE', 'certificate authority of --server, PEM'],
  'token-file': [
    'FILE',
    'token for --server (env: ORRERY_TOKEN is the token itself; default: a Kubernetes token)',
  ],
  context: ['NAME', 'context of the kubeconfig'],
} as const satisfies Record<string, readonly [placeholder: string, description: string]>;

type ServerFlag = keyof typeof serverFlags;

/** A Service, reached through the Kubernetes API. */
export interface ServicePlace {
  readonly namespace: string;
  /** `[https:]NAME:PORT`, as in the API's path. */
  readonly service: string;
}

export interface ServerChoice {
  /** As given. */
  readonly server: string;
  /** null: `server` is an address. */
  readonly place: ServicePlace | null;
  readonly caFile?: string;
  readonly tokenFile?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** @returns undefined: HTTP was not chosen. @throws OrreryError USAGE */
export function givenServer(given: FlagTexts, { env, directory }: Terminal): ServerChoice | undefined {
  const server = given.server ?? (env.ORRERY_SERVER || undefined);
  if (server === undefined) return undefined;
  if (given.server !== undefined && given.nats !== undefined) {
    throw new OrreryError('USAGE', '--server and --nats cannot be used together');
  }
  const text = (flag: ServerFlag | 'kubeconfig') => given[flag] ?? (env[environmentName(flag)] || undefined);
  const file = (flag: ServerFlag) => {
    const path = text(flag);
    return path === undefined ? undefined : resolve(directory, path);
  };
  return choice(server, {
    caFile: file('server-ca'),
    tokenFile: file('token-file'),
    kubeconfig: text('kubeconfig'),
    context: text('context'),
  });
}

type Optional = Partial<Record<'caFile' | 'tokenFile' | 'kubeconfig' | 'context', string | undefined>>;

/** @throws OrreryError USAGE */
export function choice(server: string, more: Optional): ServerChoice {
  const known = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined));
  return { server: server.replace(/\/+$/, ''), place: placeOf(server), ...known };
}

const allowed = 'https://HOST[:PORT], http:// on this machine, or kube[:NAMESPACE[/SERVICE:PORT]]';
const kubeForm = /^kube(?::([a-z0-9-]+)(?:\/((?:https:)?[a-z0-9-]+:[a-z0-9-]+))?)?$/;

function placeOf(server: string): ServicePlace | null {
  const [found, namespace = 'orrery', service = 'orrery:http'] = kubeForm.exec(server) ?? [];
  if (found !== undefined)
    return { namespace, service: service.startsWith('https:') ? service : `http:${service}` };
  const url = URL.canParse(server) ? new URL(server) : null;
  const isAddress =
    url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '';
  if (!isAddress) {
    throw notAllowed('--server', server, allowed);
  }
  if (url.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) {
    const why = 'the token would be sent unencrypted';
    throw new OrreryError(
      'USAGE',
      `--server: ${JSON.stringify(server)} is not allowed: ${why}; allowed: ${allowed}`,
    );
  }
  return null;
}

function memoryFile({ env }: Pick<Terminal, 'env'>): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config');
  return join(folder, 'orrery', 'server.json');
}

/** The choice of `orrery login`. @throws OrreryError USAGE if it cannot be read */
export function rememberedServer(terminal: Pick<Terminal, 'env'>): ServerChoice | undefined {
  const file = memoryFile(terminal);
  try {
    const { server, ...more } = JSON.parse(readFileSync(file, 'utf8')) as { server: string } & Optional;
    return choice(String(server), more);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new OrreryError(
      'USAGE',
      `${file} cannot be read (${asError(error).message}): orrery logout removes it`,
    );
  }
}

/** @returns the file */
export function remember({ place: _, ...kept }: ServerChoice, terminal: Pick<Terminal, 'env'>): string {
  const file = memoryFile(terminal);
  makeGivenFolder(terminal.env.XDG_CONFIG_HOME ? 'XDG_CONFIG_HOME' : 'HOME', dirname(file));
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 });
  return file;
}

/** @returns the file; undefined if nothing was remembered */
export function forgetServer(terminal: Pick<Terminal, 'env'>): string | undefined {
  const file = memoryFile(terminal);
  if (!existsSync(file)) return undefined;
  rmSync(file, { force: true });
  return file;
}
