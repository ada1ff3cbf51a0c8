/**
 * One version of one object, and the change that made it.
 *
 * Promises: both are never changed. The texts that answers and watches need are made once and kept with them,
 * so that one object is encoded once for all its readers.
 */
import type { StoredObject } from '../stored-object.ts';

export interface Version {
  readonly object: StoredObject;
  /** The store's revision at which it came to be; the object's resourceVersion. */
  readonly revision: number;
  /** Encoded forms by what they are seen through; filled on demand by `encoding.ts`. */
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

/** Stamps an object with its revision; takes over the object that it is handed. */
export function versionOf(object: StoredObject, revision: number): Version {
  const metadata = { ...object.metadata, resourceVersion: String(revision) };
  return { object: { ...object, metadata }, revision, texts: new Map() };
}
