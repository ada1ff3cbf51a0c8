/** Changes as the lines of a watch, encoded once for everyone who sees them through the same resource. */
import { objectText } from '../encoding.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import { type Change, type Version, versionOf } from '../storage/version.ts';
import type { StoredObject } from '../stored-object.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/**
 * What the change is to a watcher who sees only objects for which `matches` holds; undefined: nothing. An
 * object that leaves the selection is deleted for that watcher, with its last state in the event.
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

/** The event for an object that existed before the watch. */
export function addedLine(resource: Resource, version: Version): Buffer {
  return eventLine('ADDED', objectText(resource, version));
}

export function eventLine(type: EventType | 'BOOKMARK' | 'ERROR', object: string): Buffer {
  return Buffer.from(`{"type":"${type}","object":${object}}\n`);
}

/** A deletion shows the last state, at the revision of the deletion. */
function versionIn(change: Change, type: EventType): Version {
  if (type !== 'DELETED' && change.current !== null) return change.current;
  return versionOf((change.previous as Version).object, change.revision);
}
