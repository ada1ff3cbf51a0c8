/** Whoever begins anew under a name hears nothing of what the former one of that name had begun. */
import { expect, test } from 'vitest';
import { type ActorRecord, unpackRecord } from '../../../src/actors/host/records.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { pod, reachable, TestCluster } from '../harness.ts';

const id = 'pod/shop/web-0';

interface Patch {
  readonly key: string;
  readonly end: (event: PlainEvent) => void;
  readonly emit: (event: PlainEvent) => void;
}

function lastRecord(cluster: TestCluster): ActorRecord {
  const records = cluster.hub.stored('state').flatMap(({ subject, data }) => {
    return cluster.subjects.parseState(subject)?.id === id ? [unpackRecord(data, id)] : [];
  });
  const last = records.at(-1);
  if (last === undefined) throw new Error(`${id} has no record`);
  return last;
}

/** A Pod whose patch is under way goes, and another of its name comes and waits for its own. */
async function replaced(): Promise<{ cluster: TestCluster; patches: readonly Patch[] }> {
  const cluster = new TestCluster();
  const patches: Patch[] = [];
  cluster.outside = (effect, run, replica) =>
    effect.type === 'pod-condition.patch'
      ? new Promise((end) => void patches.push({ key: run.key, end, emit: run.emit }))
      : reachable(effect, run, replica);
  await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'former' }));
  await cluster.clock.advance(2_000);
  await cluster.remove('pods', 'shop', 'web-0');
  await cluster.clock.advance(500);
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'new' }));
  await cluster.clock.advance(2_000);
  return { cluster, patches };
}

test('the outcome of an effect of the former Pod is taken off the list, and no event of the new one', async () => {
  const { cluster, patches } = await replaced();
  const before = lastRecord(cluster);
  const formers = before.outbox.filter(({ former }) => former).map(({ key }) => key);
  expect(cluster.states()[id]).toBe('gated.marking.patching');
  expect(formers.length).toBeGreaterThan(0);
  // Word for word what the new one waits for.
  const patched = { type: 'condition.patched', uid: 'new', status: 'True' };
  for (const { key, emit, end } of patches) {
    if (!formers.includes(key)) continue;
    emit(patched);
    end(patched);
  }
  await cluster.clock.advance(3_000);
  expect([lastRecord(cluster).rev, cluster.states()[id]]).toEqual([before.rev, 'gated.marking.patching']);
  patches.at(-1)?.end(patched);
  await cluster.clock.advance(500);
  expect(cluster.states()[id]).toBe('gated.ready.proven');
  expect(lastRecord(cluster).outbox.filter(({ former }) => former)).toEqual([]);
});
