/** All resources that are served at present: the built-in ones, and those of established definitions. */
import { builtinResources } from './builtin-resources.ts';
import type { Resource } from './resource.ts';

export class Registry {
  /** By `<group>/<version>/<plural>`. */
  readonly #resources = new Map<string, Resource>();
  readonly #custom = new Map<string, Resource[]>();

  constructor() {
    for (const resource of builtinResources) this.#resources.set(keyOf(resource), resource);
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#resources.get(keyOf({ group, version, plural }));
  }

  /** The resource of a kind in some version of a group, if there is one. */
  findKind(group: string, kind: string): Resource | undefined {
    return this.all().find((resource) => resource.group === group && resource.kind === kind);
  }

  /** The first resource that shows a storage. */
  findStorage(storage: string): Resource | undefined {
    return this.all().find((resource) => resource.storage === storage);
  }

  all(): Resource[] {
    return [...this.#resources.values()];
  }

  /** Replaces the resources of the definition `name`. */
  setCustom(name: string, resources: Resource[]): void {
    for (const old of this.#custom.get(name) ?? []) this.#resources.delete(keyOf(old));
    for (const resource of resources) this.#resources.set(keyOf(resource), resource);
    if (resources.length === 0) this.#custom.delete(name);
    else this.#custom.set(name, resources);
  }
}

function keyOf({ group, version, plural }: Pick<Resource, 'group' | 'version' | 'plural'>): string {
  return `${group}/${version}/${plural}`;
}
