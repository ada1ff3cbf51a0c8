/** What an election tells of itself, and whom it yields to (docs/features/elections.md §2.7, §8.2). */
import { describe, expect, test } from 'vitest';
import type { ElectionStatusPatch } from '../../../src/machines/election/election-effects.ts';
import { ElectionScene } from './nats-scene.ts';

const patches = (scene: ElectionScene) =>
  scene.cluster.ran.flatMap(({ effect }) =>
    effect.type === 'election-status.patch' ? [effect as unknown as ElectionStatusPatch] : [],
  );

test('lastTransitionTime of Valid changes with its status alone, not with each word about the election', async () => {
  const scene = await ElectionScene.start(1);
  const since = patches(scene).at(-1)?.at;
  await scene.campaign('a', 600_000);
  await scene.advance(60_000);
  expect(patches(scene).length).toBeGreaterThan(3);
  expect(new Set(patches(scene).map(({ at }) => at))).toEqual(new Set([since]));
  await scene.election('worker', { invalid: 'no' });
  // The leader was told how long it leads; until then it does.
  await scene.advance(16_000);
  const wrongSince = patches(scene).at(-1)?.at ?? 0;
  expect(wrongSince).toBeGreaterThan(since ?? 0);
  await scene.election('worker', { invalid: 'still no' });
  await scene.advance(1_000);
  expect(patches(scene).at(-1)).toMatchObject({ at: wrongSince, status: { invalid: 'still no' } });
});

test('that its spec cannot be used is told at once, and whose time is waited for', async () => {
  const scene = await ElectionScene.start(1);
  await scene.campaign('a', 10_000);
  await scene.campaign('a', 10_000);
  await scene.election('worker', { invalid: 'no' });
  await scene.advance(100);
  expect(scene.statuses.at(-1)).toMatchObject({
    holder: 'a',
    invalid: 'no; a was told that it leads, and keeps leading until that time is over',
  });
  await scene.advance(11_000);
  expect(scene.statuses.at(-1)).toMatchObject({ holder: null, invalid: 'no' });
});

test('however often an Election is edited, nobody else leads before the time is over that a leader was told', async () => {
  const scene = await ElectionScene.start(1);
  await scene.campaign('a', 12_000);
  await scene.campaign('a', 12_000);
  await scene.campaign('b', 12_000);
  await scene.election('worker', { invalid: 'no' });
  await scene.election('worker', { invalid: 'still no' });
  await scene.election('worker');
  await scene.advance(2_000);
  await scene.campaign('b', 12_000);
  expect(scene.kube.record('worker')?.holder).toBe('a');
  await scene.advance(10_000);
  expect(scene.kube.record('worker')?.holder).toBe('b');
});

describe('an Election whose times are edited while the API server is away', () => {
  const short = { leaseMs: 4_000, renewDeadlineMs: 3_000, retryMs: 1_000 };
  const long = { leaseMs: 40_000, renewDeadlineMs: 35_000, retryMs: 2_000 };

  /** @returns until when the leader was told that it leads, before the edit */
  async function led(): Promise<{ readonly scene: ElectionScene; readonly until: number }> {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 60_000);
    await scene.campaign('b', 60_000);
    scene.kube.fate = () => 'fails';
    const { expiresInMs } = (await scene.renew('a', 1)) as { readonly expiresInMs: number };
    const until = scene.cluster.clock.now() + expiresInMs;
    await scene.advance(5_000);
    return { scene, until };
  }

  test('a shorter renew deadline takes nothing from what the leader was told', async () => {
    const { scene, until } = await led();
    scene.kube.fate = () => 'done';
    await scene.election('worker', { timing: short });
    await scene.advance(until - scene.cluster.clock.now() - 500);
    expect(await scene.campaign('b', 60_000)).toMatchObject({ leading: false, holder: 'a' });
    expect(scene.kube.record('worker')?.holder).toBe('a');
  });

  test('a longer one promises nothing that the Lease, as it stands, does not hold', async () => {
    const { scene, until } = await led();
    await scene.election('worker', { timing: long });
    expect((await scene.campaign('a', 60_000)).expiresInMs).toBeLessThanOrEqual(
      until - scene.cluster.clock.now() + 20,
    );
    await scene.advance(until - scene.cluster.clock.now() + 100);
    expect(await scene.campaign('b', 60_000)).toMatchObject({ holder: null });
  });

  test('the new times hold from the next renewal on', async () => {
    const { scene } = await led();
    scene.kube.fate = () => 'done';
    await scene.election('worker', { timing: short });
    await scene.advance(5_000);
    expect((await scene.campaign('a', 60_000)).expiresInMs).toBeLessThanOrEqual(3_000);
    expect(scene.kube.record('worker')).toMatchObject({ holder: 'a', durationSeconds: 4, transitions: 0 });
  });
});

test('a status that could not be written is written again within ten seconds, though nothing else happens', async () => {
  const scene = await ElectionScene.start(1);
  scene.statusFailures = 1;
  scene.kube.set('worker', { holder: 'foreign', durationSeconds: 3_600 });
  await scene.advance(1_000);
  expect(scene.statuses.at(-1)?.holder).toBeNull();
  await scene.advance(10_000);
  expect(scene.statuses.at(-1)?.holder).toBe('foreign');
});

test('an Election that is made anew between two looks is told all that the one before knew', async () => {
  const scene = await ElectionScene.start(1);
  scene.kube.set('worker', { holder: 'foreign', durationSeconds: 3_600 });
  await scene.advance(2_000);
  const told = patches(scene).length;
  await scene.election('worker', {}, 'another-uid');
  await scene.advance(1_000);
  expect(patches(scene).length).toBe(told + 1);
  expect(patches(scene).at(-1)).toMatchObject({ uid: 'another-uid', status: { holder: 'foreign' } });
});

describe('a coordinated election', () => {
  const wish = (preferredHolder: string) => ({ strategy: 'OldestEmulationVersion', preferredHolder });

  test('is yielded while another candidate is preferred, and led on when that one withdraws', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 600_000);
    await scene.advance(1_000);
    scene.kube.set('worker', wish('go'));
    await scene.advance(5_000);
    const renewals = scene.kube.ours.length;
    await scene.advance(2_500);
    expect(scene.kube.ours.length).toBe(renewals);
    scene.kube.set('worker', wish(''));
    await scene.advance(30_000);
    expect(scene.kube.record('worker')).toMatchObject({ holder: 'a', transitions: 0 });
    expect(scene.kube.ours.length).toBeGreaterThan(renewals + 10);
    expect(await scene.status()).toMatchObject({ holder: 'a', term: 1 });
  });

  test('passes to the preferred one if it does not withdraw', async () => {
    const scene = await ElectionScene.start(1);
    await scene.campaign('a', 600_000);
    await scene.advance(1_000);
    scene.kube.set('worker', wish('go'));
    await scene.advance(13_000);
    expect(await scene.campaign('a', 600_000)).toMatchObject({ leading: false });
  });
});

test('§8.5: a status that somebody else may have overwritten is written again within the hour, led or not', async () => {
  const scene = await ElectionScene.start(1);
  await scene.election('idle');
  await scene.election('wrong', { invalid: 'no' });
  const countOf = (name: string) => patches(scene).filter((one) => one.name === name).length;
  await scene.advance(60_000);
  const before = { idle: countOf('idle'), wrong: countOf('wrong') };
  await scene.advance(3_700_000);
  expect(countOf('idle')).toBe(before.idle + 1);
  expect(countOf('wrong')).toBe(before.wrong + 1);
});
