/**
 * YAML files of Kubernetes objects, and the one way in which the development cluster writes objects: create, else merge.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { asError, hasCode, OrreryError } from '../errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../kube/port.ts';

/** Every object of every YAML file of the folder, files in order of their names. */
export async function readManifests(folder: string): Promise<KubeObject[]> {
  const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap((text, index) => parseManifest(text, names[index] ?? folder));
}

/** @throws OrreryError USAGE if the text is no YAML, or a document is no Kubernetes object */
export function parseManifest(text: string, source: string): KubeObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const error = document.errors?.[0];
    if (error !== undefined) throw new OrreryError('USAGE', `${source}: ${asError(error).message}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    if (!isObject(value)) throw new OrreryError('USAGE', `${source}: a document is no Kubernetes object`);
    return [value];
  });
}

function isObject(value: unknown): value is KubeObject {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return false;
  const { metadata } = value;
  return typeof metadata === 'object' && metadata !== null && 'name' in metadata;
}

/** Creates the object; if it is there, merges what is given into it. Returns it as it stands then. */
export async function ensureObject(
  kube: KubePort,
  resource: KubeResource,
  object: KubeObject,
  signal: AbortSignal,
): Promise<KubeObject> {
  try {
    return await kube.create(resource, object, signal);
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
    const { name, namespace } = object.metadata;
    const scope = namespace === undefined ? {} : { namespace };
    return kube.patch(resource, { ...scope, name, type: 'merge', body: object }, signal);
  }
}

/** Creates or merges objects of any kind; each kind is found by discovery. */
export async function ensureAll(
  kube: KubePort,
  objects: readonly KubeObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const object of objects) {
    const resource = await kube.resolve(object.apiVersion ?? 'v1', object.kind ?? '', signal);
    await ensureObject(kube, resource, object, signal);
  }
}
