/** Leadership that is lost, wherever it is lost: nothing is written or applied under it any more. */
import { describe, expect, test } from 'vitest';
import { bundle, clean } from '../../machines/release/release-script.ts';
import { breaking, compatible, old, ReleaseScene, ready, written } from './release-scene.ts';

describe('leadership is lost', () => {
  /** The leader loses its leadership as its n-th write of a status begins, and never gets it back. */
  async function robbedAt(nth: number, next = breaking): Promise<ReleaseScene> {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', old);
    await ready(scene);
    const robbed: string[] = [];
    scene.onEffect = async (effect) => {
      if (effect.type !== 'release-status.write') return;
      robbed.push(effect.type);
      if (robbed.length === nth) await scene.usurp(true);
    };
    await scene.replica('two', next);
    if (next === breaking) await one.stop();
    for (let waited = 0; waited < 200 && robbed.length < nth; waited++) await scene.clock.advance(100);
    await scene.clock.advance(300);
    await scene.clock.advance(20_000);
    expect(robbed).toHaveLength(nth);
    expect(scene.leader()).toBe('usurper');
    return scene;
  }

  test('at the write of Working: it is not stored, and nothing is applied', async () => {
    const scene = await robbedAt(1, compatible);
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0']);
    expect(scene.rounds.filter(({ replica }) => replica === 'two')).toEqual([]);
  });

  test('at the write of {Working, min, max}: it is not stored, and nothing is applied', async () => {
    const scene = await robbedAt(1, breaking);
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0']);
    expect(scene.rounds.filter(({ replica }) => replica === 'two')).toEqual([]);
  });

  test('at the write of Done: it is not stored', async () => {
    const scene = await robbedAt(2, compatible);
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0', 'Working 0.1.0 0.1.0']);
  });

  test('in the 5 s: no round begins; the one who leads then waits its own 5 s', async () => {
    const scene = new ReleaseScene();
    await scene.replica('one', old);
    await ready(scene);
    await scene.replica('two', compatible);
    for (let waited = 0; waited < 60 && scene.state() !== 'leading.lettingEnd'; waited++)
      await scene.clock.advance(50);
    expect(scene.state()).toBe('leading.lettingEnd');
    await scene.clock.advance(4_000);
    const lostAt = scene.clock.now();
    await scene.usurp();
    await scene.clock.advance(15_000);
    const [first] = scene.rounds.filter(({ replica }) => replica === 'two');
    expect(first?.at).toBeGreaterThanOrEqual(lostAt + 5_000);
    expect(written(scene).at(-1)).toBe('Done 0.2.0 0.1.0');
  });

  test('in a round: what the round says is not believed, and the next leader begins anew', async () => {
    const scene = new ReleaseScene();
    let isRobbed = false;
    scene.summary = async ({ fence }) => {
      if (isRobbed) return clean;
      isRobbed = true;
      expect(fence).toBeGreaterThan(0);
      await scene.usurp();
      return clean;
    };
    await scene.replica('one', old);
    await scene.clock.advance(15_000);
    expect(isRobbed).toBe(true);
    const fences = new Set(scene.rounds.map(({ fence }) => fence));
    expect(fences.size).toBeGreaterThanOrEqual(2);
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0']);
  });

  test('a leader that is cut off neither writes nor begins rounds; it comes back as one of many', async () => {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', old);
    await ready(scene);
    one.bus.faults.setLink('down');
    const two = await scene.replica('two', bundle('0.2.0', '0.2.0', '0.2.0'));
    await scene.clock.advance(20_000);
    const begunBy = (name: string, since: number) =>
      scene.rounds.filter(({ replica, at }) => replica === name && at > since);
    expect(scene.leader()).toBe('two');
    expect(written(scene).at(-1)).toBe('Done 0.2.0 0.2.0');
    const back = scene.clock.now();
    one.bus.faults.setLink('up');
    await scene.clock.advance(40_000);
    expect(begunBy('one', back)).toEqual([]);
    expect(scene.leader()).toBe('two');
    expect(one.desk.blocked).toMatch(/release 0\.1\.0 is too old: .* needs 0\.2\.0 or newer/);
    expect(scene.owners()).toEqual(['two']);
    expect([...scene.nodes()].sort()).toEqual(['one', 'two']);
    expect(two.desk.blocked).toBeNull();
  });
});
