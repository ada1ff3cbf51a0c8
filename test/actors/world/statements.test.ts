/**
 * Which statements of the mirrors count, and what follows from those that do not: after a time without
 * anybody, everybody waits.
 */
import { describe, expect, test } from 'vitest';
import { createStatements } from '../../../src/actors/world/statements.ts';
import { encode, encodeJson } from '../../../src/bus/codec.ts';
import { pod, service, TestCluster } from '../harness.ts';

const statement = { kind: 'synced', gates: ['g/1'], resource: 'pods' } as const;
const claimedBy = (replica: string | null, more: object = { statesAnew: true }) =>
  encodeJson({ replica, incarnation: 'i', at: 1, releasedAt: null, ...more });

/** @param alive null: nobody can be judged */
function scene(alive: { of: boolean | null } = { of: true }) {
  const began: string[] = [];
  const statements = createStatements(
    () => alive.of,
    (mirror) => began.push(mirror),
  );
  return { statements, began, counts: () => statements.counting('pods') !== null };
}

describe('a statement counts', () => {
  test('under the fence under which it was made', () => {
    const { statements, began, counts } = scene();
    statements.noteFence('pods', 1, claimedBy('a'));
    expect(counts()).toBe(false);
    statements.noteStatement('pods', 2, statement);
    expect(statements.counting('pods')).toEqual(statement);
    expect(began).toEqual(['pods']);
  });

  test('whichever of the two is read first', () => {
    const { statements, counts } = scene();
    statements.noteStatement('pods', 2, statement);
    expect(counts()).toBe(false);
    statements.noteFence('pods', 1, claimedBy('a'));
    expect(counts()).toBe(true);
  });

  test('not under the next one, until it is made again, word for word or not', () => {
    const { statements, began, counts } = scene();
    statements.noteFence('pods', 1, claimedBy('a'));
    statements.noteStatement('pods', 2, statement);
    statements.noteFence('pods', 3, claimedBy('b'));
    expect(counts()).toBe(false);
    statements.noteStatement('pods', 4, statement);
    expect(counts()).toBe(true);
    expect(began).toEqual(['pods', 'pods']);
  });

  test('not while nobody holds the fence', () => {
    const { statements, counts } = scene();
    statements.noteFence('pods', 1, claimedBy('a'));
    statements.noteStatement('pods', 2, statement);
    statements.noteFence('pods', 3, claimedBy(null));
    expect(counts()).toBe(false);
  });

  test('not while its holder is not heard of; whoever cannot be judged is left as it was', () => {
    const alive: { of: boolean | null } = { of: null };
    const { statements, began, counts } = scene(alive);
    statements.noteFence('pods', 1, claimedBy('a'));
    statements.noteStatement('pods', 2, statement);
    expect(counts()).toBe(false);
    const judged = [true, null, false, null, true].map((of) => {
      alive.of = of;
      statements.judge();
      return counts();
    });
    expect(judged).toEqual([true, true, false, false, true]);
    expect(began).toEqual(['pods', 'pods']);
  });

  test('of a holder that does not state anew (a release before), from its claim on', () => {
    const alive = { of: true };
    const { statements, counts } = scene(alive);
    statements.noteStatement('pods', 2, statement);
    statements.noteFence('pods', 3, claimedBy('old', {}));
    expect(counts()).toBe(true);
    alive.of = false;
    statements.judge();
    expect(counts()).toBe(false);
  });

  test.each([
    ['no object', encodeJson('me')],
    ['without a replica', encodeJson({ at: 1 })],
    ['bytes', new Uint8Array([0xc1])],
    ['a replica that is no text', encode({ replica: 7, incarnation: 'i' })],
  ])('under no fence that is nobody’s: %s', (_, data) => {
    const { statements, counts } = scene();
    statements.noteFence('pods', 1, data);
    statements.noteStatement('pods', 2, statement);
    expect(counts()).toBe(false);
  });
});

/**
 * One replica, a ready Pod; then everybody is away for hours, and meanwhile a Pod came that nobody knows a
 * record of.
 */
async function afterAnOutage() {
  const cluster = new TestCluster();
  const first = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(2_000);
  first.engine.kill();
  await cluster.put('pods', 'shop', 'web-1', pod(1));
  cluster.mirror.die();
  await cluster.clock.advance(5 * 3_600_000);
  const second = await cluster.replica('b');
  await cluster.clock.advance(30_000);
  return { cluster, second };
}
const patched = (cluster: TestCluster) =>
  cluster.ranOf('pod-condition.patch').map(({ effect }) => effect.name);

test('a picture of before an outage is not believed: no Pod is made ready by the Services of then', async () => {
  const { cluster, second } = await afterAnOutage();
  expect(second.engine.world.statement('pods')).toBeNull();
  expect(patched(cluster)).not.toContain('web-1');
  // The new list: a Service has joined the group meanwhile.
  await cluster.put('services', 'shop', 'svc-1', service(1));
  await cluster.synced();
  await cluster.clock.advance(2_000);
  expect(patched(cluster)).toContain('web-1');
  expect(cluster.states()).toMatchObject({
    'pod/shop/web-1': 'gated.ready.proven',
    'service/shop/svc-1': expect.anything(),
  });
});

test('nor is a Pod taken for gone that is merely not in the picture', async () => {
  const cluster = new TestCluster();
  const first = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(2_000);
  first.engine.kill();
  cluster.mirror.die();
  await cluster.remove('pods', 'shop', 'web-0');
  await cluster.replica('b');
  await cluster.clock.advance(30_000);
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.ready.proven');
  await cluster.put('pods', 'shop', 'web-0', pod(0));
  await cluster.synced();
  await cluster.clock.advance(2_000);
  expect(cluster.transitions().filter(({ to }) => to === 'gone')).toEqual([]);
});

test('mail to an actor of which the world cannot speak yet waits, and is no dead letter', async () => {
  const { cluster } = await afterAnOutage();
  const mail = encode({ type: 'pod.recheck', id: 'early' });
  await cluster.hub.connect('sender').append(cluster.subjects.send('pod/shop/web-1'), mail);
  await cluster.clock.advance(20_000);
  expect(cluster.dead).toEqual([]);
  await cluster.synced();
  await cluster.clock.advance(2_000);
  expect(cluster.dead).toEqual([]);
  expect(cluster.transitions().filter(({ cause }) => cause === 'early')).toHaveLength(1);
});

test('a mirror that is not heard of for a moment is believed again, and who waited is told', async () => {
  const cluster = new TestCluster();
  const { engine } = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  cluster.mirror.die();
  await cluster.clock.advance(3_000);
  expect(engine.world.statement('pods')).toBeNull();
  await cluster.put('pods', 'shop', 'web-5', pod(5));
  await cluster.clock.advance(3_000);
  expect(cluster.states()['pod/shop/web-5']).toBeUndefined();
  await cluster.synced();
  await cluster.clock.advance(2_000);
  expect(cluster.states()['pod/shop/web-5']).toBe('gated.ready.proven');
});
