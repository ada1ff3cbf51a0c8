/** The files of deploy/, read as Kubernetes would read them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';

export const root = join(import.meta.dirname, '../..');

/** A document; its other fields are whatever the kind has. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly [field: string]: unknown;
}

export function yamlFiles(folder: string): string[] {
  const path = join(root, folder);
  return existsSync(path)
    ? readdirSync(path)
        .filter((name) => name.endsWith('.yaml'))
        .sort()
    : [];
}

/**
 * Every document of a YAML file.
 * @throws Error for a syntax error or a repeated key
 */
export function readYaml(path: string): Manifest[] {
  return parseAllDocuments(readFileSync(join(root, path), 'utf8')).map((document) => {
    const [error] = 'errors' in document ? document.errors : [];
    if (error) throw new Error(`${path}: ${error.message}`);
    return document.toJS();
  });
}

export function baseManifests(): Manifest[] {
  const files = yamlFiles('deploy/base').filter((name) => name !== 'kustomization.yaml');
  return files.flatMap((name) => readYaml(`deploy/base/${name}`));
}
