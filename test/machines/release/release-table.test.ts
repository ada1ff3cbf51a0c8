/**
 * Every cell of the table of release-gated reconciliation: what is written before, whether is waited, what is
 * written after.
 */
import { describe, expect, test } from 'vitest';
import { compareReleases, isRelease } from '../../../src/base/semantic-version.ts';
import {
  hinderingNodes,
  type ReleaseStatus,
  rowOf,
  unsuitedFor,
} from '../../../src/machines/release/release-table.ts';
import { bundle, clean, kinds, ledBy, node, nothing, seen, status } from './release-script.ts';

const done = (release: string, minServing: string): ReleaseStatus => ({
  state: 'Done',
  release,
  minimumCompatible: minServing,
  kinds,
});

describe('releases', () => {
  test.each([
    ['0.2.0', '0.10.0', -1],
    ['1.0.0', '0.99.99', 1],
    ['1.2.3', '1.2.3', 0],
    ['1.2.3-rc.1', '1.2.3', 0],
    ['1.2.3+build', '1.2.3-alpha', 0],
  ])('only major.minor.patch of %s and %s are compared', (a, b, expected) => {
    expect(Math.sign(compareReleases(a, b))).toBe(expected);
    expect(Math.sign(compareReleases(b, a))).toBe(-expected + 0);
  });

  test.each(['1.2', 'v1.2.3', '1.2.3.4', '01.2.3', '', '1.2.x'])('%j is no release', (text) => {
    expect(isRelease(text)).toBe(false);
  });
});

describe('which row of the table holds, the first that does', () => {
  const local = bundle('0.3.0', '0.2.0');
  test.each([
    ['no status', null, 'noStatus'],
    ['S equals Done', status('Done', '0.3.0', '0.2.0'), 'done'],
    ['the same, still Working', status('Working', '0.3.0', '0.2.0'), 'suited'],
    ['L > V and C = M', status('Done', '0.2.0', '0.2.0'), 'suited'],
    ['L = V and C > M', status('Done', '0.3.0', '0.3.0'), 'suited'],
    ['L > V and C > M', status('Working', '0.2.5', '0.2.1'), 'suited'],
    ['L > V and C < M', status('Done', '0.2.0', '0.1.0'), 'unsuited'],
    ['L < V and C = M', status('Done', '0.4.0', '0.2.0'), 'unsuited'],
    ['L < V and C < M', status('Working', '0.4.0', '0.1.0'), 'unsuited'],
    ['L = V and C < M', status('Done', '0.3.0', '0.1.9'), 'unsuited'],
  ] as const)('%s', (_, written, row) => {
    expect(rowOf(written, local)).toBe(row);
  });
});

describe('no status', () => {
  test('is reconciled at once, without the wait, and Done is written after the first success', () => {
    const release = ledBy({ bundle: bundle('0.3.0', '0.2.0') });
    expect(release.state).toBe('leading.applying.working');
    expect(release.asked().map(({ type }) => type)).toEqual(['release.round']);
    release.round(clean);
    expect(release.writes()).toEqual({ status: done('0.3.0', '0.2.0'), epoch: null, fence: 7 });
    expect(release.state).toBe('leading.keeping.resting');
  });

  test('one that cannot be read counts as missing, and is warned of', () => {
    const unreadable = { sequence: 9, status: null, unreadable: 'no JSON' };
    const release = ledBy({ bundle: bundle('0.3.0', '0.2.0'), seen: unreadable });
    expect(release.state).toBe('leading.applying.working');
    expect(release.askedOf('release.report')).toMatchObject([{ level: 'warn', error: 'no JSON' }]);
    release.round(clean);
    expect(release.writes()?.status).toEqual(done('0.3.0', '0.2.0'));
  });
});

describe('S equals Done', () => {
  test('nothing is written before or after; 5 s are let pass before the first request', () => {
    const release = ledBy({ bundle: bundle('0.3.0', '0.2.0'), seen: seen(status('Done', '0.3.0', '0.2.0')) });
    expect(release.state).toBe('leading.lettingEnd');
    release.wait(4_999);
    expect(release.asked().map(({ type }) => type)).toEqual(['release-resource.write']);
    release.wait(1);
    expect(release.askedOf('release.round')).toHaveLength(1);
    release.round(clean);
    expect(release.state).toBe('leading.keeping.resting');
    expect(release.writes()).toBeNull();
  });

  test('kinds of an older bundle are forgotten once their objects are pruned', () => {
    const old = [...kinds, { apiVersion: 'v1', kind: 'Secret' }];
    const written = { ...status('Done', '0.3.0', '0.2.0'), kinds: old };
    const release = ledBy({ bundle: bundle('0.3.0', '0.2.0'), seen: seen(written) }).wait(5_000);
    expect(release.askedOf('release.round')).toMatchObject([{ kinds: old }]);
    expect(release.round(clean).writes()?.status).toEqual(done('0.3.0', '0.2.0'));
  });
});

describe('L ≥ V and C ≥ M', () => {
  test('Working is written with V and C as they are, then 5 s, then the round, then Done', () => {
    const release = ledBy({ bundle: bundle('0.3.0', '0.2.0'), seen: seen(status('Done', '0.2.0', '0.2.0')) });
    expect(release.state).toBe('leading.announcing.suited');
    expect(release.writes()).toEqual({ status: status('Working', '0.2.0', '0.2.0'), epoch: null, fence: 7 });
    expect(release.state).toBe('leading.lettingEnd');
    expect(release.wait(4_999).askedOf('release.round')).toEqual([]);
    expect(release.wait(1).askedOf('release.round')).toHaveLength(1);
    expect(release.round(clean).writes()?.status).toEqual(done('0.3.0', '0.2.0'));
  });

  test('a state that is Working already is not written again', () => {
    const written = seen(status('Working', '0.2.0', '0.2.0'));
    const release = ledBy({ bundle: bundle('0.3.0', '0.2.0'), seen: written });
    expect(release.state).toBe('leading.lettingEnd');
    expect(release.askedOf('release-status.write')).toEqual([]);
    expect(release.wait(5_000).state).toBe('leading.applying.working');
  });

  test('kinds of the older bundle stay known until their objects are pruned', () => {
    const old = { apiVersion: 'v1', kind: 'Secret' };
    const written = seen({ ...status('Done', '0.2.0', '0.2.0'), kinds: [old] });
    const release = ledBy({ bundle: bundle('0.3.0', '0.2.0'), seen: written });
    expect(release.writes()?.status.kinds).toEqual([old, ...kinds]);
    expect(release.wait(5_000).askedOf('release.round')).toMatchObject([{ kinds: [old, ...kinds] }]);
  });
});

describe('else: L < V or C < M', () => {
  const newer = {
    bundle: bundle('0.3.0', '0.3.0'),
    seen: seen(status('Done', '0.2.0', '0.1.0')),
  };

  test('with no node in the way {Working, min(V, L), max(C, M)} is written under the epoch that was looked at', () => {
    const release = ledBy({ ...newer, nodes: [node('orrery-1', '0.3.0')], epoch: 12 });
    expect(release.state).toBe('leading.announcing.unsuited');
    expect(release.writes()).toEqual({ status: status('Working', '0.2.0', '0.3.0'), epoch: 12, fence: 7 });
    expect(release.state).toBe('leading.lettingEnd');
    expect(release.wait(5_000).round(clean).writes()?.status).toEqual(done('0.3.0', '0.3.0'));
  });

  test('an older bundle takes the state back in the same way (L < V)', () => {
    const release = ledBy({ bundle: bundle('0.1.0', '0.1.0'), seen: seen(status('Done', '0.4.0', '0.2.0')) });
    expect(release.writes()?.status).toEqual(status('Working', '0.1.0', '0.2.0'));
    expect(release.wait(5_000).round(clean).writes()?.status).toEqual(done('0.1.0', '0.1.0'));
  });

  test('it waits while a node is older than M, says for whom, and goes on when the node has gone', () => {
    const nodes = [node('orrery-0', '0.2.0'), node('orrery-1', '0.3.0')];
    const release = ledBy({ ...newer, nodes, epoch: 12 });
    expect(release.state).toBe('leading.waitingForNodes');
    expect(release.context.waitingFor).toEqual(['orrery-0 (0.2.0) is older than 0.3.0 (minServingRelease)']);
    expect(release.askedOf('release-resource.write')).toMatchObject([
      {
        status: { waitingFor: expect.stringContaining('orrery-0 (0.2.0)') },
        note: { eventType: 'Warning', reason: 'ReleaseBlocked' },
      },
    ]);
    release.wait(29_000);
    expect(release.state).toBe('leading.waitingForNodes');
    release.wait(91_000);
    expect(release.state).toBe('leading.heldUp');
    const told = release.askedOf('release-resource.write');
    expect(told.map(({ note }) => note)).toEqual(told.map(() => null));
    release.observes([node('orrery-1', '0.3.0')], 12);
    expect(release.state).toBe('leading.announcing.unsuited');
    expect(release.writes()).toMatchObject({ epoch: 12 });
    expect(release.context.waitingFor).toEqual([]);
  });

  test('it waits while a node is newer than L', () => {
    const release = ledBy({ ...newer, nodes: [node('orrery-2', '0.4.0')] });
    expect(release.context.waitingFor).toEqual([
      'orrery-2 (0.4.0) is newer than 0.3.0, the release of this bundle',
    ]);
  });

  test('a replica without a bundle counts as a node with the release of its program', () => {
    const other = { replica: 'orrery-9', release: '0.1.0', bundle: null };
    expect(hinderingNodes([other], bundle('0.3.0', '0.2.0'))).toHaveLength(1);
    expect(hinderingNodes([other], bundle('0.3.0', '0.1.0'))).toEqual([]);
  });

  test('a node that appears between look and write: the write is refused, it looks again and waits for the node', () => {
    const release = ledBy({ ...newer, nodes: [node('orrery-1', '0.3.0')], epoch: 12 });
    expect(release.askedOf('release-status.write')).toMatchObject([{ epoch: 12 }]);
    release.take({ type: 'status.refused', fence: 7, by: 'nodes' });
    expect(release.state).toBe('leading.lookingAgain');
    release.observes([node('orrery-0', '0.1.0'), node('orrery-1', '0.3.0')], 13);
    expect(release.state).toBe('leading.waitingForNodes');
    release.observes([node('orrery-1', '0.3.0')], 13);
    expect(release.writes()).toMatchObject({ epoch: 13 });
  });

  test('the node may be heard of before the refusal', () => {
    const release = ledBy({ ...newer, nodes: [node('orrery-1', '0.3.0')], epoch: 12 });
    release.observes([node('orrery-0', '0.1.0')], 13);
    expect(release.state).toBe('leading.announcing.unsuited');
    release.take({ type: 'status.refused', fence: 7, by: 'nodes' });
    expect(release.state).toBe('leading.waitingForNodes');
  });

  test('a refusal that no news explains is tried again after a second, not at once', () => {
    const release = ledBy({ ...newer, nodes: [], epoch: 12 });
    release.asked();
    release.take({ type: 'status.refused', fence: 7, by: 'nodes' });
    expect(release.wait(999).askedOf('release-status.write')).toEqual([]);
    expect(release.wait(1).askedOf('release-status.write')).toHaveLength(1);
  });
});

describe('a replica may serve', () => {
  const at = (release: string, minReconciler: string) => ({
    release,
    bundle: { name: 'platform', minReconciler },
  });
  test.each([
    ['Done', '0.2.0', '0.1.0', '0.1.0', '0.1.0', true],
    ['Working', '0.2.0', '0.1.0', '0.1.0', '0.1.0', true],
    ['Done', '0.2.0', '0.2.0', '0.1.0', '0.1.0', false],
    ['Done', '0.1.0', '0.1.0', '0.2.0', '0.2.0', false],
    ['Working', '0.2.0', '0.3.0', '0.3.0', '0.2.0', true],
  ] as const)('%s, V %s, C %s: L %s, R %s → %s', (state, v, c, l, r, may) => {
    const reason = unsuitedFor(seen(status(state, v, c)), at(l, r));
    expect(reason === null).toBe(may);
    if (!may) expect(reason).toMatch(/release\/_\/platform/);
  });

  test('not before there is a status, and not with one that cannot be read; without a bundle always', () => {
    expect(unsuitedFor(nothing, at('0.1.0', '0.1.0'))).toMatch(/has no status yet/);
    expect(unsuitedFor({ ...nothing, unreadable: 'bad' }, at('0.1.0', '0.1.0'))).toMatch(
      /cannot be read: bad/,
    );
    expect(unsuitedFor(nothing, { release: '0.1.0', bundle: null })).toBeNull();
  });
});
