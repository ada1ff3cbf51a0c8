/** Elections that share a Lease, and one that goes while it leads (docs/features/elections.md §1.4, §4.2). */
import { expect, test } from 'vitest';
import { ElectionScene } from './nats-scene.ts';

test('two Elections for one Lease: one of all their candidates leads, also where two have one name', async () => {
  const scene = await ElectionScene.start(2, []);
  const place = { namespace: 'shop', name: 'shared' };
  for (const name of ['one', 'two']) await scene.election(name, { place });
  await scene.campaign('a', 3_000, 'one');
  expect(await scene.campaign('a', 3_000, 'one')).toMatchObject({ leading: true, term: 1 });
  let leading = [true, false];
  for (let second = 0; second < 40; second++) {
    await scene.advance(985);
    // The candidate of the first falls silent for good after ten seconds.
    const first = second < 10 ? await scene.campaign('a', 3_000, 'one') : await scene.ask('one', 'get');
    const second_ = await scene.campaign('a', 3_000, 'two');
    leading = [(first as { leading?: boolean }).leading === true, second_.leading];
    expect(leading.filter(Boolean).length).toBeLessThanOrEqual(1);
    if (second < 10) expect(leading).toEqual([true, false]);
  }
  expect(leading).toEqual([false, true]);
  expect((await scene.campaign('a', 3_000, 'two')).term).toBeGreaterThan(1);
});

test('an Election that goes with its namespace: the leader is told, and the Lease is left alone when it is gone', async () => {
  const scene = await ElectionScene.start(1);
  await scene.campaign('a', 600_000);
  expect(await scene.campaign('a', 600_000)).toMatchObject({ leading: true });
  await scene.noElection('worker');
  // The leader was told how long it leads; until then it does.
  await scene.advance(16_000);
  await expect(scene.renew('a', 1)).rejects.toMatchObject({ code: 'ACTOR_MISSING' });
  const written = scene.kube.ours.length;
  await scene.advance(600_000);
  expect(scene.kube.ours.length).toBe(written);
  // Made anew, it goes on from its terms.
  await scene.election('worker');
  await scene.campaign('b', 600_000);
  await scene.advance(100);
  expect((await scene.campaign('b', 600_000)).term).toBe(2);
});
