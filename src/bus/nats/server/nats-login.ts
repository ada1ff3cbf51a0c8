/**
 * Who we are to NATS: the login in the servers' URLs, or a file of credentials.
 *
 * The file is read at each login, so renewed credentials are used. While it cannot be used – it is just being
 * replaced – the last good ones are: an exception at the login would close the connection for good. NATS does
 * not say that a JWT has expired when it refuses it, so that is told here.
 */
import { readFileSync } from 'node:fs';
import { type Clock, timestamp } from '../../../base/clock.ts';
import { notAllowed, readGivenFile } from '../../../base/config-values.ts';
import { asError, attempt } from '../../../base/errors.ts';
import type { Log } from '../../../base/log-port.ts';
import type { Troubles } from '../../troubles.ts';
import type { ServerUrl } from './nats-url.ts';

/** How the client library makes its answer to a server's nonce. */
export interface Makers<T> {
  /** From a file with a JWT and a seed. */
  readonly jwt: (content: Uint8Array) => (nonce?: string) => T;
  readonly nkey: (seed: Uint8Array) => (nonce?: string) => T;
}

/** The login in the URLs; one in any of them applies to all. */
export function loginInUrls(urls: readonly ServerUrl[]): { user?: string; pass?: string; token?: string } {
  const { user, pass } = urls.find((url) => url.user !== undefined) ?? {};
  if (user === undefined) return {};
  return pass === undefined ? { token: user } : { user, pass };
}

interface CredentialsParts {
  readonly clock: Clock;
  readonly troubles: Troubles;
  readonly log: Log;
}

/** @throws OrreryError USAGE if the file cannot be used now */
export function credentials<T>(
  file: string,
  makers: Makers<T>,
  parts: CredentialsParts,
): (nonce?: string) => T {
  const { log } = parts;
  let latest = firstCredentials(file, makers);
  const tellExpiry = expiryTeller(file, parts);
  return (nonce) => {
    try {
      const content = readFileSync(file);
      latest = usable(content, makers);
      tellExpiry(content);
    } catch (error) {
      log.warn(
        { file, reason: asError(error).message },
        'the file of NATS credentials cannot be used; logging in with what it held before',
      );
    }
    return latest(nonce);
  };
}

function firstCredentials<T>(file: string, makers: Makers<T>): (nonce?: string) => T {
  const content = readGivenFile('nats-creds', file);
  try {
    return usable(content, makers);
  } catch (error) {
    const allowed = `a file with the JWT and seed of a NATS user, or its seed alone (${asError(error).message})`;
    throw notAllowed('--nats-creds', file, allowed, error);
  }
}

/** @throws Error if a login with it would throw */
function usable<T>(content: Buffer, { jwt, nkey }: Makers<T>): (nonce?: string) => T {
  const text = content.toString();
  const seed = /\bSU[A-Z2-7]{56}\b/.exec(text)?.[0];
  if (seed === undefined) throw new Error('there is no seed of a user in it');
  const login = text.includes('JWT') ? jwt(content) : nkey(Buffer.from(seed));
  login('a nonce');
  return login;
}

/** Told once for each JWT. */
function expiryTeller(file: string, { clock, troubles, log }: CredentialsParts): (content: Buffer) => void {
  let told: number | undefined;
  return (content) => {
    const expiresAt = expiryOf(content.toString());
    if (expiresAt === undefined || expiresAt > clock.now()) return void troubles.over('credentials');
    const reason = `the JWT in ${file} (--nats-creds) expired at ${timestamp(expiresAt)}: renew the file, it is read at each attempt`;
    // By our clock. If NATS takes it all the same, nothing is lost.
    troubles.note('credentials', reason, { isMinor: true });
    if (told !== expiresAt) log.error({ reason }, 'the NATS credentials have expired');
    told = expiresAt;
  };
}

/** ms since the epoch; undefined: it never expires, or there is no JWT. */
function expiryOf(text: string): number | undefined {
  const [, claims = ''] = /\beyJ[\w-]+\.([\w-]+)\.[\w-]+/.exec(text) ?? [];
  const read = () => (JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp?: unknown }).exp;
  const seconds = attempt(read, undefined);
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined;
}
