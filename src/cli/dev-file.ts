/**
 * The file that `orrery dev` writes into its folder while it runs, for the reading commands to find it.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asError, OrreryError } from '../base/errors.ts';

export interface DevAddresses {
  readonly nats: string;
  readonly cluster: string;
  readonly http: readonly string[];
  /** The features that the replicas loaded, as absolute paths or names of packages. */
  readonly features: readonly string[];
}

const fileName = 'dev.json';

/** Its path below the working directory, in the default folder of `orrery dev`. */
export const devFile = join('.orrery', fileName);

/** @returns a function that removes the file */
export function writeDevFile(folder: string, addresses: DevAddresses): () => void {
  const file = join(folder, fileName);
  writeFileSync(file, `${JSON.stringify(addresses, null, 2)}\n`);
  return () => rmSync(file, { force: true });
}

export function hasDevFile(directory: string): boolean {
  return existsSync(join(directory, devFile));
}

/** The HTTP address of the first replica of this folder's `orrery dev`; undefined: none runs. */
export function devHttp(directory: string): string | undefined {
  if (!hasDevFile(directory)) return undefined;
  const written: unknown = JSON.parse(readFileSync(join(directory, devFile), 'utf8'));
  const { http } = written as { readonly http?: readonly string[] };
  return http?.[0];
}

/** undefined if there is none. @throws OrreryError USAGE if the file is malformed */
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
