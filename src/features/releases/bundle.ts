/**
 * A bundle: the directory of `--bundle`, with `bundle.yaml` and the manifests that it names, read once at the
 * start.
 *
 * Promises: every problem ends in one USAGE error that names the file, the object and what is expected. The
 * contents are never logged, and go only to the API server (I9): a manifest may be a Secret.
 */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isAbsolute, join, normalize } from 'node:path';
import * as v from 'valibot';
import { type ParseOptions, parseAllDocuments, type SchemaOptions, type Tags } from 'yaml';
import { asError, OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { compareReleases, isRelease } from '../../base/semantic-version.ts';
import type { KindName } from '../../machines/release/release-table.ts';
import { serverMetadata } from './object-changes.ts';

/** An object of a manifest. */
export interface BundleObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export interface Bundle {
  /** Names the release's actor: `release/_/<name>`. */
  readonly name: string;
  /** The value of `bundleLabel` on each of its objects. */
  readonly id: string;
  readonly release: string;
  readonly minReconciler: string;
  readonly minServing: string;
  readonly objects: readonly BundleObject[];
  readonly kinds: readonly KindName[];
}

/** Every manifest of a bundle has this label; earlier releases recognized their objects by it alone. */
export const builtinLabel = 'orrery.dev/builtin';
/**
 * Marks an object as this bundle's, of this Orrery, and no other's. Objects with it may be changed and
 * deleted (§3.2, §3.4).
 */
export const bundleLabel = 'orrery.dev/bundle';
/**
 * On a manifest, with the value `recreate`: if a field is immutable, the object is deleted and created again
 * (§3.5).
 */
export const immutableMark = 'orrery.dev/on-immutable';
/** On a manifest: an existing object of that name that is not ours is taken over. */
const adoptMark = 'orrery.dev/adopt';
/** The releases of one service share a name, whatever their bundles' directories are called. */
const defaultName = 'platform';

const versionText = 'must be a semantic version such as 1.2.3';
const release = v.pipe(v.string(versionText), v.check(isRelease, versionText));
const dnsName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const relativeFile = v.pipe(
  v.string('must be text'),
  v.minLength(1, 'must name a file'),
  v.check((file) => !isAbsolute(file) && !normalize(file).startsWith('..'), 'must lie within the bundle'),
);

const description = v.strictObject({
  name: v.optional(v.pipe(v.string(), v.regex(dnsName, 'must be a DNS label')), defaultName),
  release,
  minReconcilerRelease: release,
  minServingRelease: release,
  manifests: v.array(relativeFile, 'must be a list of files'),
});

const words = v.record(v.string(), v.string());
/** These become a path of the API: what cannot be one would fail every round, for ever. */
const placed = (form: RegExp, said: string) => v.pipe(v.string(), v.regex(form, said));
const places = {
  apiVersion: placed(
    /^([a-z0-9]([-.a-z0-9]*[a-z0-9])?\/)?[a-z0-9]+$/,
    'must be VERSION or GROUP/VERSION, such as v1 or apps/v1',
  ),
  kind: placed(/^[A-Za-z][A-Za-z0-9]*$/, 'must be a kind, such as ConfigMap'),
  name: placed(/^(?!\.{1,2}$)[^/%]+$/, 'must be the name of an object: without "/" and "%", not "." or ".."'),
  namespace: placed(dnsName, 'must be the name of a Namespace'),
};

const manifestObject = v.looseObject({
  apiVersion: places.apiVersion,
  kind: places.kind,
  metadata: v.looseObject({
    name: places.name,
    namespace: v.optional(places.namespace),
    labels: v.optional(words, {}),
    annotations: v.optional(words),
  }),
});

/** `<cluster>.<name>`, or an equally unique form of it if that is no valid label value. */
export function bundleId(cluster: string, name: string): string {
  const id = `${cluster}.${name}`;
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9]$/.test(id)) return id;
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 16);
  return `${id.replace(/^[^A-Za-z0-9]+/, '').slice(0, 46)}.${hash}`;
}

/** @throws OrreryError USAGE */
export function loadBundle(dir: string, cluster = 'default'): Bundle {
  const file = join(dir, 'bundle.yaml');
  const [value, ...others] = readDocuments(dir, 'bundle.yaml');
  if (others.length > 0) throw wrong(file, 'has more than one document');
  const { name, release, minReconcilerRelease, minServingRelease, manifests } = checked(
    description,
    value,
    file,
  );
  const bound = (field: string, value: string) => {
    if (compareReleases(value, release) > 0)
      throw wrong(file, `${field} ${value} is newer than release ${release}`);
  };
  bound('minReconcilerRelease', minReconcilerRelease);
  bound('minServingRelease', minServingRelease);
  const objects = manifests.flatMap((manifest) => readManifest(dir, manifest));
  checkTogether(objects, file);
  const id = bundleId(cluster, name);
  return {
    name,
    id,
    release,
    minReconciler: minReconcilerRelease,
    minServing: minServingRelease,
    objects: objects.map(({ object }) => labelled(object, id)),
    kinds: kindsOf(objects.map(({ object }) => object)),
  };
}

export function labelled(object: BundleObject, id: string): BundleObject {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, [bundleLabel]: id } } };
}

/**
 * Whether the object may be deleted and recreated; never a definition, whose deletion removes every object of
 * its kind.
 */
export function isRecreatable({ kind, metadata }: BundleObject): boolean {
  if (kind === 'CustomResourceDefinition' || kind === 'Namespace') return false;
  return (
    metadata.annotations?.[immutableMark] === 'recreate' || metadata.labels[immutableMark] === 'recreate'
  );
}

/** Whether the object's manifest allows taking over an existing one. */
export function isAdopting({ metadata }: BundleObject): boolean {
  return metadata.annotations?.[adoptMark] === 'true' || metadata.labels[adoptMark] === 'true';
}

/** The object's name in errors. */
export function objectName({ kind, metadata }: BundleObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

interface Found {
  readonly file: string;
  readonly object: BundleObject;
}

function readManifest(dir: string, manifest: string): Found[] {
  const file = join(dir, manifest);
  return readDocuments(dir, manifest)
    .flatMap((value) => itemsOf(value))
    .map((value, n) => ({ file, object: readObject(value, file, n + 1) }));
}

/** What an error calls an object that cannot be read: by its name, or else by its place in the file. */
function nameIn(value: unknown, nth: number): string {
  const { kind, metadata } = (value ?? {}) as { kind?: unknown; metadata?: { name?: unknown } | null };
  const name = metadata?.name;
  if (typeof kind !== 'string' || typeof name !== 'string') return `object ${nth}`;
  return `${kind} ${name}`;
}

/** `kind: List` is no object itself. */
function itemsOf(value: unknown): readonly unknown[] {
  const { kind, items } = (value ?? {}) as { kind?: unknown; items?: unknown };
  return kind === 'List' && Array.isArray(items) ? items : [value];
}

function readObject(value: unknown, file: string, nth: number): BundleObject {
  const object = checked(manifestObject, value, file, nameIn(value, nth)) as BundleObject;
  const name = objectName(object);
  if (object.metadata.labels[builtinLabel] !== 'true') {
    throw wrong(file, `${name} does not carry the label ${builtinLabel}: "true"`);
  }
  checkMark(file, object, immutableMark, ['recreate']);
  checkMark(file, object, adoptMark, ['true', 'false']);
  return withoutServerFields(object);
}

/** A mark with another value would say nothing, and be missed only when it is needed. */
function checkMark(file: string, object: BundleObject, mark: string, allowed: readonly string[]): void {
  const { labels, annotations = {} } = object.metadata;
  const given = [labels[mark], annotations[mark]].filter((value) => value !== undefined);
  const other = given.find((value) => !allowed.includes(value));
  if (other === undefined) return;
  const values = allowed.map((value) => JSON.stringify(value)).join(' or ');
  throw wrong(file, `${objectName(object)} says ${mark}: ${JSON.stringify(other)}; allowed: ${values}`);
}

/** Of an object that was read from a cluster: an apply that states them is refused. */
function withoutServerFields(object: BundleObject): BundleObject {
  const own = Object.entries(object.metadata).filter(([field]) => !serverMetadata.has(field));
  return { ...object, metadata: Object.fromEntries(own) as unknown as BundleObject['metadata'] };
}

function checkTogether(objects: readonly Found[], file: string): void {
  if (objects.length > limits.bundleObjects)
    throw wrong(file, `names ${objects.length} objects; at most ${limits.bundleObjects} are allowed`);
  const seen = new Set<string>();
  for (const { object, file: from } of objects) {
    const key = objectKey(object);
    if (seen.has(key)) throw wrong(from, `${objectName(object)} occurs twice`);
    seen.add(key);
  }
}

/**
 * Identifies an object independently of its group's version. Without a namespace it is in `default`, or
 * cluster-scoped, depending on its kind.
 */
function objectKey({ apiVersion, kind, metadata }: BundleObject): string {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  return `${group}/${kind}/${metadata.namespace ?? 'default'}/${metadata.name}`;
}

function kindsOf(objects: readonly BundleObject[]): readonly KindName[] {
  const kinds = new Map(
    objects.map(({ apiVersion, kind }) => [`${apiVersion} ${kind}`, { apiVersion, kind }] as const),
  );
  return [...kinds.values()];
}

/** `0400` in YAML 1.1, which kubectl reads: the mode of a file in most manifests. In YAML 1.2 it is 400. */
const octal = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  identify: () => false,
  test: /^[-+]?0[0-7]+$/,
  resolve: (text: string) => Number.parseInt(text, 8),
} as const;

const asKubectlReads: ParseOptions & SchemaOptions = {
  merge: true,
  customTags: (tags: Tags) => [octal, ...tags],
};

function readDocuments(dir: string, name: string): unknown[] {
  const file = join(dir, name);
  try {
    const { size } = statSync(file);
    if (size > limits.bundleFileBytes)
      throw wrong(file, `has ${size} bytes; at most ${limits.bundleFileBytes} are allowed`);
    return parseAllDocuments(readFileSync(file, 'utf8'), asKubectlReads).flatMap((document) => {
      const [error] = document.errors ?? [];
      if (error !== undefined) throw wrong(file, firstLine(error.message));
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      return value === null || value === undefined ? [] : [value];
    });
  } catch (thrown) {
    if (thrown instanceof OrreryError) throw thrown;
    throw wrong(file, firstLine(asError(thrown).message));
  }
}

/** @param what of the file, in errors; absent: all of it */
function checked<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  file: string,
  what = '',
): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = issue.path?.map(({ key }) => String(key)).join('.') ?? '';
  const said = path === '' ? 'must be a mapping' : `${path}: ${saidOf(issue)}`;
  throw wrong(file, what === '' ? said : `${what}: ${said}`);
}

function saidOf({ type, expected, received, message }: v.BaseIssue<unknown>): string {
  if (type === 'strict_object' && expected === 'never') return 'is not a field here';
  return received === 'undefined' ? 'is missing' : message;
}

const firstLine = (text: string) => text.split('\n', 1)[0] ?? '';

function wrong(file: string, what: string): OrreryError {
  return new OrreryError('USAGE', `--bundle: ${file}: ${what}`);
}
