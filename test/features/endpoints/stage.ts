/**
 * Endpoints through the engine, with virtual time: replicas, and an API server that takes 3 ms for a write
 * and reports it 2 ms later.
 */
import { sleep } from '../../../src/base/clock.ts';
import type { KubeObject, KubePort } from '../../../src/base/kube-port.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { sliceDigest } from '../../../src/features/endpoints/digest.ts';
import type { WorkloadDigest } from '../../../src/features/endpoints/digests.ts';
import { reconcileSlices } from '../../../src/features/endpoints/effects/endpoint-slices.ts';
import { TestCluster, type TestReplica } from '../../actors/harness.ts';
import { SliceApi, service, workload } from './slice-api.ts';

export const writeMs = 3;
export const echoMs = 2;

const needed = ['services', 'endpointslices', 'workload.linkerd.io/v1beta1/ExternalWorkload'];

export class Stage {
  readonly cluster = new TestCluster();
  readonly api = new SliceApi(0);
  readonly replicas = new Map<string, TestReplica>();
  writes = 0;
  lastWriteAt = 0;

  constructor() {
    this.cluster.outside = async (effect, run, replica) => {
      if (effect.type !== 'endpoint-slices.reconcile')
        return { type: 'effect.settled', effect: effect.type, error: null };
      // Effects of records start before the harness returns the replica.
      while (!this.replicas.has(replica)) await sleep(this.cluster.clock, 1, run.signal);
      const index = this.replicas.get(replica)?.endpoints.index;
      if (!index) throw new Error('no such replica');
      const runner = reconcileSlices({
        kube: this.#slow(this.api.port()),
        clock: this.cluster.clock,
        scene: () => index,
        endpointsPerSlice: 100,
        takeOver: null,
        onWrite: () => {},
      });
      return (await runner(effect as never, run as never)) as unknown as PlainEvent;
    };
  }

  async begin(...names: string[]): Promise<void> {
    for (const name of names) this.replicas.set(name, await this.cluster.replica(name));
    await this.listed();
    await this.cluster.put('services', 'shop', 'web', service);
  }

  /** The mirrors state that everything was listed. */
  async listed(): Promise<void> {
    for (const resource of needed)
      await this.cluster.put('_synced', '', resource, { kind: 'synced', gates: [], resource });
  }

  /** Their statements no longer count: the present mirrors have not listed anything yet. */
  async unlisted(): Promise<void> {
    for (const resource of needed) await this.cluster.remove('_synced', '', resource);
  }

  /** The mirror has listed the slices. */
  async tellSlices(): Promise<void> {
    for (const [name, object] of this.api.objects)
      await this.cluster.put('endpointslices', 'shop', name, sliceDigest(object));
  }

  put(n: number, change: Partial<WorkloadDigest> | null): Promise<void> {
    const digest = change === null ? null : workload(n, change);
    return this.cluster.put('externalworkloads.workload.linkerd.io', 'shop', `vm-${n}`, digest);
  }

  ready(): boolean[] {
    return [...this.api.objects.values()].flatMap(({ endpoints }) =>
      (endpoints as Array<{ conditions: { ready: boolean } }>).map(({ conditions }) => conditions.ready),
    );
  }

  #slow(port: KubePort): KubePort {
    const { clock } = this.cluster;
    const tell = async (name: string, object: KubeObject | null) => {
      this.writes += 1;
      this.lastWriteAt = clock.now();
      await sleep(clock, echoMs);
      await this.cluster.put('endpointslices', 'shop', name, object && sliceDigest(object));
    };
    const written = async (write: Promise<KubeObject>) => {
      const object = await write;
      void tell(object.metadata.name, object);
      await sleep(clock, writeMs);
      return object;
    };
    return {
      ...port,
      create: (...given) => written(port.create(...given)),
      patch: (...given) => written(port.patch(...given)),
      delete: async (...given) => {
        await port.delete(...given);
        void tell(given[2], null);
        await sleep(clock, writeMs);
      },
    };
  }
}
