/**
 * Release-gated reconciliation with several replicas: who leads, who serves, what may be written when.
 */
import { describe, expect, test } from 'vitest';
import type { EffectData } from '../../../src/actors/host/step.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import { broken, bundle, clean } from '../../machines/release/release-script.ts';
import { breaking, compatible, demanding, old, ReleaseScene, ready, written } from './release-scene.ts';

describe('who may lead', () => {
  test('the first replica of a cluster leads, writes Done, and serves only then', async () => {
    const scene = new ReleaseScene();
    let finish = () => {};
    scene.summary = () =>
      new Promise((resolve) => {
        finish = () => resolve(clean);
      });
    const one = await scene.replica('one', old);
    await scene.clock.advance(2_000);
    expect(scene.leader()).toBe('one');
    expect(one.desk.blocked).toMatch(/has no status yet/);
    expect(scene.owners()).toEqual([]);
    finish();
    await scene.clock.advance(1_000);
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0']);
    expect(one.desk.blocked).toBeNull();
    expect(scene.owners()).toEqual(['one']);
  });

  test('a campaign begins 250 to 750 ms after the replica may lead', async () => {
    const scene = new ReleaseScene();
    const begun = scene.clock.now();
    await scene.replica('one', old);
    while (scene.leader() === null && scene.clock.now() - begun < 5_000) await scene.clock.advance(10);
    expect(scene.clock.now() - begun).toBeGreaterThanOrEqual(250);
    expect(scene.clock.now() - begun).toBeLessThanOrEqual(400 + 760);
  });

  test('a newer release takes the leadership over, and the older one writes nothing more', async () => {
    const scene = new ReleaseScene();
    await scene.replica('one', old);
    await ready(scene);
    await scene.replica('two', compatible);
    await scene.clock.advance(2_000);
    expect(scene.leader()).toBe('two');
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0', 'Working 0.1.0 0.1.0']);
    await ready(scene);
    expect(written(scene).at(-1)).toBe('Done 0.2.0 0.1.0');
    const newer = scene.rounds.filter(({ replica }) => replica === 'two');
    expect(newer[0]?.at).toBeGreaterThanOrEqual((scene.statuses[1]?.at ?? 0) + 5_000);
    const since = newer[0]?.at ?? 0;
    await scene.clock.advance(120_000);
    expect(scene.rounds.filter(({ replica, at }) => replica === 'one' && at > since)).toEqual([]);
    expect(scene.rounds.length).toBeGreaterThan(4);
  });

  test('of equal releases all campaign and one leads; when it dies another does', async () => {
    const scene = new ReleaseScene();
    const replicas = [];
    for (const name of ['one', 'two', 'three']) replicas.push(await scene.replica(name, old));
    await ready(scene);
    const first = scene.leader();
    replicas.find(({ name }) => name === first)?.kill();
    await scene.clock.advance(15_000);
    expect(scene.leader()).not.toBe(first);
    expect(scene.leader()).not.toBeNull();
    expect(scene.state()).toBe('leading.keeping.resting');
    // The state was Done already: nothing was written.
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0']);
  });

  test('an older release leads again when the newer has gone, and takes the state back', async () => {
    const scene = new ReleaseScene();
    await scene.replica('one', bundle('0.1.0', '0.1.0', '0.1.0'));
    const two = await scene.replica('two', compatible);
    await ready(scene);
    expect(scene.leader()).toBe('two');
    await two.stop();
    await scene.clock.advance(10_000);
    expect(scene.leader()).toBe('one');
    await ready(scene);
    expect(written(scene).slice(-2)).toEqual(['Working 0.1.0 0.1.0', 'Done 0.1.0 0.1.0']);
  });

  test('a replica without a bundle is a node, serves, and never leads', async () => {
    const scene = new ReleaseScene();
    const plain = await scene.replica('plain', null, '0.1.0');
    await scene.clock.advance(2_000);
    expect(scene.nodes()).toEqual(['plain']);
    expect(plain.desk.blocked).toBeNull();
    expect(scene.owners()).toEqual(['plain']);
    expect(scene.leader()).toBeNull();
  });

  test('while a replica without a bundle is of a newer release nobody leads', async () => {
    const scene = new ReleaseScene();
    await scene.replica('plain', null, '0.9.0');
    await scene.replica('one', old);
    await scene.clock.advance(5_000);
    expect(scene.leader()).toBeNull();
    expect(scene.statuses).toEqual([]);
  });
});

describe('what may be written', () => {
  test('a state that an old replica does not suit waits until that replica has gone', async () => {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', old);
    await ready(scene);
    const two = await scene.replica('two', breaking);
    await scene.clock.advance(20_000);
    expect(scene.leader()).toBe('two');
    expect(scene.state()).toBe('leading.waitingForNodes');
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0']);
    expect(scene.rounds.filter(({ replica }) => replica === 'two')).toEqual([]);
    expect(one.desk.blocked).toBeNull();
    expect(two.desk.blocked).toBeNull();
    await one.stop();
    await scene.clock.advance(2_000);
    await ready(scene);
    expect(written(scene).slice(1)).toEqual(['Working 0.1.0 0.2.0', 'Done 0.2.0 0.2.0']);
  });

  test('an old replica that died without a word is waited for some seconds only', async () => {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', old);
    await ready(scene);
    await scene.replica('two', breaking);
    await scene.clock.advance(5_000);
    one.kill();
    await scene.clock.advance(2_000);
    expect(scene.state()).toBe('leading.waitingForNodes');
    await scene.clock.advance(4_000);
    expect(scene.nodes()).toEqual(['two']);
    await ready(scene);
    expect(written(scene).at(-1)).toBe('Done 0.2.0 0.2.0');
  });

  test('a node that appears between look and write is not overlooked', async () => {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', old);
    await ready(scene);
    let late: Promise<unknown> | null = null;
    scene.onEffect = async (effect: EffectData) => {
      if (effect.type !== 'release-status.write' || effect.epoch === null || late !== null) return;
      // The leader has looked, its write is about to begin: an old replica enters.
      const node = { replica: 'late', incarnation: 'l', release: '0.1.0', bundle: null };
      late = scene.outside.appendAll([
        { subject: scene.subjects.node('late'), data: encodeJson(node) },
        { subject: scene.subjects.nodesEpoch, data: encodeJson({}) },
      ]);
      await late;
    };
    await scene.replica('two', breaking);
    await one.stop();
    for (let waited = 0; waited < 40 && late === null; waited++) await scene.clock.advance(100);
    expect(late).not.toBeNull();
    await scene.clock.advance(500);
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0']);
    expect(scene.state()).toBe('leading.waitingForNodes');
    // Nobody hears the late one: its node is taken away, and only then is the state written.
    await scene.clock.advance(6_000);
    expect(written(scene)[1]).toBe('Working 0.1.0 0.2.0');
  });

  test('a status that cannot be read counts as missing: it is written anew', async () => {
    const scene = new ReleaseScene();
    await scene.outside.append(
      scene.subjects.releaseStatus('platform'),
      new TextEncoder().encode('{"state":7'),
    );
    let finish = () => {};
    scene.summary = () =>
      new Promise((resolve) => {
        finish = () => resolve(clean);
      });
    const one = await scene.replica('one', old);
    await scene.clock.advance(1_000);
    expect(one.desk.blocked).toMatch(/cannot be read/);
    finish();
    await ready(scene);
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0']);
    expect(one.desk.blocked).toBeNull();
  });

  test('one object that fails keeps the state from being Done, for ever, and the rounds go on', async () => {
    const scene = new ReleaseScene();
    scene.summary = () => broken;
    await scene.replica('one', old);
    await scene.clock.advance(60_000);
    expect(scene.statuses).toEqual([]);
    expect(scene.rounds.length).toBeGreaterThan(10);
    scene.summary = () => clean;
    await scene.clock.advance(60_000);
    expect(written(scene)).toEqual(['Done 0.1.0 0.1.0']);
  });
});

describe('who may serve', () => {
  test('a replica whose bundle needs a newer state waits until it is written', async () => {
    const scene = new ReleaseScene();
    await scene.replica('one', old);
    await ready(scene);
    const two = await scene.replica('two', demanding);
    await scene.clock.advance(3_000);
    expect(two.desk.blocked).toMatch(/written for release 0\.1\.0.*needs 0\.2\.0.*minReconcilerRelease/);
    expect(scene.owners()).toEqual(['one']);
    await scene.clock.advance(15_000);
    expect(written(scene).at(-1)).toBe('Done 0.2.0 0.1.0');
    expect(two.desk.blocked).toBeNull();
    expect(scene.owners()).toEqual(['one', 'two']);
  });

  test('Working does not block a replica that suits both sides', async () => {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', old);
    await ready(scene);
    await scene.replica('two', compatible);
    await scene.clock.advance(3_000);
    expect(written(scene).at(-1)).toBe('Working 0.1.0 0.1.0');
    expect(one.desk.blocked).toBeNull();
    expect(scene.owners()).toContain('one');
  });

  test('a later status that does not suit makes a serving replica hand its shards over', async () => {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', old);
    const plain = await scene.replica('plain', null, '0.1.0');
    await ready(scene);
    await scene.clock.advance(10_000);
    expect(scene.owners()).toEqual(['one', 'plain']);
    const status = { state: 'Done', release: '0.3.0', minimumCompatible: '0.3.0', kinds: [] };
    const { rounds } = scene;
    rounds.length = 0;
    await scene.outside.append(scene.subjects.releaseStatus('platform'), encodeJson(status));
    await scene.clock.advance(1_500);
    expect(one.desk.blocked).toMatch(/release 0\.1\.0 is too old: .* needs 0\.3\.0 or newer/);
    expect(scene.owners()).toEqual(['plain']);
    expect(plain.desk.blocked).toBeNull();
  });

  test('with nobody to take them the shards are given back all the same', async () => {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', bundle('0.1.0', '0.1.0', '0.1.0'));
    await ready(scene);
    expect(scene.owners()).toEqual(['one']);
    const status = { state: 'Done', release: '0.3.0', minimumCompatible: '0.3.0', kinds: [] };
    await scene.outside.append(scene.subjects.releaseStatus('platform'), encodeJson(status));
    await scene.clock.advance(1_000);
    expect(one.desk.blocked).not.toBeNull();
    expect(scene.owners()).toEqual([]);
    // It is the newest that lives, so it leads, takes the state back, and serves again.
    await scene.clock.advance(15_000);
    expect(written(scene).slice(-2)).toEqual(['Working 0.1.0 0.3.0', 'Done 0.1.0 0.1.0']);
    expect(scene.owners()).toEqual(['one']);
  });
});

describe('what is known of the others', () => {
  test('a replica that was away for longer than the mark of a node’s end is kept does not wait for the dead', async () => {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', old);
    const two = await scene.replica('two', compatible);
    await ready(scene);
    one.bus.faults.setLink('down');
    await scene.clock.advance(5_000);
    two.kill();
    await scene.replica('three', null, '0.1.0');
    await scene.clock.advance(2 * 3_600_000);
    expect(scene.nodes()).toEqual(['three']);
    one.bus.faults.setLink('up');
    await scene.clock.advance(20_000);
    expect(scene.leader()).toBe('one');
    expect(scene.state()).toBe('leading.keeping.resting');
  });

  test('a state stream made anew is filled anew: nodes enter, the status is written, all serve', async () => {
    const scene = new ReleaseScene();
    const replicas = [await scene.replica('one', old), await scene.replica('two', old)];
    await ready(scene);
    for (const { bus } of replicas) bus.faults.setLink('down');
    scene.hub.makeAnew('state');
    await scene.clock.advance(1_000);
    for (const { bus } of replicas) bus.faults.setLink('up');
    await scene.clock.advance(15_000);
    expect([...scene.nodes()].sort()).toEqual(['one', 'two']);
    expect(written(scene).at(-1)).toBe('Done 0.1.0 0.1.0');
    expect(replicas.map(({ desk }) => desk.blocked)).toEqual([null, null]);
    expect(scene.owners()).toEqual(['one', 'two']);
  });
});

describe('the shard of releases', () => {
  test('a bundle of another name retires the release of the one before', async () => {
    const scene = new ReleaseScene();
    await scene.replica('one', old);
    await ready(scene);
    await scene.replica('two', { ...compatible, name: 'edge' });
    await scene.clock.advance(20_000);
    expect(scene.state()).toBe('retired');
    expect(scene.transitions('release/_/edge').at(-1)?.to).toBe('leading.keeping.resting');
  });

  test('mail to a release is put aside with the reason: it is asked over requests', async () => {
    const scene = new ReleaseScene();
    await scene.replica('one', old);
    await ready(scene);
    const message = encodeJson({ type: 'release.reconcile' });
    await scene.outside.append(scene.subjects.send('release/_/platform'), message);
    await scene.clock.advance(1_000);
    const [letter] = scene.hub.stored('dead');
    expect(letter?.headers['Orrery-Error']).toMatch(/MESSAGE_UNKNOWN_EVENT: a release takes no mail/);
  });

  test('it is none of the 64, and moves with the leadership alone', async () => {
    const scene = new ReleaseScene();
    const one = await scene.replica('one', old);
    await ready(scene);
    await scene.replica('plain', null, '0.1.0');
    await scene.clock.advance(15_000);
    expect(scene.leader()).toBe('one');
    const views = one.engine.ownership.views().filter(({ name }) => name.startsWith('shard/'));
    expect(views).toHaveLength(64);
    expect(one.engine.directory.all().flatMap(({ shards }) => shards)).not.toContain(64);
  });

  test('what an earlier leader asked for and did not finish does nothing under the next', async () => {
    const scene = new ReleaseScene();
    scene.summary = ({ replica }) => (replica === 'one' ? new Promise(() => {}) : clean);
    const one = await scene.replica('one', old);
    await scene.clock.advance(3_000);
    expect(scene.state()).toBe('leading.applying.working');
    one.kill();
    await scene.replica('two', compatible);
    await scene.clock.advance(15_000);
    expect(scene.state()).toBe('leading.keeping.resting');
    // The round in the outbox was for the bundle of the dead one.
    expect(
      scene.rounds.filter(({ replica }) => replica === 'two').map(({ release }) => release),
    ).not.toContain('0.1.0');
    expect(written(scene)).toEqual(['Done 0.2.0 0.1.0']);
  });
});
