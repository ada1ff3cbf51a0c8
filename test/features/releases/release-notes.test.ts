/** What /readyz says beside whether a replica is ready (docs/features/releases.md §1.4, §1.5). */
import { expect, test } from 'vitest';
import type { Readiness } from '../../../src/base/views.ts';
import { readinessOf } from '../../../src/replica/replica-tells.ts';
import { inject } from '../../inspector/http-parts.ts';
import { old, ReleaseScene, ready, type SceneReplica } from './release-scene.ts';

/** As a probe gets it. */
async function readyz({ bus, engine }: SceneReplica): Promise<Readiness & { readonly code: number }> {
  const parts = { health: { complaints: () => [] }, storing: { troubles: () => [] }, needed: [], now: 0 };
  const readiness = () => readinessOf({ bus, engine, ...parts });
  const answer = await inject({ readiness }, { url: '/readyz' });
  return { ...(answer.json() as Readiness), code: answer.statusCode };
}

test('a replica without --bundle beside replicas with one says so, and is ready; they say nothing', async () => {
  const scene = new ReleaseScene();
  const one = await scene.replica('one', old);
  const two = await scene.replica('two', old);
  const plain = await scene.replica('plain', null, '0.1.0');
  await ready(scene);
  await scene.clock.advance(10_000);
  expect(await readyz(plain)).toEqual({
    code: 200,
    ready: true,
    reasons: [],
    notes: [
      expect.stringMatching(/^runs without --bundle beside replicas that have one: (one, two|two, one)$/),
    ],
  });
  for (const other of [one, two])
    expect(await readyz(other)).toEqual({ code: 200, ready: true, reasons: [] });
  // When it is alone, it is as it should be.
  await one.stop();
  await two.stop();
  await scene.clock.advance(5_000);
  expect(await readyz(plain)).toEqual({ code: 200, ready: true, reasons: [] });
});

test('a replica that nobody may lead says why: the newest release has no bundle', async () => {
  const scene = new ReleaseScene();
  const one = await scene.replica('one', old);
  await ready(scene);
  const newest = await scene.replica('plain', null, '0.9.0');
  await scene.clock.advance(10_000);
  const { ready: isReady, notes } = await readyz(one);
  expect([isReady, notes]).toEqual([
    true,
    ['nobody may lead the releases: all replicas of the newest release run without --bundle: plain (0.9.0)'],
  ]);
  expect(one.desk.candidacy).toBe('barred.outdated');
  await newest.stop();
  await scene.clock.advance(5_000);
  expect((await readyz(one)).notes).toBeUndefined();
  expect(one.desk.candidacy).toBe('entitled.leading');
});

test('each replica knows whether it may lead: the gauge is the state of its chart', async () => {
  const scene = new ReleaseScene();
  const one = await scene.replica('one', old);
  const two = await scene.replica('two', old);
  const plain = await scene.replica('plain', null, '0.1.0');
  await ready(scene);
  const states = [one, two, plain].map(({ desk }) => desk.candidacy).sort();
  expect(states).toEqual(['entitled.campaigning', 'entitled.leading', 'without']);
  await one.stop();
  expect(one.desk.candidacy).toBe('ended');
});
