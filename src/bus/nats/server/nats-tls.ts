/** TLS to the NATS servers: the files that flags name, and whom a server's certificate has to name. */
import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext, type PeerCertificate } from 'node:tls';
import { notAllowed, readGivenFile } from '../../../base/config-values.ts';
import { asError } from '../../../base/errors.ts';
import type { ServerUrl } from './nats-url.ts';

export interface TlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
}

/**
 * The client library reads the files again at each connection, so renewed ones are used.
 *
 * @throws OrreryError USAGE if a file cannot be used
 */
export function tlsOptions(files: TlsFiles, urls: readonly ServerUrl[]) {
  const { caFile, certFile, keyFile } = files;
  if (caFile !== undefined) {
    const ca = readGivenFile('nats-ca', caFile);
    checked('--nats-ca', caFile, 'certificates in PEM', () => {
      if (!ca.includes('BEGIN CERTIFICATE')) throw new Error('there is none in it');
      createSecureContext({ ca });
    });
  }
  if (certFile !== undefined && keyFile !== undefined) {
    const [cert, key] = [readGivenFile('nats-cert', certFile), readGivenFile('nats-key', keyFile)];
    const pair = 'a certificate in PEM, whose private key --nats-key names';
    checked('--nats-cert', certFile, pair, () => createSecureContext({ cert, key }));
  }
  return { ...files, checkServerIdentity: identityCheck(urls) };
}

function checked(flag: string, file: string, allowed: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw notAllowed(flag, file, `${allowed} (${asError(error).message})`, error);
  }
}

/**
 * The library gives no name for a server that is addressed by IP, and Node.js then compares the certificate
 * with "localhost". Here it must name an address that was given.
 */
function identityCheck(urls: readonly ServerUrl[]) {
  const hosts = urls.map(({ host }) => host);
  const addresses = hosts.filter((host) => isIP(host) !== 0);
  return (name: string, certificate: PeerCertificate): Error | undefined => {
    const isNamed = name !== 'localhost' || addresses.length === 0;
    const names = isNamed ? [name] : hosts.filter((host) => host === name || addresses.includes(host));
    const errors = names.map((one) => checkServerIdentity(one, certificate));
    return errors.includes(undefined) ? undefined : errors[0];
  };
}
