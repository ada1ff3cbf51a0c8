/**
 * One version of one object, and the change that made it.
 *
 * Promises: neither is ever changed. The texts that answers and watches need are made once and kept with
 * them, so that an object is encoded once for all its readers.
 */
import type { StoredObject } from '../stored-object.ts';

export interface Version {
  readonly object: StoredObject;
  /** The store's revision that created it; the object's resourceVersion. */
  readonly revision: number;
  /** Encoded forms, by resource; filled on demand by `encoding.ts`. */
  readonly texts: Map<string, string>;
}

export interface Change {
  readonly revision: number;
  /** Which storage: `pods`, `apps/deployments`, … */
  readonly storage: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent: the object was deleted. */
  readonly current: Version | null;
  /** Absent: the object was created. */
  readonly previous: Version | null;
  /** Encoded watch events by view and type; filled on demand by `watch/watch-lines.ts`. */
  readonly lines: Map<string, Buffer>;
}

/** Stamps an object with its revision; takes ownership of the given object. */
export function versionOf(object: StoredObject, revision: number): Version {
  const metadata = { ...object.metadata, resourceVersion: String(revision) };
  return { object: { ...object, metadata }, revision, texts: new Map() };
}
