/**
 * Reads YAML files of Kubernetes objects, and writes objects in the development cluster's one way: create,
 * otherwise merge.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { type Clock, sleep } from '../../src/base/clock.ts';
import { asError, hasCode, OrreryError } from '../../src/base/errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../../src/base/kube-port.ts';
import { clusterLimits } from './limits.ts';
import type { PodObject } from './objects.ts';
import { customResourceDefinitions } from './resources.ts';

/** Every object in every YAML file of the folder; files in the order of their names. */
export async function readManifests(folder: string): Promise<KubeObject[]> {
  const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap((text, index) => parseManifest(text, names[index] ?? folder));
}

/** @throws OrreryError USAGE if the text is not YAML, or a document is not a Kubernetes object */
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

/**
 * Creates the object, or merges what is given into an existing one.
 * @returns the object as it is then
 */
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

const installation = join(import.meta.dirname, '../../deploy/base/orrery.yaml');

/** The accounts for which `orrery token` requests tokens, as in an installation. */
export async function ensureInspectorAccess(kube: KubePort, signal: AbortSignal): Promise<void> {
  const objects = parseManifest(await readFile(installation, 'utf8'), 'deploy/base/orrery.yaml');
  const isWanted = ({ kind, metadata }: KubeObject) =>
    kind === 'Namespace' ||
    metadata.name.startsWith('orrery-inspector-') ||
    metadata.name === 'orrery-kubectl';
  await ensureAll(kube, objects.filter(isWanted), signal);
}

/** Creates or merges custom resource definitions, and waits until each is served. */
export async function ensureDefinitions(
  kube: KubePort,
  definitions: readonly KubeObject[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  await ensureAll(kube, definitions, signal);
  const deadline = clock.monotonic() + clusterLimits.startMs;
  for (const { metadata } of definitions) {
    while (!isEstablished(await kube.get(customResourceDefinitions, undefined, metadata.name, signal))) {
      if (clock.monotonic() > deadline)
        throw new OrreryError('KUBE_SERVER', `the API server does not serve ${metadata.name}`);
      await sleep(clock, establishedPauseMs, signal);
    }
  }
}

const establishedPauseMs = 50;

function isEstablished(definition: KubeObject): boolean {
  // A definition's conditions have the same form as a Pod's.
  const { status }: PodObject = definition;
  return status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') === true;
}
