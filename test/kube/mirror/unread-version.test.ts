/** A kind that the cluster has only in a version that is not read. */
import { expect, test } from 'vitest';
import { proxyGroups, Scene } from './mirror-scene.ts';

test('is told once in the log', async () => {
  const scene = new Scene();
  scene.kube.kinds.push({ ...proxyGroups, version: 'v1' });
  const { groupMirror } = await scene.replica();
  const mirror = groupMirror();
  await scene.start(mirror);
  await scene.clock.advance(60_000);
  expect(scene.warnings).toEqual([expect.stringContaining('only in a version that is not read')]);
  expect(scene.warnings[0]).toContain('tailscale.com/v1"');
  mirror.stop();
});

test('a kind that the cluster does not have at all is no matter for the log', async () => {
  const scene = new Scene();
  const { groupMirror } = await scene.replica();
  const mirror = groupMirror();
  await scene.start(mirror);
  await scene.clock.advance(60_000);
  expect(scene.warnings).toEqual([]);
  mirror.stop();
});
