/** A kind of which it is not known for long whether it exists. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import { Scene } from './mirror-scene.ts';

test('an API server that is away for an hour is asked each second, and told some ten times', async () => {
  const scene = new Scene();
  let asked = 0;
  scene.kube.failing = (call) => {
    if (call !== 'resolve') return undefined;
    asked++;
    return new OrreryError('KUBE_UNREACHABLE', 'connection refused');
  };
  const mirror = (await scene.replica()).groupMirror();
  mirror.start(await scene.fence(mirror)).catch(() => undefined);
  for (let second = 0; second < 3_600; second++) await scene.clock.advance(1_000);
  expect(asked).toBeGreaterThan(2_800);
  expect(scene.said.length).toBeGreaterThan(5);
  expect(scene.said.length).toBeLessThan(15);
});
