/**
 * What a feature keeps of the Kubernetes objects it watches, typed by a schema.
 *
 * Promises: an object that does not fit the schema, or of which more than `featureLimits.digestBytes` would
 * be kept, is left out and logged; other objects are not affected (I8). A feature's watch is a mirror of its
 * own: what one feature keeps, or fails to read, changes nothing for another.
 */
import { type GenericSchema, type InferOutput, safeParse } from 'valibot';
import { featureLimits } from '../actors/feature-limits.ts';
import { isInterrupted, isOwnInterruption } from '../actors/time/care.ts';
import type { WatchDeclaration } from '../actors/world/watch-declaration.ts';
import type { Clock } from '../base/clock.ts';
import type { AnyDigest, DigestBase, ObjectDigest } from '../base/digests.ts';
import { asError, OrreryError } from '../base/errors.ts';
import type { KubeObject } from '../base/kube-port.ts';
import { encode } from '../bus/codec.ts';
import { type KindName, type NamedResource, readKindName } from './kind-name.ts';
import { createMissed, type Missed } from './missed-calls.ts';

/** What every digest contains, beside what the feature keeps. */
export interface ObjectFacts extends DigestBase {
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
}

/** An object as a join receives it: the fixed fields, and what the feature keeps. */
export type Watched<D> = ObjectFacts & D;

export interface WatchOptions<S extends GenericSchema> {
  /**
   * In Kubernetes' syntax, such as `app=web,tier!=cache`: the API server leaves out the rest. Absent: all
   * objects.
   */
  readonly labelSelector?: string;
  /** What is kept: plain data, nothing secret (it is stored in NATS), at most 16 KiB for each object. */
  readonly digest: S;
  /**
   * Converts the object to the schema's input. Absent: the object itself. An exception leaves the object out.
   */
  readonly read?: (object: KubeObject) => unknown;
  /** Which objects are kept. Absent: all. Pure. */
  readonly wants?: (kept: InferOutput<S>) => boolean;
}

/** A watch, which `join` and `related` combine. */
export interface Watch<D = unknown> {
  readonly resource: NamedResource;
  readonly labelSelector: string | null;
  /** @returns what is kept, or why nothing is */
  keep(object: KubeObject): Kept<D>;
  wants(kept: D): boolean;
}

export type Kept<D> = { readonly kept: D } | { readonly problem: string };

/**
 * Watches a kind of Kubernetes objects, of any group, namespaced or cluster-scoped.
 *
 * @param kind `v1/Node`, `apps/v1/Deployment`; or in parts, with an irregular plural
 * @throws OrreryError USAGE if malformed
 */
export function watch<const S extends GenericSchema>(
  kind: KindName | NamedResource,
  { labelSelector, digest, read, wants }: WatchOptions<S>,
): Watch<InferOutput<S>> {
  const resource = readKindName(kind);
  if (digest?.kind !== 'schema')
    throw new OrreryError('USAGE', `watch(…) of ${resource.kind}: digest is not a schema, v.object({…})`);
  return {
    resource,
    labelSelector: labelSelector ?? null,
    keep: (object) => keep(digest, read === undefined ? () => object : read, object),
    wants: (kept) => wants?.(kept) ?? true,
  };
}

function keep<S extends GenericSchema>(
  schema: S,
  read: (object: KubeObject) => unknown,
  object: KubeObject,
): Kept<InferOutput<S>> {
  try {
    const result = safeParse(schema, read(object));
    if (!result.success) {
      const [issue] = result.issues;
      const path = issue.path?.map(({ key }) => String(key)).join('.') ?? '';
      return { problem: path === '' ? issue.message : `field "${path}": ${issue.message}` };
    }
    // A join merges it with the fixed fields.
    if (typeof result.output !== 'object')
      return { problem: `the digest is a ${typeof result.output}: make it an object, v.object({…})` };
    const bytes = encode(result.output).byteLength;
    if (bytes <= featureLimits.digestBytes) return { kept: result.output };
    return { problem: `${bytes} bytes would be kept; allowed: ${featureLimits.digestBytes}` };
  } catch (thrown) {
    return { problem: asError(thrown).message };
  }
}

/** As stored in the world. */
interface FeatureDigest extends ObjectDigest {
  readonly kept: unknown;
}

/**
 * The name under which the feature's watch appears in the world, and of the mirror that states its
 * completeness.
 */
export function worldName(feature: string, { resource: { apiVersion, kind } }: Watch): string {
  return `${feature}/${apiVersion}/${kind}`;
}

/** What the mirror reports about a feature's watches, and how it calls the feature's code. */
export interface Reports {
  /** Called for each object that cannot be read. @param follows what the feature has of it from now on */
  report(object: KubeObject, problem: string, follows: string): void;
  call<T>(what: string, work: () => T): T;
  clock: Clock;
}

/** The watch in the mirror's form. @param reports is complete once the feature has started */
export function declarationOf(
  { name: feature, kinds }: { readonly name: string; readonly kinds: readonly string[] },
  watch: Watch,
  reports: Reports,
): WatchDeclaration {
  const missed = createMissed(reports);
  return {
    resource: { apiVersion: watch.resource.apiVersion, kind: watch.resource.kind },
    name: worldName(feature, watch),
    apart: { name: feature, kinds },
    digestKind: 'kept',
    ...(watch.labelSelector === null ? {} : { label: watch.labelSelector }),
    digest(object) {
      const read = readOf(watch, object, reports, missed);
      if ('kept' in read) return { kept: read.kept };
      reports.report(object, read.problem, 'it is left out');
      return { kept: null };
    },
    carry(before, after) {
      if ((after as FeatureDigest).kept !== unread) return after;
      const isOfSame = before?.uid === after.uid;
      return { ...after, kept: isOfSame ? (before as FeatureDigest).kept : null } as ObjectDigest;
    },
    interest: () => ({
      tellers: [],
      fold: () => 'nothing',
      wants: (namespace, name, digest) => isWanted(watch, { namespace, name, digest }, reports, missed),
      onAgain: missed.onAgain,
    }),
  };
}

/** In place of what is kept of an object whose reading was interrupted: what was kept of it before stays. */
const unread = Object.freeze({ unread: true });

/** An interrupted call says nothing of the object, unless it is the one that did not yield. */
function readOf(watch: Watch, object: KubeObject, { call, report }: Reports, missed: Missed): Kept<unknown> {
  const { namespace = '', name } = object.metadata;
  const seen = { key: `read ${namespace}/${name}`, version: versionOf(object.metadata) };
  if (missed.isStuck(seen)) return { kept: unread };
  try {
    return call(`watch of ${watch.resource.kind}: read`, () => watch.keep(object));
  } catch (thrown) {
    if (!isInterrupted(thrown)) return { problem: asError(thrown).message };
    if (isOwnInterruption(thrown)) {
      missed.noteStuck(seen);
      report(object, asError(thrown).message, 'what was read of it before stays');
    } else missed.readAgain();
    return { kept: unread };
  }
}

interface Known {
  readonly namespace: string;
  readonly name: string;
  readonly digest: AnyDigest;
}

/** @returns undefined: it cannot be told at present, or for this version of the object */
function isWanted(
  watch: Watch,
  { namespace, name, digest }: Known,
  { call }: Reports,
  missed: Missed,
): boolean | undefined {
  const { kept, ...metadata } = digest as FeatureDigest;
  const seen = { key: `wants ${namespace}/${name}`, version: versionOf(metadata) };
  if (kept === null) return false;
  if (missed.isStuck(seen)) return undefined;
  try {
    return call(`watch of ${watch.resource.kind}: wants`, () => watch.wants(kept));
  } catch (thrown) {
    if (!isInterrupted(thrown)) return false;
    if (isOwnInterruption(thrown)) missed.noteStuck(seen);
    else missed.askAgain(namespace, name);
    return undefined;
  }
}

const versionOf = ({ uid = '', resourceVersion = '' }: Partial<DigestBase>) => `${uid}/${resourceVersion}`;

/** The object as joins receive it; null if the world has none. */
export function watchedOf<D>(namespace: string, name: string, digest: AnyDigest | null): Watched<D> | null {
  if (digest === null) return null;
  const { uid, resourceVersion, createdAt, deleting, labels, kept } = digest as FeatureDigest;
  if (typeof kept !== 'object' || kept === null) return null;
  const facts: ObjectFacts = { namespace, name, uid, resourceVersion, createdAt, deleting, labels };
  return { ...(kept as D & object), ...facts };
}
