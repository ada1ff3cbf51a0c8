/** Everything that can fail does, from a seed; in the end the world is right, and it never went back. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { decode } from '../../../src/bus/codec.ts';
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import { settle } from '../../virtual-clock.ts';
import type { FakeKube } from '../fake-kube.ts';
import { gate, pod, type Scene, withPods } from './mirror-scene.ts';

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'whatever fails, the world is right in the end (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const pick = (below: number) => Math.floor(random.next() * below);
    const { scene, kube, replica, mirror: first } = await withPods();
    const other = await scene.replica('two');
    let [current, mine] = [first, replica];
    const env = { name: 'CHECK', value: 'true' };
    for (let round = 0; round < 150; round += 1) {
      const name = `web-${pick(12)}`;
      const act = random.next();
      if (act < 0.5)
        kube.put(pods, pick(2) === 0 ? 'shop' : 'other', name, {
          ...pod(pick(4) === 0 ? 'db' : 'web', [env]),
          status: { podIPs: [{ ip: `10.0.${seed}.${round % 250}` }] },
        });
      else if (act < 0.65) kube.remove(pods, 'shop', name);
      else if (act < 0.7)
        kube.put(routeGates, 'shop', 'gate', gate({ generation: round, ...(pick(2) === 0 ? { env } : {}) }));
      else if (act < 0.75)
        kube.put(routeGates, 'other', 'gate', gate({ generation: round, app: pick(2) === 0 ? 'db' : 'web' }));
      else if (act < 0.78) kube.remove(routeGates, 'other', 'gate');
      else if (act < 0.84) kube.breakWatches(pick(2) === 0);
      else if (act < 0.9) mine.bus.faults.setLink(pick(2) === 0 ? 'down' : 'silent');
      else if (act < 0.96) mine.bus.faults.setLink('up');
      else {
        // Somebody else wins; the one before may not know yet.
        mine = mine === replica ? other : replica;
        mine.bus.faults.setLink('up');
        current = mine.mirror(pods);
        current.start(await scene.fence(current)).catch(() => {});
      }
      const fates = ['store', 'store', 'store', 'answerLost', 'requestLost', { lateMs: 3_000 }] as const;
      mine.bus.faults.onAppend = () => fates[pick(fates.length)] ?? 'store';
      await scene.clock.advance(random.next() * 3_000);
    }
    for (const { bus } of [replica, other]) {
      bus.faults.setLink('up');
      bus.faults.onAppend = undefined;
    }
    await scene.clock.advance(120_000);
    await settle();

    const world = scene.world();
    const wanted = wantedPods(kube);
    expect(
      Object.keys(world)
        .filter((key) => key.startsWith('pods/'))
        .sort(),
    ).toEqual([...wanted.keys()].sort());
    for (const [key, wish] of wanted) expect(world[key]).toMatchObject(wish);
    expect(versionsThatWentBack(scene)).toEqual([]);
  },
  20_000,
);

/** What the world must hold of the Pods, from the objects alone. */
function wantedPods(kube: FakeKube): Map<string, object> {
  const wanted = new Map<string, object>();
  for (const [key, object] of kube.all(pods)) {
    const namespace = key.slice(0, key.indexOf('/'));
    const gates = [...kube.all(routeGates).values()].filter((one) => one.metadata.namespace === namespace);
    const specs = gates.map((one) => (one as unknown as ReturnType<typeof gate>).spec);
    const apps = specs.map(({ podSelector }) => podSelector.matchLabels.app);
    if (!apps.includes(object.metadata.labels?.app ?? '')) continue;
    const asksForEnv = specs.some(({ probe }) => 'onlyIfEnv' in probe);
    wanted.set(`pods/${key}`, { uid: object.metadata.uid, matchedEnv: asksForEnv ? ['CHECK=true'] : [] });
  }
  return wanted;
}

/** Digests of one object that stand in the stream after a newer one. */
function versionsThatWentBack(scene: Scene): string[] {
  const newest = new Map<string, number>();
  const wrong: string[] = [];
  for (const { subject, data } of scene.history) {
    const { uid, resourceVersion, kind } = decode(data) as {
      uid?: string;
      resourceVersion?: string;
      kind?: string;
    };
    if (kind !== 'pods' || uid === undefined) continue;
    const key = `${subject} ${uid}`;
    const version = Number(resourceVersion);
    if (version < (newest.get(key) ?? 0)) wrong.push(`${key} ${version} after ${newest.get(key)}`);
    newest.set(key, Math.max(version, newest.get(key) ?? 0));
  }
  return wrong;
}
