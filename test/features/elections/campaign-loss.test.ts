/**
 * How leading ends: losing, sleeping, giving back. Sentences in quotes are the rules of
 * docs/features/elections.md.
 */
import { describe, expect, test } from 'vitest';
import { leases } from '../../../src/features/elections/resources.ts';
import type { VirtualClock } from '../../virtual-clock.ts';
import { name, Scene } from './campaign-scene.ts';

describe('losing', () => {
  test('“Seeing another holder: stop leading at once”', async () => {
    const scene = new Scene();
    const campaign = await scene.candidate('a');
    await scene.advance(5);
    const at = scene.now;
    scene.kube.set(name, { holder: 'thief', transitions: 1 });
    await scene.clock.advance(5);
    expect(scene.last()).toMatchObject({ what: 'lost', term: 1 });
    expect((scene.last()?.at ?? 0) - at).toBeLessThanOrEqual(5);
    const written = scene.kube.ours.length;
    await scene.advance(5);
    expect(scene.kube.ours.length).toBe(written);
    expect(campaign.leading()).toBeNull();
  });

  test.each([
    ['deleted', (scene: Scene) => scene.kube.remove(leases, 'shop', name)],
    ['cleared', (scene: Scene) => scene.kube.set(name, { holder: '', durationSeconds: 1 })],
  ])('a Lease that is %s while we lead is claimed again at once, with a new term', async (_, wipe) => {
    const scene = new Scene();
    await scene.candidate('a');
    await scene.advance(5);
    wipe(scene);
    await scene.clock.advance(10);
    expect(scene.steps).toMatchObject([
      { what: 'leads', term: 1 },
      { what: 'lost', term: 1 },
      { what: 'leads' },
    ]);
    expect(scene.last()?.term).toBeGreaterThan(1);
    expect(scene.record?.holder).toBe('a');
  });

  test('a Lease whose times somebody emptied is renewed, under the same term', async () => {
    const scene = new Scene();
    await scene.candidate('a');
    scene.kube.set(name, { acquireTime: '', renewTime: '', durationSeconds: 0 });
    await scene.advance(30);
    expect(scene.steps).toMatchObject([{ what: 'leads', term: 1 }]);
    expect(scene.record).toMatchObject({ holder: 'a', durationSeconds: 15 });
    expect(scene.record?.acquireTime).toMatch(/\.\d{6}Z$/);
  });

  test('terms grow also over a Lease that others made anew from zero', async () => {
    const scene = new Scene();
    scene.kube.set(name, { holder: '', transitions: 40 });
    const campaign = await scene.candidate('a');
    expect(campaign.leading()?.term).toBe(42);
    scene.kube.set(name, { holder: 'go', transitions: 0, durationSeconds: 3 });
    await scene.clock.advance(10);
    expect(campaign.leading()).toBeNull();
    campaign.campaign();
    await scene.advance(3.1);
    expect(campaign.leading()?.term).toBe(44);
  });

  test('a foreign leader by a Lease made anew has a term too, which nobody has after it', async () => {
    const scene = new Scene();
    const campaign = await scene.candidate('a');
    expect(campaign.leading()?.term).toBe(1);
    scene.kube.set(name, { holder: 'go', transitions: 0, durationSeconds: 3 });
    await scene.clock.advance(10);
    campaign.campaign();
    await scene.advance(3.1);
    expect(campaign.leading()?.term).toBe(3);
  });

  test('who lost campaigns no more until told so', async () => {
    const scene = new Scene();
    const campaign = await scene.candidate('a');
    scene.kube.set(name, { holder: 'thief', transitions: 1, durationSeconds: 2 });
    await scene.advance(30);
    expect(scene.record?.holder).toBe('thief');
    campaign.campaign();
    await scene.clock.advance(10);
    expect(scene.last()).toMatchObject({ who: 'a', what: 'leads', term: 3 });
  });
});

describe('a suspended process', () => {
  /** Wall time goes on, monotonic time and timers stand still. */
  const suspendable = (clock: VirtualClock) => {
    let slept = 0;
    return {
      now: () => clock.now() + slept,
      monotonic: () => clock.monotonic(),
      after: (ms: number, fn: () => void) => clock.after(ms, fn),
      sleep: (ms: number) => {
        slept += ms;
      },
    };
  };

  test('“After a suspension longer than the lease nothing is written”, and it knows that it leads no more', async () => {
    const scene = new Scene();
    const clock = suspendable(scene.clock);
    const campaign = await scene.candidate('a', { clock });
    await scene.advance(3);
    const leadership = campaign.leading();
    clock.sleep(20_000);
    expect(campaign.leading()).toBeNull();
    expect(() => leadership?.check()).toThrow(/term 1 is over/);
    const written = scene.kube.ours.length;
    await scene.advance(5);
    expect(scene.kube.ours.length).toBe(written);
    expect(scene.last()).toMatchObject({ what: 'lost', term: 1 });
    await campaign.stop();
    expect(scene.kube.ours.length).toBe(written);
  });

  test('one that sleeps between reading and writing does not write', async () => {
    const scene = new Scene();
    const clock = suspendable(scene.clock);
    const campaign = await scene.candidate('a', { clock });
    await scene.advance(3);
    const written = scene.kube.ours.length;
    scene.kube.fate = (call) => {
      if (call === 'get') clock.sleep(60_000);
      return 'done';
    };
    // Giving back reads first, and falls asleep over it.
    const stopping = campaign.stop();
    await scene.advance(12);
    await stopping;
    expect(scene.kube.ours.length).toBe(written);
    expect(scene.record?.holder).toBe('a');
  });

  test('wall time that is set back does not lengthen a leadership', async () => {
    const scene = new Scene();
    const clock = suspendable(scene.clock);
    await scene.candidate('a', { clock });
    scene.kube.fate = () => 'fails';
    clock.sleep(-3_600_000);
    await scene.advance(10.1);
    expect(scene.last()).toMatchObject({ what: 'lost' });
  });
});

describe('giving back', () => {
  test('“holder "", duration 1, times now, transitions kept”, and the next one leads at once', async () => {
    const scene = new Scene();
    const a = await scene.candidate('a');
    const b = await scene.candidate('b');
    await scene.advance(5);
    const at = scene.now;
    const stopping = a.stop();
    await scene.clock.advance(10);
    await stopping;
    const freed = scene.kube.ours.find(({ record }) => record?.holder === '')?.record;
    expect(freed).toMatchObject({ holder: '', durationSeconds: 1, transitions: 0 });
    expect(freed?.renewTime).toBe(freed?.acquireTime);
    expect(b.leading()?.term).toBe(2);
    expect((scene.last()?.at ?? 0) - at).toBeLessThan(100);
  });

  test('a stranger’s Lease is left alone, though nobody had seen it change hands', async () => {
    const scene = new Scene();
    const a = await scene.candidate('a');
    await scene.advance(1);
    scene.kube.breakWatches();
    scene.kube.set(name, { holder: 'thief', transitions: 1 });
    const stopping = a.stop();
    await scene.clock.advance(10);
    await stopping;
    expect(scene.record?.holder).toBe('thief');
  });

  test('who waits and stops leaves the Lease alone', async () => {
    const scene = new Scene();
    await scene.candidate('a');
    const b = await scene.candidate('b');
    const stopping = b.stop();
    await scene.clock.advance(10);
    await stopping;
    await scene.advance(30);
    expect(scene.record?.holder).toBe('a');
    expect(scene.steps).toHaveLength(1);
  });
});
