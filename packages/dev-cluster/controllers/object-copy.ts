/** Objects by key, and in groups that are found without a look at all of them. */
import type { KubeObject } from '../../../src/base/kube-port.ts';

export interface ObjectCopy<T> {
  get(key: string): T | undefined;
  set(key: string, object: T): void;
  /** @returns what was there */
  delete(key: string): T | undefined;
  entries(): Iterable<[string, T]>;
  all(): T[];
  inGroup(group: string): T[];
}

/** @param groupOf may change with the object; a copy is only in the group that it names now */
export function createObjectCopy<T extends KubeObject>(groupOf: (object: T) => string): ObjectCopy<T> {
  const objects = new Map<string, T>();
  const groups = new Map<string, Map<string, T>>();
  const leave = (key: string, group: string) => {
    const members = groups.get(group);
    members?.delete(key);
    if (members?.size === 0) groups.delete(group);
  };
  return {
    get: (key) => objects.get(key),
    set(key, object) {
      const [before, group] = [objects.get(key), groupOf(object)];
      if (before !== undefined && groupOf(before) !== group) leave(key, groupOf(before));
      objects.set(key, object);
      groups.set(group, (groups.get(group) ?? new Map<string, T>()).set(key, object));
    },
    delete(key) {
      const object = objects.get(key);
      if (object === undefined) return undefined;
      objects.delete(key);
      leave(key, groupOf(object));
      return object;
    },
    entries: () => objects,
    all: () => [...objects.values()],
    inGroup: (group) => [...(groups.get(group)?.values() ?? [])],
  };
}
