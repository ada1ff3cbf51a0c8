/**
 * A cluster restored from a backup: the same objects in lower versions, and an API server that says nothing
 * of it.
 */
import { expect, test } from 'vitest';
import type { PodDigest } from '../../../src/features/routes/digests.ts';
import { pods } from '../../../src/features/routes/resources.ts';
import { refusalError } from '../../../src/kube/api/refusals.ts';
import { pod, type Scene, withPods } from './mirror-scene.ts';

const at = (ip: string) => ({ ...pod(), status: { podIPs: [{ ip }] } });
function addressOf(scene: Scene, name: string): string | undefined {
  const address = (scene.world()[`pods/shop/${name}`] as PodDigest | undefined)?.address;
  return address && 'ip' in address ? address.ip : undefined;
}

/** A backup, many changes after it that are lost, and what of them stood in the world. */
async function restored() {
  const parts = await withPods((kube) => {
    kube.put(pods, 'shop', 'web-0', at('10.0.0.1'));
    kube.put(pods, 'shop', 'web-1', at('10.0.1.1'));
  });
  const { scene, kube } = parts;
  const restore = kube.backup();
  for (let n = 2; n < 20; n += 1) kube.put(pods, 'shop', 'web-0', at(`10.0.0.${n}`));
  kube.put(pods, 'shop', 'late', at('10.0.2.1'));
  kube.remove(pods, 'shop', 'web-1');
  await scene.clock.advance(100);
  expect([addressOf(scene, 'web-0'), addressOf(scene, 'web-1')]).toEqual(['10.0.0.19', undefined]);
  restore();
  return parts;
}

function expectTheBackup(scene: Scene, ip = '10.0.0.1'): void {
  expect(scene.names('pods')).toEqual(['pods/shop/web-0', 'pods/shop/web-1']);
  expect([addressOf(scene, 'web-0'), addressOf(scene, 'web-1')]).toEqual([ip, '10.0.1.1']);
}

test('a watch that is accepted and says nothing, since its version is still to come, is not believed', async () => {
  const { scene, kube } = await restored();
  kube.put(pods, 'shop', 'web-0', at('10.0.0.99'));
  await scene.clock.advance(40_000);
  kube.finishWatches();
  await scene.clock.advance(1_000);
  expectTheBackup(scene, '10.0.0.99');
  kube.put(pods, 'shop', 'web-0', at('10.0.0.100'));
  await scene.clock.advance(100);
  expectTheBackup(scene, '10.0.0.100');
});

test('a watch that broke off, as all do when the API server starts again, is not opened anew unchecked', async () => {
  const { scene, kube } = await restored();
  kube.breakWatches();
  kube.put(pods, 'shop', 'web-0', at('10.0.0.99'));
  await scene.clock.advance(2_000);
  expectTheBackup(scene, '10.0.0.99');
});

test('"Too large resource version" is no reason to wait: everything is listed anew', async () => {
  const { scene, kube } = await restored();
  const tooLarge = {
    kind: 'Status',
    code: 504,
    reason: 'Timeout',
    message: 'Too large resource version: 9000, current: 12',
    details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
  };
  const refusal = refusalError({ request: 'GET /api/v1/pods', status: 504, body: tooLarge }, 0);
  kube.failing = (call) => (call === 'watch' && kube.lists.length === 0 ? refusal : undefined);
  kube.lists.length = 0;
  kube.breakWatches();
  await scene.clock.advance(2_000);
  expectTheBackup(scene);
});

test('an event that is older than the one before ends the stream, and everything is listed anew', async () => {
  const { scene, kube } = await withPods((kube) => {
    kube.put(pods, 'shop', 'web-0', at('10.0.0.1'));
    kube.put(pods, 'shop', 'web-1', at('10.0.1.1'));
  });
  kube.isOrderly = false;
  const restore = kube.backup();
  for (let n = 2; n < 20; n += 1) kube.put(pods, 'shop', 'web-0', at(`10.0.0.${n}`));
  kube.put(pods, 'shop', 'late', at('10.0.2.1'));
  await scene.clock.advance(100);
  restore();
  kube.put(pods, 'shop', 'web-0', at('10.0.0.99'));
  await scene.clock.advance(1_000);
  expectTheBackup(scene, '10.0.0.99');
});

test('nor does the replica that takes over believe the later versions of the world', async () => {
  const { scene, mirror } = await restored();
  mirror.stop();
  await scene.start((await scene.replica('two')).mirror(pods));
  expectTheBackup(scene);
});

test('an idle watch asks for one object to learn the version of now, and goes on', async () => {
  const { scene, kube } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', at('10.0.0.1')));
  await scene.clock.advance(40_000);
  kube.lists.length = 0;
  kube.finishWatches();
  await scene.clock.advance(1_000);
  // One for the RouteGates and one for the Pods.
  expect(kube.lists.map(({ resource }) => resource).sort()).toEqual(['pods', 'routegates']);
  expect(kube.openWatches).toBe(2);
  const listed = scene.length;
  kube.put(pods, 'shop', 'web-0', at('10.0.0.2'));
  await scene.clock.advance(100);
  expect(scene.length).toBe(listed + 1);
});
