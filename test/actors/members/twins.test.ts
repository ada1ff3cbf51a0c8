/**
 * Two replicas of one name: the younger says so and ends; a quick start anew under the old name is no such
 * thing.
 */
import { expect, test } from 'vitest';
import { type Directory, startDirectory } from '../../../src/actors/members/directory.ts';
import type { Beat } from '../../../src/actors/members/members.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { TestCluster } from '../harness.ts';

const subjects = subjectsOf('test');

function scene() {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  const told: string[] = [];
  const start = (incarnation: string, leaving = () => false): Directory =>
    startDirectory({
      ...{ bus: hub.connect(incarnation), subjects, clock, replica: 'a', incarnation },
      describe: () => ({
        ...{
          release: '1',
          leaving: leaving(),
          serving: true,
          tells: true,
          shards: [],
          editions: [],
          actors: 0,
          stepsPerSecond: 0,
        },
      }),
      onChange: () => {},
      onTwin: (twin, isElder) =>
        void told.push(`${incarnation} hears ${isElder ? 'elder' : 'younger'} ${twin}`),
    });
  return { clock, hub, told, start };
}

test('both hear of each other, and agree who was there before', async () => {
  const { clock, told, start } = scene();
  start('x');
  await clock.advance(10_000);
  start('b');
  await clock.advance(1_600);
  expect([...new Set(told)].sort()).toEqual(['b hears elder x', 'x hears younger b']);
});

test('of two that start together one alone ends', async () => {
  const { clock, told, start } = scene();
  start('x');
  start('y');
  await clock.advance(1_600);
  expect([...new Set(told)].sort()).toEqual(['x hears elder y', 'y hears younger x']);
});

test('the last words of one that died, or that leaves, are nothing to end for', async () => {
  const { clock, told, start } = scene();
  const first = start('x');
  await clock.advance(3_000);
  start('y');
  await clock.advance(200);
  first.stop();
  await clock.advance(10_000);
  let isLeaving = false;
  start('z', () => isLeaving);
  isLeaving = true;
  await clock.advance(400);
  expect(told).toEqual([]);
});

test('one of a release that does not tell its age was there before', async () => {
  const { clock, hub, told, start } = scene();
  start('new');
  const old = hub.connect('old');
  const beat = { replica: 'a', incarnation: 'old', release: '0', leaving: false, shards: [], actors: 0 };
  for (let n = 0; n < 4; n++) {
    old.publish(subjects.member('a'), encodeJson(beat));
    await clock.advance(500);
  }
  expect(new Set(told)).toEqual(new Set(['new hears elder old']));
});

test('the younger of two engines ends, and the elder has everything again within seconds', async () => {
  const cluster = new TestCluster();
  const first = await cluster.replica('a');
  await cluster.shop(2, 1);
  await cluster.clock.advance(5_000);
  const second = await cluster.replica('a');
  await cluster.clock.advance(10_000);
  expect(cluster.named).toEqual(['a REPLICA_NAME_TAKEN']);
  expect([first, second].map(({ engine }) => engine.ownership.active().length)).toEqual([64, 0]);
  const fences = () =>
    cluster.hub
      .stored('state')
      .filter(({ subject }) => subject.includes('.fence.'))
      .at(-1)?.sequence;
  const before = fences();
  await cluster.clock.advance(20_000);
  expect(fences()).toBe(before);
});

test('a replica that is started anew under its name, at once, stays', async () => {
  const cluster = new TestCluster();
  const first = await cluster.replica('a');
  await cluster.clock.advance(5_000);
  first.engine.kill();
  await cluster.replica('a');
  await cluster.clock.advance(10_000);
  expect(cluster.named).toEqual([]);
});

const written = ({ hub }: TestCluster) => hub.stored('state').at(-1)?.sequence ?? 0;

test('the younger takes nothing from the elder while it finds out', async () => {
  const cluster = new TestCluster();
  await cluster.replica('a');
  await cluster.clock.advance(5_000);
  const before = written(cluster);
  await cluster.replica('a');
  await cluster.clock.advance(10_000);
  expect(cluster.named).toEqual(['a REPLICA_NAME_TAKEN']);
  expect(written(cluster) - before).toBe(0);
});

test('of many that start under one name at once one alone stays, and claims do not storm', async () => {
  const cluster = new TestCluster();
  const all = await Promise.all(['a', 'a', 'a', 'b'].map((name) => cluster.replica(name)));
  await cluster.clock.advance(20_000);
  expect(cluster.named).toEqual(['a REPLICA_NAME_TAKEN', 'a REPLICA_NAME_TAKEN']);
  const owned = all.map(({ engine }) => engine.ownership.active().length);
  expect(owned.reduce((sum, one) => sum + one)).toBe(64);
  expect(owned.filter((count) => count > 0)).toHaveLength(2);
  // Each shard once at the start, once after its owner ended, and once more where it moves by plan.
  expect(written(cluster)).toBeLessThan(64 * 5);
});

/** Core messages of others never come: the stream alone tells of them. */
function hearsItselfAlone(bus: Bus): Bus {
  const own = new Set<string>();
  const text = (data: Uint8Array) => new TextDecoder().decode(data);
  const incarnation = (data: Uint8Array) => String((JSON.parse(text(data)) as Partial<Beat>).incarnation);
  return {
    ...bus,
    publish(subject, data, more) {
      if (subject === subjects.member('a')) own.add(incarnation(data));
      bus.publish(subject, data, more);
    },
    subscribe: (subject, onMessage, more) =>
      bus.subscribe(
        subject,
        (message) => {
          if (subject !== subjects.memberAll || own.has(incarnation(message.data))) onMessage(message);
        },
        more,
      ),
  };
}

test('two that do not hear each other find out by what they take from each other', async () => {
  const cluster = new TestCluster();
  const first = await cluster.replica('a', { bend: hearsItselfAlone });
  await cluster.clock.advance(5_000);
  const before = written(cluster);
  const second = await cluster.replica('a', { bend: hearsItselfAlone });
  await cluster.clock.advance(10_000);
  expect(cluster.named).toEqual(['a REPLICA_NAME_TAKEN']);
  expect([first, second].map(({ engine }) => engine.ownership.active().length)).toEqual([64, 0]);
  // Taken, given back to the elder after a silence, and so on, until the younger has seen it for a second.
  expect(written(cluster) - before).toBeLessThan(64 * 4);
});

test('what a former process of the name held goes straight to whoever should have it', async () => {
  const cluster = new TestCluster();
  const first = await cluster.replica('a');
  await cluster.clock.advance(5_000);
  await cluster.replica('b');
  // Nothing has moved by plan yet: `b` has not proven itself.
  expect(first.engine.ownership.active()).toHaveLength(64);
  const claims = new Map<string, number>();
  cluster.hub.observe((stream, { subject }) => {
    if (stream === 'state' && subject.includes('.fence.'))
      claims.set(subject, (claims.get(subject) ?? 0) + 1);
  });
  first.engine.kill();
  await cluster.replica('a');
  await cluster.clock.advance(20_000);
  expect(claims.size).toBe(64);
  expect(Math.max(...claims.values())).toBe(1);
});
