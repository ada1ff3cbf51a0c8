/** A replica as a node: how often it enters itself. */
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../packages/testing/time/virtual-clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { decode, encodeJson } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { ReleaseNode } from '../../../src/features/releases/release-node.ts';
import { createReleaseRoster, type StoredNode } from '../../../src/features/releases/release-roster.ts';

test('two processes of one name that take each other away write once a second each, not without end', async () => {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  const subjects = subjectsOf('test');
  let stored: StoredNode | null = null;
  let writes = 0;
  const nodes = ['one', 'two'].map((incarnation, seed) => {
    const facts = { replica: 'r0', release: '0.1.0', bundle: null };
    return new ReleaseNode({
      ...{ bus: hub.connect(incarnation), subjects, clock, log: silentLog, incarnation, node: facts },
      random: seededRandom(seed + 1),
      nodes: () => (stored === null ? [] : [stored]),
      forget() {},
      directory: () => null,
    });
  });
  hub.observe((_stream, { subject, data, sequence }) => {
    if (subject !== subjects.node('r0')) return;
    writes += 1;
    stored = { ...(decode(data) as StoredNode), sequence };
    clock.after(1, () => {
      for (const node of nodes) node.check();
    });
  });
  for (const node of nodes) void node.start();
  await clock.advance(10_000);
  for (const node of nodes) node.kill();
  expect(writes).toBeGreaterThan(5);
  expect(writes).toBeLessThan(35);
});

test('an entry that is no longer stored is forgotten, unless its replica has come back meanwhile', async () => {
  const clock = new VirtualClock();
  const bus = memoryHub({ clock, cluster: 'test' }).connect('a');
  const subjects = subjectsOf('test');
  const roster = createReleaseRoster({ bus, subjects, log: silentLog, bundle: null, onChange() {} });
  const starting = roster.start();
  const enter = async (incarnation: string) => {
    const node = { replica: 'r0', incarnation, release: '0.1.0', bundle: null };
    const { sequence } = await bus.append(subjects.node('r0'), encodeJson(node));
    await clock.advance(10);
    return { ...node, sequence };
  };
  const before = await enter('one');
  await starting;
  const back = await enter('two');
  roster.forget(before);
  expect(roster.nodes()).toEqual([back]);
  roster.forget(back);
  expect(roster.nodes()).toEqual([]);
  roster.stop();
});
