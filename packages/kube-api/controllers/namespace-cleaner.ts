/**
 * Empties namespaces that are being deleted, and removes each when nothing is left in it: the Pods first, and
 * while one is left nothing else; then one kind after another, with requests between, as the real controller
 * does.
 */

import { listAt, objectAt } from '../json.ts';
import type { Resource } from '../resources/resource.ts';
import type { Change } from '../storage/version.ts';
import type { Cluster } from '../verb-parts.ts';
import { removeObject } from '../writing/remove.ts';
import { save } from '../writing/replace.ts';
import { WorkQueue } from './work-queue.ts';

export class NamespaceCleaner {
  readonly #cluster: Cluster;
  readonly #queue: WorkQueue;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#queue = new WorkQueue('namespace cleaner', cluster.log, (name) => this.#clean(name));
  }

  note(change: Change): void {
    if (change.storage === 'namespaces') this.#queueIfGoing(change.name);
    else if (change.current === null && change.namespace !== '') this.#queueIfGoing(change.namespace);
  }

  stop(): void {
    this.#queue.stop();
  }

  #queueIfGoing(name: string): void {
    const namespace = this.#find(name);
    if (namespace?.object.metadata.deletionTimestamp !== undefined) this.#queue.add(name);
  }

  #find(name: string) {
    return this.#cluster.store.collection('namespaces').get({ namespace: '', name });
  }

  #clean(name: string): void {
    const namespace = this.#find(name);
    const resource = this.#cluster.registry.findStorage('namespaces');
    if (namespace?.object.metadata.deletionTimestamp === undefined || resource === undefined) return;
    const left = this.#cluster.store.storagesIn(name);
    for (const storage of left.includes('pods') ? ['pods'] : left) {
      if (!this.#empty(storage, name)) continue;
      this.#queue.add(name);
      return;
    }
    if (left.length > 0) return;
    const finalizers = listAt(namespace.object, 'spec', 'finalizers').filter(
      (finalizer) => finalizer !== 'kubernetes',
    );
    const { finalizers: _, ...spec } = objectAt(namespace.object, 'spec') ?? {};
    const object = { ...namespace.object, spec: finalizers.length === 0 ? spec : { ...spec, finalizers } };
    save(this.#cluster, resource, namespace, object, false);
  }

  /**
   * An object that a finalizer or a kubelet holds stays until it is released; its end calls this again.
   *
   * @returns whether there was something to delete
   */
  #empty(storage: string, namespace: string): boolean {
    const resource: Resource | undefined = this.#cluster.registry.findStorage(storage);
    if (resource === undefined) return false;
    const all = this.#cluster.store.collection(storage).list(namespace);
    const standing = all.filter(({ object }) => object.metadata.deletionTimestamp === undefined);
    for (const version of standing)
      removeObject(this.#cluster, resource, version, { propagation: 'Background', isDryRun: false });
    return standing.length > 0;
  }
}
