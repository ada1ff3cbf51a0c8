/**
 * Checks a replica's flags beyond the form of their values: refuses combinations that are unsafe or make no
 * sense.
 */
import { isLoopback, notAllowed } from '../base/config-values.ts';
import type { OrreryError } from '../base/errors.ts';
import { parseServer, withoutPasswords } from '../bus/nats/server/nats-url.ts';

interface NatsAccess {
  readonly servers: readonly string[];
  readonly credsFile: string | null;
  readonly caFile: string | null;
  readonly certFile: string | null;
}

export interface HttpTls {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Whoever can reach such a NATS server may do everything that Orrery may. @throws OrreryError USAGE */
export function refuseOpenNats({ servers, credsFile, caFile, certFile }: NatsAccess): void {
  if (credsFile !== null || caFile !== null || certFile !== null) return;
  const urls = servers.map((text) => ({ text, ...parseServer(text) }));
  // A login in one URL applies to all of them.
  if (urls.some(({ user }) => user !== undefined)) return;
  const open = urls.find(({ host, isTls }) => !isTls && !isLoopback(host));
  if (open === undefined) return;
  const allowed =
    'credentials (--nats-creds, or a user and password in the URL) or TLS (tls://, --nats-ca); or --nats-insecure, which lets everybody who reaches NATS do all that Orrery may';
  throw flagRefused('nats', open.text, allowed);
}

/** @throws OrreryError USAGE if only one of the two is given */
export function readHttpTls(certFile: string | undefined, keyFile: string | undefined): HttpTls | null {
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  const given = certFile ?? keyFile;
  if (given === undefined) return null;
  const name = certFile === undefined ? 'http-key' : 'http-cert';
  throw flagRefused(name, given, '--http-cert and --http-key together, or neither');
}

export function flagRefused(name: string, text: string, allowed: string, variable?: string): OrreryError {
  const from = variable === undefined ? '' : ` (from ${variable})`;
  // NATS URLs may contain a user and a password, which an error message must not (I9).
  return notAllowed(`--${name}${from}`, withoutPasswords(text), allowed);
}
