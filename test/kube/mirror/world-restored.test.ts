/** The stream of the world, put back alone from an old backup (docs/disaster-recovery.md). */
import { expect, test } from 'vitest';
import type { World } from '../../../src/actors/world/world.ts';
import type { PodDigest } from '../../../src/features/routes/digests.ts';
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import { pod, withPods } from './mirror-scene.ts';

const at = (ip: string) => ({ ...pod(), status: { podIPs: [{ ip }] } });

function addresses(world: World): Record<string, unknown> {
  const all = [...world.entries('pods')].map(({ name, digest }) => {
    const { address } = digest as unknown as PodDigest;
    return [name, address && 'ip' in address ? address.ip : null];
  });
  return Object.fromEntries(all);
}

/** A backup of the world; since then an object was changed, one removed, and one made. */
async function withBackup() {
  const parts = await withPods((kube) => {
    kube.put(pods, 'shop', 'web-0', at('10.0.0.1'));
    kube.put(pods, 'shop', 'web-1', at('10.0.1.1'));
  });
  const { scene, kube, replica } = parts;
  const backup = scene.hub.stored('world');
  kube.put(pods, 'shop', 'web-0', at('10.0.0.2'));
  kube.remove(pods, 'shop', 'web-1');
  kube.put(pods, 'shop', 'late', at('10.0.2.1'));
  await scene.clock.advance(1_000);
  expect(addresses(replica.world)).toEqual(now);
  return { ...parts, putBack: () => scene.hub.putBack('world', backup) };
}

const now = { 'web-0': '10.0.0.2', late: '10.0.2.1' };

test('while no replica runs: the next mirrors begin with it, and correct it', async () => {
  const { scene, kube, mirror, replica, putBack } = await withBackup();
  mirror.stop();
  replica.world.stop();
  putBack();
  const next = await scene.replica('two');
  await scene.start(next.mirror(routeGates));
  await scene.start(next.mirror(pods));
  await scene.clock.advance(1_000);
  expect(addresses(next.world)).toEqual(now);
  kube.put(pods, 'shop', 'web-0', at('10.0.0.3'));
  await scene.clock.advance(1_000);
  expect(addresses(next.world)).toEqual({ ...now, 'web-0': '10.0.0.3' });
});

test('while replicas run: they read it anew, and the mirrors that are claimed then correct it for all', async () => {
  const { scene, kube, replica, putBack } = await withBackup();
  const other = await scene.replica('two');
  let forgotten = 0;
  other.world.onForgotten(() => void forgotten++);
  await scene.clock.advance(1_000);
  for (const { bus } of [replica, other]) bus.faults.setLink('down');
  putBack();
  for (const { bus } of [replica, other]) bus.faults.setLink('up');
  await scene.clock.advance(5_000);
  // The engine has each mirror claimed anew then (test/actors/world/world-anew.test.ts).
  expect(forgotten).toBe(1);
  await scene.start(other.mirror(routeGates));
  await scene.start(other.mirror(pods));
  kube.put(pods, 'shop', 'web-0', at('10.0.0.4'));
  await scene.clock.advance(2_000);
  for (const { world } of [replica, other]) expect(addresses(world)).toEqual({ ...now, 'web-0': '10.0.0.4' });
  expect(scene.lost).toContain('one BUS_CONFLICT');
});
