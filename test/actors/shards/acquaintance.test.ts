/** How long a replica that starts listens before it claims. */
import { describe, expect, test } from 'vitest';
import type { Beat } from '../../../src/actors/members/members.ts';
import { knowsOwners, startAcquaintance } from '../../../src/actors/shards/acquaintance.ts';
import type { FenceValue } from '../../../src/actors/shards/fence-value.ts';
import { decode } from '../../../src/bus/codec.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { TestCluster } from '../harness.ts';

const fence = (replica: string | null, incarnation = 'now'): FenceValue => ({
  ...{ replica, incarnation, at: 1, releasedAt: null },
});
/** Of each that is named one process lives, `now`. */
const living = (...names: string[]) => ({
  isPresent: (name: string, incarnation: string) => names.includes(name) && incarnation === 'now',
});

describe('who owns something is known', () => {
  test.each([
    ['all of them were heard of', [fence('a'), fence('b'), fence(null)], true],
    ['nobody owns anything', [fence(null)], false],
    ['there was never an owner', [], false],
    ['one was not heard of', [fence('a'), fence('c')], false],
    ['a former life of one owns something', [fence('a'), fence('b', 'before')], false],
    ['one has the own name', [fence('a'), fence('me')], false],
  ])('%s: %#', (_, fences, isKnown) => {
    expect(knowsOwners('me', fences, living('a', 'b', 'me'))).toBe(isKnown);
  });
});

test('it is over as soon as they are known, and after 200 ms in any case', async () => {
  const clock = new VirtualClock();
  let isMade = false;
  const over: string[] = [];
  const known = startAcquaintance(clock, () => isMade);
  const unknown = startAcquaintance(clock, () => false);
  void known.made.then(() => over.push('known'));
  void unknown.made.then(() => over.push('unknown'));
  known.look();
  await clock.advance(10);
  expect(over).toEqual([]);
  isMade = true;
  known.look();
  unknown.look();
  await clock.advance(0);
  expect(over).toEqual(['known']);
  await clock.advance(190);
  expect(over).toEqual(['known', 'unknown']);
});

test('a replica that joins others claims as soon as they have answered; the first of all waits', async () => {
  const cluster = new TestCluster();
  /** When each said first that it takes something over. */
  const claims = new Map<string, number>();
  cluster.hub.connect('ear').subscribe(cluster.subjects.memberAll, ({ data }) => {
    const { replica, leaving } = decode(data) as Beat;
    if (!leaving && !claims.has(replica)) claims.set(replica, cluster.clock.now());
  });
  const startOf = async (name: string) => {
    const begun = cluster.clock.now();
    await cluster.replica(name);
    return (claims.get(name) ?? Number.NaN) - begun;
  };
  expect(await startOf('a')).toBeGreaterThanOrEqual(200);
  expect(await startOf('b')).toBeLessThan(50);
});
