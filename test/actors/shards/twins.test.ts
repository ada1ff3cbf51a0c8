/**
 * Two replicas of one name: the younger says so and ends; a quick start anew under the old name is no such
 * thing.
 */
import { expect, test } from 'vitest';
import { type Directory, startDirectory } from '../../../src/actors/shards/directory.ts';
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
