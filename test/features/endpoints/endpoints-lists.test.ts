/**
 * §5.5, §5.6: a pass that found the lists incomplete is made as soon as they are complete again; the long
 * patience of `awaitingLists` is for what nobody can hear of.
 */
import { expect, test } from 'vitest';
import { Stage } from './stage.ts';

/** A replica whose mirrors' statements lapse while a pass gathers. */
async function lapsed(): Promise<Stage> {
  const stage = new Stage();
  // Routes have nothing to wait for: no statement of theirs wakes anybody.
  await stage.cluster.synced();
  await stage.begin('a');
  await stage.put(0, {});
  await stage.put(1, {});
  await stage.cluster.clock.advance(1_000);
  // A removal waits for company.
  await stage.put(1, null);
  await stage.cluster.clock.advance(1);
  await stage.unlisted();
  await stage.cluster.clock.advance(500);
  expect(stage.cluster.states()['service/shop/web']).toContain('endpoints.awaitingLists');
  expect(stage.ready()).toEqual([true, true]);
  return stage;
}

test('lists that are complete again wake the Services whose pass met them incomplete', async () => {
  const stage = await lapsed();
  await stage.listed();
  await stage.cluster.clock.advance(100);
  expect(stage.ready()).toEqual([true]);
});
