/**
 * §6.2: a Service that is stuck is tried on, says so while it lasts, and is over at the first success;
 * through moves and restarts.
 */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import { stuckIn } from '../../../src/features/endpoints/start.ts';
import { Stage } from './stage.ts';

const stuckOf = (stage: Stage) =>
  [...stage.replicas.values()].reduce((sum, { engine }) => sum + stuckIn(engine), 0);

/** Every write was refused through all retries. */
async function stuck(): Promise<Stage> {
  const stage = new Stage();
  await stage.begin('a');
  stage.api.failing = () => new OrreryError('KUBE_SERVER', 'broken');
  for (let n = 0; n < 10; n++) await stage.put(n, {});
  expect(stuckOf(stage)).toBe(0);
  await stage.cluster.clock.advance(200_000);
  expect(stuckOf(stage)).toBe(1);
  return stage;
}

test('the gauge says 1 for as long as it lasts; the slices stand minutes after writing works again, with no news', async () => {
  const stage = await stuck();
  await stage.cluster.clock.advance(1_200_000);
  expect(stuckOf(stage)).toBe(1);
  stage.api.failing = () => undefined;
  await stage.cluster.clock.advance(240_000);
  expect(stage.ready()).toHaveLength(10);
  expect(stuckOf(stage)).toBe(0);
});

test('it goes on where the Service moves to', async () => {
  const stage = await stuck();
  for (const { engine } of stage.replicas.values()) engine.kill();
  stage.replicas.clear();
  stage.replicas.set('b', await stage.cluster.replica('b'));
  await stage.cluster.clock.advance(5_000);
  expect(stuckOf(stage)).toBe(1);
  stage.api.failing = () => undefined;
  await stage.cluster.clock.advance(240_000);
  expect(stage.ready()).toHaveLength(10);
  expect(stuckOf(stage)).toBe(0);
});

test('§6.5: sixteen passes that fail read no list: the world says what stands', async () => {
  const stage = await stuck();
  expect(stage.api.calls.filter((call) => call.startsWith('create')).length).toBeGreaterThanOrEqual(16);
  expect(stage.api.calls.filter((call) => call === 'list')).toEqual([]);
});
