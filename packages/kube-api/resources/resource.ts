/**
 * A resource as the API serves it: where it is, what it is called, what can be done with it, and which rules
 * it follows.
 */
import type { JsonObject } from '../json.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Schema } from '../schema/schema.ts';
import type { StoredObject } from '../stored-object.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** Where a scalable object keeps its numbers: JSONPath-like paths with a leading dot. */
export interface ScalePaths {
  readonly spec: string;
  readonly status: string;
  readonly selector: string;
}

export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly Verb[];
  /** Whether status is written through a subresource only. */
  readonly hasStatus: boolean;
  readonly scale: ScalePaths | null;
  /** Name of the storage; resources with the same name show the same objects. */
  readonly storage: string;
  /** Built-in objects are decoded by it; custom ones are pruned, defaulted and validated by it. */
  readonly schema: Schema;
  readonly isCustom: boolean;
  readonly rules: Kind;
  /** How a stored object looks here, and the reverse, if that differs. */
  readonly view?: {
    readonly show: (stored: StoredObject) => StoredObject;
    readonly store: (shown: StoredObject) => StoredObject;
  };
  /** Custom resources only: the columns of their tables, as the definition names them. */
  readonly printerColumns?: readonly JsonObject[];
  /** Custom resources only: their definition is being deleted, so nothing new may come. */
  readonly isTerminating?: boolean;
}

/** `v1`, `apps/v1`. */
export function apiVersionOf(resource: Pick<Resource, 'group' | 'version'>): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** The object as the resource shows it, without apiVersion and kind. */
export function shown(resource: Resource, object: StoredObject): StoredObject {
  return resource.view === undefined ? object : resource.view.show(object);
}

/** What a field path like `.spec.replicas` leads to. */
export function pathOf(path: string): string[] {
  return path.split('.').filter((part) => part !== '');
}
