/**
 * An actor whose chart fails for a while goes on where it was once the chart does not fail any more (I4, I8).
 */
import { expect, test } from 'vitest';
import { createControl } from '../../../src/actors/control/control-client.ts';
import { serveControl } from '../../../src/actors/control/control-server.ts';
import { recordOf } from '../../../src/actors/host/cell.ts';
import type { Stepper } from '../../../src/actors/host/step.ts';
import { limits } from '../../../src/base/limits.ts';
import { refused } from '../../../src/bus/bus-errors.ts';
import { finished, pod, reachable, TestCluster, type TestReplica } from '../harness.ts';

/** Lets the chart of Pods throw over some events, until the test mends it. */
function breakChart({ engine }: TestReplica, isBroken: (type: string) => boolean) {
  const stepper = engine.parts.steppers.get('pod') as { -readonly [K in keyof Stepper]: Stepper[K] };
  const { step } = stepper;
  let failures = 0;
  stepper.step = (snapshot, event) => {
    if (!isBroken(event.type)) return step(snapshot, event);
    failures++;
    throw new Error('broken on purpose');
  };
  return {
    failures: () => failures,
    mend: () => {
      stepper.step = step;
    },
  };
}

/** A Pod asks its Services again after so long, ms. */
const askAgainMs = 60_000;
/** Longer than five failures with their pauses. */
const untilPutAsideMs = 20_000;

test('the outcome of an effect over which the chart failed comes again, and its outbox does not keep the effect', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  const broken = breakChart(a, (type) => type === 'condition.patched');
  await cluster.shop(1, 1);
  await cluster.clock.advance(untilPutAsideMs);
  expect(broken.failures()).toBe(5);
  broken.mend();
  await cluster.clock.advance(limits.failedAgainMs);
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.ready.proven');
  const cell = a.engine.shards.runOf('pod/shop/web-0')?.cells.get('pod/shop/web-0');
  expect(cell && recordOf(cell)?.outbox).toEqual([]);
});

test('a deadline over which the chart failed comes again', async () => {
  const cluster = new TestCluster();
  cluster.outside = async (effect, run, replica) =>
    effect.type === 'route.sample' ? finished(Number(effect.round), []) : reachable(effect, run, replica);
  const broken = breakChart(await cluster.replica('a'), (type) => type.includes('askAgain'));
  await cluster.shop(1, 1);
  await cluster.clock.advance(askAgainMs + untilPutAsideMs);
  // Other events that it takes in between make the count begin anew.
  expect(broken.failures()).toBeGreaterThanOrEqual(5);
  broken.mend();
  await cluster.clock.advance(limits.failedAgainMs);
  const asked = cluster.transitions().filter(({ event }) => event.type.includes('askAgain'));
  expect(asked.length).toBeGreaterThan(0);
});

test('what the world says is told anew, as it is by then', async () => {
  const cluster = new TestCluster();
  const broken = breakChart(await cluster.replica('a'), (type) => type === 'pod.observed');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'second' }));
  await cluster.clock.advance(untilPutAsideMs);
  expect(broken.failures()).toBeGreaterThanOrEqual(5);
  broken.mend();
  await cluster.clock.advance(limits.failedAgainMs);
  const written = cluster.ranOf('pod-condition.patch').filter(({ effect }) => effect.status === 'True');
  // This world never shows the condition, so that it is written once more after a while.
  const patched = [...new Set(written.map(({ effect }) => effect.uid))];
  expect(patched).toEqual(['pod-uid-0', 'second']);
});

test('an actor whose chart fails over its first event is listed as parked, and is told again what called for it', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  const stepper = a.engine.parts.steppers.get('pod') as { -readonly [K in keyof Stepper]: Stepper[K] };
  const { begin } = stepper;
  stepper.begin = () => {
    throw new Error('broken on purpose');
  };
  await cluster.shop(2, 1);
  await cluster.clock.advance(untilPutAsideMs);
  const { engine, bus, name, requests } = a;
  const { clock, subjects } = cluster;
  serveControl({ engine, bus, subjects, clock, replica: name, release: '1.0.0', requests });
  const control = createControl({ bus, subjects });
  const answer = async <T>(asked: Promise<T>): Promise<T> => {
    await cluster.clock.advance(2_000);
    return await asked;
  };
  const { actors } = await answer(control.list({ kind: 'pod' }));
  expect(actors).toMatchObject(
    ['web-0', 'web-1'].map((name) => ({
      id: `pod/shop/${name}`,
      state: 'parked',
      parked: true,
      reason: { health: 'wrong', text: expect.stringContaining('its chart failed: broken on purpose') },
    })),
  );
  expect(actors[0]?.reason.since).toBeGreaterThan(0);
  expect(await answer(control.get('pod/shop/web-0'))).toMatchObject({ parked: true });
  await cluster.put('pods', 'shop', 'web-1', null);
  stepper.begin = begin;
  await cluster.clock.advance(limits.failedAgainMs);
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.ready.proven');
  const left = await answer(control.list({ kind: 'pod' }));
  expect(left.actors.map(({ id, parked }) => [id, parked])).toEqual([['pod/shop/web-0', false]]);
});

test('a record that NATS does not take for its size parks its actor, and holds up nobody else', async () => {
  const cluster = new TestCluster();
  let isSmall = true;
  const isTooLarge = (subject: string) =>
    isSmall && subject.includes('.state.') && subject.endsWith('.web-0');
  const a = await cluster.replica('a', {
    bend: (bus) => ({
      ...bus,
      get status() {
        return bus.status;
      },
      append: (subject, data, more) =>
        isTooLarge(subject)
          ? Promise.reject(refused('max_payload size exceeded'))
          : bus.append(subject, data, more),
    }),
  });
  await cluster.shop(2, 1);
  await cluster.clock.advance(3_000);
  expect(cluster.states()).toMatchObject({ 'pod/shop/web-1': 'gated.ready.proven' });
  expect(cluster.states()['pod/shop/web-0']).toBeUndefined();
  expect(a.engine.shards.runOf('pod/shop/web-0')?.cells.get('pod/shop/web-0')?.error).toMatch(/bytes/);
  isSmall = false;
  await cluster.clock.advance(20_000 + limits.failedAgainMs);
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.ready.proven');
});
