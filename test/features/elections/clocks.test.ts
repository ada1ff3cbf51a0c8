/** What a clock that is set does to elections: nothing (docs/features/elections.md §1.2, §6.7). */
import { describe, expect, test } from 'vitest';
import { ownClock } from '../../virtual-clock.ts';
import { Scene } from './campaign-scene.ts';
import { ElectionScene } from './nats-scene.ts';

const hour = 3_600_000;

describe('a process that campaigns for itself', () => {
  test.each([hour, -hour])('leads on when its clock is set by %i ms', async (byMs) => {
    const scene = new Scene();
    const clock = ownClock(scene.clock);
    const one = await scene.candidate('a', { clock });
    await scene.advance(5);
    clock.leap(byMs);
    await scene.advance(60);
    expect(scene.steps.map(({ what }) => what)).toEqual(['leads']);
    expect(one.leading()).toMatchObject({ term: 1 });
    expect(scene.record).toMatchObject({ holder: 'a', transitions: 0 });
  });

  test('does not take the Lease of a living leader when its own clock is set ahead', async () => {
    const scene = new Scene();
    const clock = ownClock(scene.clock);
    await scene.candidate('a');
    await scene.candidate('b', { clock });
    await scene.advance(1);
    clock.leap(hour);
    await scene.advance(60);
    expect(scene.steps.map(({ who, what }) => `${who} ${what}`)).toEqual(['a leads']);
  });
});

describe('an election over NATS', () => {
  test('a foreign leader that lives keeps its Lease when the replica’s clock is set ahead', async () => {
    const scene = await ElectionScene.start(1);
    scene.kube.set('worker', { holder: 'go', durationSeconds: 15, transitions: 4 });
    await scene.campaign('a', 600_000);
    for (let second = 0; second < 30; second++) {
      await scene.advance(1_000);
      const renewTime = new Date(scene.cluster.clock.now()).toISOString().replace('Z', '000Z');
      if (second % 2 === 0) scene.kube.set('worker', { holder: 'go', renewTime });
      if (second === 10) scene.cluster.clock.leap(hour);
    }
    expect(scene.kube.ours).toEqual([]);
    expect(scene.kube.record('worker')).toMatchObject({ holder: 'go', transitions: 4 });
  });

  test('it is respected for its whole duration from when this replica saw it last, then followed', async () => {
    const scene = await ElectionScene.start(1);
    scene.kube.set('worker', { holder: 'go', durationSeconds: 15, transitions: 4 });
    await scene.campaign('a', 600_000);
    await scene.advance(5_000);
    scene.cluster.clock.leap(hour);
    await scene.advance(9_800);
    expect(scene.kube.ours).toEqual([]);
    await scene.advance(400);
    expect(scene.kube.record('worker')).toMatchObject({ holder: 'a', transitions: 5 });
  });

  test.each([hour, -hour])('a leader that renews leads on when the clock is set by %i ms', async (byMs) => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a');
    await scene.campaign('b', 600_000);
    for (let second = 0; second < 40; second++) {
      await scene.advance(1_000);
      if (second === 10) scene.cluster.clock.leap(byMs);
      expect(await scene.renew('a', 1)).toMatchObject({ leading: true, term: 1 });
    }
    const gaps = scene.kube.ours.map(({ record }) => record?.renewTime);
    expect(new Set(gaps).size).toBeGreaterThanOrEqual(18);
  });

  test('a leader that falls silent is lost in its own time though the clock was set back meanwhile', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a');
    await scene.campaign('b', 600_000);
    await scene.renew('a', 1);
    await scene.advance(1_000);
    scene.cluster.clock.leap(-hour);
    await scene.advance(1_900);
    expect(await scene.status()).toMatchObject({ holder: 'a' });
    await scene.advance(1_200);
    expect(await scene.status()).toMatchObject({ holder: 'b', term: 2 });
  });
});
