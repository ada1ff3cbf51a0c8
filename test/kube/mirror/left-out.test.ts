/** Objects of which more would be kept than NATS takes. */
import { expect, test } from 'vitest';
import { pods } from '../../../src/features/routes/resources.ts';
import { pod, withPods } from './mirror-scene.ts';

const large = () => ({ ...pod(), labels: { ...pod().labels, note: 'x'.repeat(600_000) } });

async function sceneWith(name: string, object: Record<string, unknown>) {
  const { scene, kube, mirror } = await withPods((api) => api.put(pods, 'shop', name, object));
  await scene.clock.advance(1_000);
  return { scene, kube, mirror, put: (next: Record<string, unknown>) => kube.put(pods, 'shop', name, next) };
}

test('one is left out and told; its neighbours and the statement that all are listed are not kept up', async () => {
  const { scene, kube, mirror } = await sceneWith('large', large());
  kube.put(pods, 'shop', 'web-0', pod());
  await scene.clock.advance(1_000);
  expect(scene.names('pods')).toEqual(['pods/shop/web-0']);
  const why = expect.stringMatching(/^600,\d{3} bytes would be kept of it, at most 524,288 fit$/);
  const told = { resource: pods, namespace: 'shop', name: 'large', uid: expect.any(String), why };
  expect(mirror.status()).toMatchObject({ synced: true, pending: 0, leftOut: [told] });
  expect(scene.leftOut).toEqual([told]);
});

test('one that became too large stays in the world as it was, until it is smaller again', async () => {
  const { scene, mirror, put } = await sceneWith('web-0', pod());
  put(large());
  await scene.clock.advance(1_000);
  expect(scene.world()['pods/shop/web-0']).not.toMatchObject({ labels: { note: expect.anything() } });
  expect(mirror.status().leftOut).toHaveLength(1);
  put({ ...pod(), labels: { ...pod().labels, note: 'y' } });
  await scene.clock.advance(1_000);
  expect(scene.world()['pods/shop/web-0']).toMatchObject({ labels: { note: 'y' } });
  expect(mirror.status().leftOut).toEqual([]);
});

test('one that is deleted is no longer told', async () => {
  const { scene, kube, mirror } = await sceneWith('large', large());
  expect(mirror.status().leftOut).toHaveLength(1);
  kube.remove(pods, 'shop', 'large');
  await scene.clock.advance(1_000);
  expect(mirror.status().leftOut).toEqual([]);
});
