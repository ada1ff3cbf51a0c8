/**
 * Replicas of two releases side by side, as real processes on a real nats-server: the older one does not
 * write, the newer one waits for what it must, a blocked one says why, and the objects stay as the bundle has
 * them.
 *
 * With KUBECONFIG set the same runs against that API server.
 */
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import type { KubeObject } from '../../src/base/kube-port.ts';
import { until } from '../until.ts';
import { configMaps, type ReleaseStage, type StageReplica, startStage, viewOf } from './release-stage.ts';

const { signal } = new AbortController();
let stage: ReleaseStage;
afterEach(() => stage?.stop());

const says = (object: KubeObject | null) => (object?.data as { says?: string } | undefined)?.says;
const isReady = (replica: StageReplica) =>
  until(async () => (await replica.ready()).ready, {
    what: `${replica.name} to be ready`,
    timeoutMs: 30_000,
  });
const eventually = (name: string, text: string | undefined, timeoutMs = 20_000) =>
  until(async () => says(await stage.find(name)) === text, { what: `${name} to say ${text}`, timeoutMs });
const done = (release: string) =>
  until(
    async () => {
      const status = await stage.release();
      return status.state === 'Done' && status.release === release;
    },
    { what: `release ${release} to be done`, timeoutMs: 30_000 },
  );

test('a release that suits the old replicas is rolled over beside them: the new one leads, objects change, all serve', {
  timeout: 120_000,
}, async () => {
  stage = await startStage();
  const { kube } = stage.cluster;
  const ns = stage.namespace;
  await kube.create(
    configMaps,
    { metadata: { name: 'foreign', namespace: ns }, data: { says: 'mine' } },
    signal,
  );
  const old = await stage.start('old', { release: '0.1.0', objects: { a: 'one', b: 'one', goes: 'one' } });
  await isReady(old);
  await done('0.1.0');
  expect(says(await stage.find('goes'))).toBe('one');

  const neu = await stage.start('new', {
    release: '0.2.0',
    minServing: '0.1.0',
    // The second would be somebody else's object: it alone fails.
    objects: { a: 'two', b: 'two' },
  });
  await isReady(neu);
  await done('0.2.0');
  expect(says(await stage.find('a'))).toBe('two');
  await eventually('goes', undefined);
  expect(says(await stage.find('foreign'))).toBe('mine');
  // It serves on; shards may be moving at this moment.
  await isReady(old);
  expect(await stage.release()).toMatchObject({ leader: 'new', minimumCompatibleRelease: '0.1.0' });
  const view = await viewOf(old, ns);
  expect(view).toMatchObject({ owner: 'new', state: 'leading.keeping.resting' });
  const announced = view.recent.findIndex(({ to }) => to === 'leading.lettingEnd');
  const applied = view.recent.findIndex(({ to }, at) => at > announced && to === 'leading.applying.working');
  const waited = (view.recent[applied]?.at ?? 0) - (view.recent[announced]?.at ?? 0);
  expect(waited).toBeGreaterThanOrEqual(5_000);

  // Drift is repaired at once, not at the next round in half a minute.
  await kube.patch(
    configMaps,
    { namespace: ns, name: 'a', type: 'merge', body: { data: { says: 'drifted' } } },
    signal,
  );
  await eventually('a', 'two', 5_000);
  await kube.delete(configMaps, ns, 'b', {}, signal);
  await eventually('b', 'two', 5_000);

  expect(await stage.reconcile()).toMatch(/resting → repeating|release\.reconcile/);

  // The newest that is left leads; the old one has written nothing meanwhile.
  await neu.stop();
  await done('0.1.0');
  await eventually('a', 'one');
});

test('a release that does not suit the old replicas waits for them, says so, and shuts later ones out', {
  timeout: 120_000,
}, async () => {
  stage = await startStage();
  const ns = stage.namespace;
  const old = await stage.start('old', { release: '0.1.0', objects: { a: 'one' } });
  await isReady(old);
  const neu = await stage.start('new', { release: '0.3.0', minReconciler: '0.3.0', objects: { a: 'three' } });
  await until(async () => (await stage.release()).waitingFor, {
    what: 'the new one to wait',
    timeoutMs: 20_000,
  });
  expect((await stage.release()).waitingFor).toMatch(/old \(0\.1\.0\) is older than 0\.3\.0/);
  const blocked = await neu.ready();
  expect(blocked.ready).toBe(false);
  expect(blocked.reasons[0]).toMatch(/must not serve: .*written for release 0\.1\.0.*needs 0\.3\.0/);
  const explained = await stage.explain();
  expect(explained).toMatch(/State\n {2}leading\.(waitingForNodes|heldUp)/);
  expect(explained).toMatch(/waits: old \(0\.1\.0\) is older than 0\.3\.0/);
  expect(explained).toMatch(/must not serve: new: /);
  const listed = await (await fetch(`${old.url}/api/v1/actors?kind=release`)).json();
  expect(listed).toMatchObject({
    actors: [
      {
        id: `release/_/${ns}`,
        owner: 'new',
        state: expect.stringMatching(/^leading\.(waitingForNodes|heldUp)$/),
      },
    ],
  });
  expect(says(await stage.find('a'))).toBe('one');
  expect((await old.ready()).ready).toBe(true);

  await old.kill();
  await done('0.3.0');
  await isReady(neu);
  expect(says(await stage.find('a'))).toBe('three');

  const late = await stage.start('late', { release: '0.1.0', objects: { a: 'one' } });
  // At first it has not read what the replicas have recorded, and must not serve for that.
  const tooOld = /release 0\.1\.0 is too old: .* needs 0\.3\.0 or newer/;
  await until(async () => tooOld.test((await late.ready()).reasons[0] ?? ''), {
    what: 'the late one to say why it does not serve',
  });
  await until(async () => /must not serve: late: /.test(await stage.explain()), {
    what: 'explain to name it',
  });
  expect(says(await stage.find('a'))).toBe('three');
  expect(readFileSync(late.logFile, 'utf8')).toMatch(/this replica must not serve/);
  const shards = (await (await fetch(`${neu.url}/api/v1/shards`)).json()) as {
    shards: ReadonlyArray<{ owner: string }>;
  };
  expect(new Set(shards.shards.map(({ owner }) => owner))).toEqual(new Set(['new']));
});

test('one object that is somebody else’s does not stop the others, and is what the Release tells', {
  timeout: 120_000,
}, async () => {
  stage = await startStage();
  const { kube } = stage.cluster;
  const foreign = { metadata: { name: 'theirs', namespace: stage.namespace }, data: { says: 'theirs' } };
  await kube.create(configMaps, foreign, signal);
  const one = await stage.start('one', { release: '0.1.0', objects: { theirs: 'ours', ours: 'ours' } });
  await eventually('ours', 'ours');
  await until(async () => (await stage.release()).lastError, {
    what: 'the error to be told',
    timeoutMs: 15_000,
  });
  expect((await stage.release()).lastError).toMatch(/ConfigMap .*\/theirs: .*orrery\.dev\/adopt/);
  expect(says(await stage.find('theirs'))).toBe('theirs');
  expect((await one.ready()).ready).toBe(false);
  await kube.delete(configMaps, stage.namespace, 'theirs', {}, signal);
  await done('0.1.0');
  await isReady(one);
  expect(says(await stage.find('theirs'))).toBe('ours');
});
