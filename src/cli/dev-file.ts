/**
 * The file that `orrery dev` leaves in its folder while it runs, so that the reading commands find it by
 * themselves.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asError, OrreryError } from '../base/errors.ts';

export interface DevAddresses {
  readonly nats: string;
  readonly cluster: string;
  /** The replicas' HTTP. */
  readonly http: readonly string[];
  /** Features that the replicas loaded, as absolute paths or names of packages. */
  readonly features: readonly string[];
}

const fileName = 'dev.json';

/** Where it is looked for: below the working directory, in the folder that `orrery dev` uses by default. */
export const devFile = join('.orrery', fileName);

/** @returns how to take the file away again */
export function writeDevFile(folder: string, addresses: DevAddresses): () => void {
  const file = join(folder, fileName);
  writeFileSync(file, `${JSON.stringify(addresses, null, 2)}\n`);
  return () => rmSync(file, { force: true });
}

export function hasDevFile(directory: string): boolean {
  return existsSync(join(directory, devFile));
}

/** Where the first replica of the `orrery dev` of this folder answers; undefined: none runs. */
export function devHttp(directory: string): string | undefined {
  if (!hasDevFile(directory)) return undefined;
  const written: unknown = JSON.parse(readFileSync(join(directory, devFile), 'utf8'));
  const { http } = written as { readonly http?: readonly string[] };
  return http?.[0];
}

/** undefined if there is none. @throws OrreryError USAGE if it is no such file */
export function readDevFile(directory: string): Omit<DevAddresses, 'http'> | undefined {
  const file = join(directory, devFile);
  if (!existsSync(file)) return undefined;
  try {
    const written: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof written === 'object' && written !== null && 'nats' in written && 'cluster' in written) {
      const features = 'features' in written && Array.isArray(written.features) ? written.features : [];
      return { nats: String(written.nats), cluster: String(written.cluster), features: features.map(String) };
    }
    throw new Error('it has no "nats" and "cluster"');
  } catch (error) {
    throw new OrreryError(
      'USAGE',
      `${devFile} cannot be read (${asError(error).message}): remove it or give --nats`,
    );
  }
}
