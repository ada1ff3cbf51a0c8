/** Changes as the lines of a watch, encoded once for all who see them through the same resource. */
import { objectText } from '../encoding.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import { type Change, type Version, versionOf } from '../storage/version.ts';
import type { StoredObject } from '../stored-object.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/**
 * What the change is to somebody who sees only objects that `matches` holds for; undefined: nothing.
 * An object that leaves the selection is deleted for him, with its last state inside it.
 */
export function eventType(change: Change, matches: (object: StoredObject) => boolean): EventType | undefined {
  const isIn = change.current !== null && matches(change.current.object);
  const wasIn = change.previous !== null && matches(change.previous.object);
  if (isIn) return wasIn ? 'MODIFIED' : 'ADDED';
  return wasIn ? 'DELETED' : undefined;
}

/** The event of a change as one line. */
export function changeLine(resource: Resource, change: Change, type: EventType): Buffer {
  const key = `${apiVersionOf(resource)} ${type}`;
  const known = change.lines.get(key);
  if (known !== undefined) return known;
  const line = eventLine(type, objectText(resource, versionIn(change, type)));
  change.lines.set(key, line);
  return line;
}

/** The event that tells of an object that was there before the watch. */
export function addedLine(resource: Resource, version: Version): Buffer {
  return eventLine('ADDED', objectText(resource, version));
}

export function eventLine(type: EventType | 'BOOKMARK' | 'ERROR', object: string): Buffer {
  return Buffer.from(`{"type":"${type}","object":${object}}\n`);
}

/** A deletion shows the last state, at the revision at which it ended. */
function versionIn(change: Change, type: EventType): Version {
  if (type !== 'DELETED' && change.current !== null) return change.current;
  return versionOf((change.previous as Version).object, change.revision);
}
