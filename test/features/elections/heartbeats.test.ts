/**
 * What heartbeats cost (docs/features/elections.md §8), and that those who read the feed come out the same
 * without them.
 */
import { expect, test } from 'vitest';
import { createMemory } from '../../../src/actors/control/history.ts';
import { createReplay } from '../../../src/actors/control/transition-replay.ts';
import type { Transition } from '../../../src/base/views.ts';
import { charts } from '../../../src/replica/charts.ts';
import { ElectionScene } from './nats-scene.ts';

const stepsOf = (scene: ElectionScene): readonly Transition[] =>
  scene.cluster.transitions().filter(({ id }) => id === 'election/shop/worker');

async function renewing(scene: ElectionScene, seconds: number, term: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await scene.advance(995);
    expect(await scene.renew('a', term)).toMatchObject({ leading: true, term });
    await scene.campaign('b');
  }
}

test('ten minutes of renewals are not history: what others can tell is', async () => {
  const scene = await ElectionScene.start(1);
  await scene.campaign('a');
  await scene.campaign('b');
  await renewing(scene, 10, 1);
  const before = stepsOf(scene).length;
  await renewing(scene, 600, 1);
  expect(stepsOf(scene).length).toBe(before);
  expect(scene.kube.ours.length).toBeGreaterThanOrEqual(300);
  await scene.ask('worker', 'resign', { candidate: 'a', term: 1 });
  await scene.advance(200);
  const told = stepsOf(scene).map(({ event }) => event);
  expect(told).toContainEqual(expect.objectContaining({ type: 'lease.written', holder: 'b', term: 2 }));
});

test('revisions in the feed have no hole, and a step after heartbeats says what it goes on from', async () => {
  const scene = await ElectionScene.start(1);
  await scene.campaign('a');
  await renewing(scene, 30, 1);
  await scene.ask('worker', 'resign', { candidate: 'a', term: 1 });
  await scene.advance(5_000);
  const steps = stepsOf(scene);
  expect(steps.map(({ rev }) => rev)).toEqual(steps.map((_, index) => index + 1));
  const resign = steps.find(({ event }) => event.type === 'election.resign');
  expect(resign?.resumes).toMatchObject({ value: expect.anything(), context: { term: 1 } });
});

test('orrery replay and the history take the told steps again and come out the same', async () => {
  const scene = await ElectionScene.start(1);
  await scene.campaign('a');
  await renewing(scene, 30, 1);
  await scene.advance(20_000);
  await scene.campaign('b');
  await renewing(scene, 0, 2);
  await scene.ask('worker', 'resign', { candidate: 'b', term: 2 });
  await scene.advance(1_000);
  const steps = stepsOf(scene).map((step) => JSON.parse(JSON.stringify(step)) as Transition);
  const replay = createReplay(charts);
  expect(steps.map((step) => replay.take(step)).filter((difference) => difference !== null)).toEqual([]);
  expect(replay.summary().skipped.size).toBe(0);
  const memory = createMemory(charts, 'election/shop/worker');
  expect(steps.map((step) => memory.take(step)).filter((context) => context === undefined)).toEqual([]);
  // A recording that begins in the middle hangs together, too.
  const middle = createReplay(charts);
  expect(
    steps
      .slice(4)
      .map((step) => middle.take(step))
      .filter((difference) => difference !== null),
  ).toEqual([]);
});

test('a context that is too large to be told leaves a hole that readers know of', async () => {
  const scene = await ElectionScene.start(1);
  for (let n = 0; n < 300; n++)
    await scene.mail({ type: 'election.campaign', candidate: `${n}${'x'.repeat(200)}`, ttlMs: 3_600_000 }, 0);
  await scene.advance(10_000);
  await scene.ask('worker', 'resign', { candidate: `7${'x'.repeat(200)}`, term: 0 });
  const steps = stepsOf(scene).map((step) => JSON.parse(JSON.stringify(step)) as Transition);
  expect(steps.some(({ resumes }) => resumes === null)).toBe(true);
  const replay = createReplay(charts);
  expect(steps.map((step) => replay.take(step)).filter((difference) => difference !== null)).toEqual([]);
  expect(replay.summary().skipped.size).toBe(1);
});

test('renewals outlive their replica though they are in no feed', async () => {
  const scene = await ElectionScene.start(2);
  await scene.campaign('a', 10_000);
  await scene.campaign('b', 600_000);
  for (let n = 0; n < 20; n++) {
    await scene.advance(1_000);
    await scene.ask('worker', 'renew', { candidate: 'a', term: 1 });
  }
  scene.kill(scene.ownerOf('worker'));
  await scene.advance(5_000);
  expect(await scene.status()).toMatchObject({ holder: 'a', term: 1 });
});
