/**
 * The TLS certificate of a replica's HTTP, from files that are renewed from outside.
 *
 * Promise: a renewed pair is used without a restart; while the files are unreadable, or do not match, the
 * last good pair stays.
 */

import { createSecureContext, type Server } from 'node:tls';
import type { Clock, Timer } from '../../base/clock.ts';
import { readGivenFile } from '../../base/config-values.ts';
import { asError, OrreryError } from '../../base/errors.ts';

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * A mounted Secret is updated within a minute or two, and certificates are renewed long before they expire.
 */
const lookMs = 60_000;

/** @throws OrreryError USAGE if the files cannot be read, or do not match */
export function readTls({ certFile, keyFile }: TlsFiles): TlsPair {
  const pair = { cert: readGivenFile('http-cert', certFile), key: readGivenFile('http-key', keyFile) };
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new OrreryError(
      'USAGE',
      `--http-cert and --http-key do not belong together: ${asError(error).message}`,
      {
        cause: error,
      },
    );
  }
  return pair;
}

/** Passes each renewed pair to the server, until it is closed. */
export function keepTlsFresh(
  server: Pick<Server, 'setSecureContext' | 'once'>,
  files: TlsFiles,
  clock: Clock,
): void {
  let timer: Timer | undefined;
  const look = (): void => {
    timer = clock.after(lookMs, look);
    try {
      server.setSecureContext(readTls(files));
    } catch {
      // The files are just being replaced.
    }
  };
  timer = clock.after(lookMs, look);
  server.once('close', () => timer?.cancel());
}
