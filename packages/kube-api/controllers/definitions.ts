/**
 * Puts CustomResourceDefinitions into effect: accepts their names, serves their resources, and empties and
 * forgets these when the definition is deleted.
 */
import { kubeTime } from '../../../src/base/kube-time.ts';
import { type JsonObject, listAt, objectAt, objectsAt, textAt } from '../json.ts';
import { customResources, customStorage } from '../resources/custom.ts';
import type { Change, Version } from '../storage/version.ts';
import type { StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import { definitionFinalizer, removeObject } from '../writing/remove.ts';
import { save } from '../writing/replace.ts';
import { WorkQueue } from './work-queue.ts';

export const definitionStorage = 'apiextensions.k8s.io/customresourcedefinitions';

export class Definitions {
  readonly #cluster: Cluster;
  readonly #queue: WorkQueue;
  /** Storage of custom objects → name of the definition. */
  readonly #byStorage = new Map<string, string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#queue = new WorkQueue('definitions', cluster.log, (name) => this.#settle(name));
  }

  note(change: Change): void {
    const owner = change.current === null ? this.#byStorage.get(change.storage) : undefined;
    if (change.storage === definitionStorage) this.#noteDefinition(change);
    else if (owner !== undefined) this.#queue.add(owner);
  }

  stop(): void {
    this.#queue.stop();
  }

  #noteDefinition({ name, current, previous }: Change): void {
    if (current !== null) {
      this.#serve(name, current.object);
      this.#queue.add(name);
    } else if (previous !== null) this.#forget(name, previous.object);
  }

  #serve(name: string, definition: StoredObject): void {
    const isEstablished = isTrue(definition, 'Established');
    this.#cluster.registry.setCustom(name, isEstablished ? customResources(definition) : []);
    if (isEstablished) this.#byStorage.set(customStorage(definition), name);
  }

  #forget(name: string, definition: StoredObject): void {
    const storage = customStorage(definition);
    this.#cluster.registry.setCustom(name, []);
    if (this.#byStorage.get(storage) !== name) return;
    this.#byStorage.delete(storage);
    this.#cluster.fanout.close(storage);
    this.#cluster.store.drop(storage);
    // Names that were taken may now be free.
    for (const { object } of this.#cluster.store.collection(definitionStorage).list())
      if (!isTrue(object, 'NamesAccepted')) this.#queue.add(object.metadata.name);
  }

  #settle(name: string): void {
    const version = this.#cluster.store.collection(definitionStorage).get({ namespace: '', name });
    if (version === undefined) return;
    if (version.object.metadata.deletionTimestamp !== undefined) this.#cleanUp(version);
    else this.#accept(version);
  }

  #accept(version: Version): void {
    const { object } = version;
    const { acceptedNames, problem } = acceptNames(
      objectAt(object, 'spec', 'names') ?? {},
      this.#takenNames(object),
    );
    const isEstablished = isTrue(object, 'Established') || problem === undefined;
    const conditions = [
      problem === undefined
        ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
        : { type: 'NamesAccepted', status: 'False', ...problem },
      isEstablished
        ? {
            type: 'Established',
            status: 'True',
            reason: 'InitialNamesAccepted',
            message: 'the initial names have been accepted',
          }
        : {
            type: 'Established',
            status: 'False',
            reason: 'NotAccepted',
            message: 'not all names are accepted',
          },
    ];
    this.#setStatus(version, { ...objectAt(object, 'status'), acceptedNames }, conditions);
  }

  /** Names of the other definitions in the group. */
  #takenNames(definition: StoredObject): TakenNames {
    const group = textAt(definition, 'spec', 'group');
    const others = this.#cluster.store
      .collection(definitionStorage)
      .list()
      .filter(({ object }) => object.metadata.name !== definition.metadata.name)
      .filter(({ object }) => textAt(object, 'spec', 'group') === group)
      .map(({ object }) => objectAt(object, 'status', 'acceptedNames'));
    return {
      resources: new Set(others.flatMap(resourceNames)),
      kinds: new Set(others.flatMap((other) => [textAt(other, 'kind'), textAt(other, 'listKind')])),
    };
  }

  #cleanUp(version: Version): void {
    const { object } = version;
    if (!object.metadata.finalizers?.includes(definitionFinalizer)) return;
    const storage = customStorage(object);
    const isOurs = this.#byStorage.get(storage) === object.metadata.name;
    const resource = isOurs ? this.#cluster.registry.findStorage(storage) : undefined;
    const held = isOurs ? this.#cluster.store.collection(storage).list() : [];
    for (const instance of held) {
      if (resource === undefined || instance.object.metadata.deletionTimestamp !== undefined) continue;
      removeObject(this.#cluster, resource, instance, { propagation: 'Background', isDryRun: false });
    }
    const left = isOurs ? this.#cluster.store.collection(storage).list().length : 0;
    if (left > 0) this.#tellCleaning(version, left);
    else this.#letGo(version);
  }

  #tellCleaning(version: Version, left: number): void {
    const terminating = {
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionInProgress',
      message: `CustomResource deletion is in progress, ${left} left`,
    };
    const kept = objectsAt(version.object, 'status', 'conditions').filter(
      (known) => known.type !== 'Terminating',
    );
    this.#setStatus(version, objectAt(version.object, 'status') ?? {}, [...kept, terminating]);
  }

  #letGo(version: Version): void {
    const { finalizers = [], ...meta } = version.object.metadata;
    const kept = finalizers.filter((finalizer) => finalizer !== definitionFinalizer);
    this.#save(version, {
      ...version.object,
      metadata: kept.length === 0 ? meta : { ...meta, finalizers: kept },
    });
  }

  /** An unchanged condition keeps the time of its last change. */
  #setStatus(version: Version, status: JsonObject, conditions: readonly JsonObject[]): void {
    const known = objectsAt(version.object, 'status', 'conditions');
    const now = kubeTime(this.#cluster.clock.now());
    const timed = conditions.map((condition) => {
      const before = known.find(
        (other) => other.type === condition.type && other.status === condition.status,
      );
      return { lastTransitionTime: textAt(before, 'lastTransitionTime') || now, ...condition };
    });
    this.#save(version, { ...version.object, status: { ...status, conditions: timed } });
  }

  #save(version: Version, object: StoredObject): void {
    const resource = this.#cluster.registry.findStorage(definitionStorage);
    if (resource !== undefined) save(this.#cluster, resource, version, object, false);
  }
}

interface TakenNames {
  /** Plurals, singulars and short names. */
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

interface NameProblem {
  readonly reason: string;
  readonly message: string;
}

/** Each name is accepted separately; of several problems, the last is reported. */
function acceptNames(
  names: JsonObject,
  taken: TakenNames,
): { acceptedNames: JsonObject; problem?: NameProblem } {
  const acceptedNames: JsonObject = { ...names };
  let problem: NameProblem | undefined;
  const judge = (field: string, reason: string, known: ReadonlySet<string>) => {
    const used = [names[field] ?? []].flat().find((name) => known.has(String(name)));
    if (used === undefined) return;
    problem = { reason, message: `"${used}" is already in use` };
    if (field === 'plural' || field === 'kind') acceptedNames[field] = '';
    else delete acceptedNames[field];
  };
  judge('plural', 'PluralConflict', taken.resources);
  judge('singular', 'SingularConflict', taken.resources);
  judge('shortNames', 'ShortNamesConflict', taken.resources);
  judge('kind', 'KindConflict', taken.kinds);
  judge('listKind', 'ListKindConflict', taken.kinds);
  return problem === undefined ? { acceptedNames } : { acceptedNames, problem };
}

function resourceNames(names: JsonObject | undefined): string[] {
  const all = [
    textAt(names, 'plural'),
    textAt(names, 'singular'),
    ...listAt(names, 'shortNames').map(String),
  ];
  return all.filter((name) => name !== '');
}

function isTrue(definition: StoredObject, type: string): boolean {
  return objectsAt(definition, 'status', 'conditions').some(
    (condition) => condition.type === type && condition.status === 'True',
  );
}
