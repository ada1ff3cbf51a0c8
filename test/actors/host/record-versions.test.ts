/**
 * What a replica does with the record of an earlier release: it goes on with it (I8 has what it does with
 * that of a later one).
 */
import { expect, test } from 'vitest';
import { type ActorRecord, packRecord, unpackRecord } from '../../../src/actors/host/records.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import type { ServiceContext } from '../../../src/machines/service/service-context.ts';
import { machines } from '../../chart-of.ts';
import { pod, TestCluster } from '../harness.ts';

const id = 'service/shop/svc-0';

test('a Service whose record is of version 1 proves routes on, and its next record is of the present version', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(2_000);
  a.engine.kill();
  const before = recordOf(cluster);
  const { slices: _, ...context } = before.snapshot.context as ServiceContext;
  const old = { ...before, version: 1, snapshot: { ...before.snapshot, context } };
  await cluster.hub
    .connect('earlier release')
    .append(cluster.subjects.state(shardOf(id), id), packRecord(old));
  const b = await cluster.replica('b');
  await cluster.put('pods', 'shop', 'web-1', pod(1));
  await cluster.clock.advance(10_000);
  expect(b.engine.shards.runOf(id)?.cells.get(id)).toMatchObject({ unreadable: null, error: null });
  expect(cluster.states()['pod/shop/web-1']).toBe('gated.ready.proven');
  const after = recordOf(cluster);
  expect(after.rev).toBeGreaterThan(before.rev);
  expect(after.version).toBe(machines.service?.version);
  expect(after.snapshot.context).toHaveProperty('slices');
});

function recordOf(cluster: TestCluster): ActorRecord {
  const subject = cluster.subjects.state(shardOf(id), id);
  const [record] = cluster.hub
    .stored('state')
    .filter((message) => message.subject === subject)
    .slice(-1)
    .map(({ data }) => unpackRecord(data, id));
  if (!record) throw new Error('the Service has no record');
  return record;
}
