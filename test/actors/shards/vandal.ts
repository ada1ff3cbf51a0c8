/** What a vandal with a replica's rights may leave in a record. */
import type { ActorId } from '../../../src/base/ids.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { decode, encode } from '../../../src/bus/codec.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import { TestCluster as Cluster } from '../harness.ts';

export const fields: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>]> = [
  ['no state', { snapshot: { value: null, context: {} } }],
  ['a state that is a number', { snapshot: { value: 7, context: {} } }],
  ['no snapshot', { snapshot: null }],
  ['a feed of nothings', { feed: [null] }],
  ['a timer without a time', { timers: [{ id: 'x', event: { type: 'x' } }] }],
  ['an outbox of words', { outbox: ['x'] }],
  ['ids that are numbers', { recentIds: [1] }],
  ['a machine that is a number', { machine: 7 }],
  ['a place in the world that is text', { world: 'far' }],
];

export class TestCluster extends Cluster {
  /** Replaces the actor's record by one with other fields. */
  async rewrite(bus: Bus, id: ActorId, change: Readonly<Record<string, unknown>>): Promise<void> {
    const subject = this.subjects.state(shardOf(id), id);
    const last = await bus.last('state', subject);
    const record = decode(last?.data ?? new Uint8Array()) as object;
    await bus.append(subject, encode({ ...record, ...change }));
  }
}
