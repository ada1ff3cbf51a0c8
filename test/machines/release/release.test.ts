/**
 * The release chart over time: retries, what is told how often, later rounds, drift, and each point at which
 * leadership is lost.
 */
import { describe, expect, test } from 'vitest';
import { retryDelay } from '../../../src/machines/release/release-context.ts';
import type { ReleaseResourceWrite } from '../../../src/machines/release/release-effects.ts';
import { explainRelease } from '../../../src/machines/release/release-telling.ts';
import { broken, bundle, clean, ledBy, node, nothing, type Release, seen, status } from './release-script.ts';

const applying = () => ledBy({ bundle: bundle('0.3.0', '0.2.0') });

/** One whose state is Done and whose objects stood right a moment ago. */
function resting(): Release {
  const release = applying();
  release.asked();
  release.round(clean);
  release.writes();
  release.asked();
  return release;
}

describe('the first round', () => {
  test('is repeated for ever: 100 ms × 1.5 ± 50 %, at most 60 s', () => {
    const release = applying();
    const pauses: number[] = [];
    for (let attempt = 0; attempt < 25; attempt++) {
      release.round(broken);
      expect(release.state).toBe('leading.applying.retrying');
      pauses.push(release.patience ?? -1);
      release.wait(release.patience ?? 0);
      expect(release.state).toBe('leading.applying.working');
    }
    expect(pauses.slice(0, 4)).toEqual([100, 150, 225, 338]);
    expect(pauses.at(-1)).toBe(60_000);
    for (const failures of [0, 3, 10, 1_000]) {
      expect(retryDelay(failures, 0)).toBe(
        Math.round(Math.min(100 * 1.5 ** Math.min(failures, 40), 60_000) / 2),
      );
      expect(retryDelay(failures, 0.999_999)).toBeLessThanOrEqual(60_000);
    }
  });

  test('says nothing of its errors for 2 s, then at most every 10 s', () => {
    const release = applying();
    release.asked();
    const begun = release.now;
    const told: number[] = [];
    while (release.now - begun < 60_000) {
      release.round(broken);
      for (const one of release.askedOf('release.report')) {
        expect(one).toMatchObject({ level: 'error', error: expect.stringContaining('ConfigMap shop/a: no') });
        told.push(release.now - begun);
      }
      release.wait(Math.min(release.patience ?? 0, 1_000));
      if (release.state === 'leading.applying.retrying') release.take({ type: 'release.reconcile' });
      release.askedOf('release.round');
    }
    expect(told[0]).toBeGreaterThanOrEqual(2_000);
    expect(told[0]).toBeLessThan(3_500);
    expect(told.length).toBeGreaterThan(4);
    for (let at = 1; at < told.length; at++)
      expect((told[at] ?? 0) - (told[at - 1] ?? 0)).toBeGreaterThanOrEqual(10_000);
  });

  test('its errors are told by a clock that was set back as well', () => {
    const release = applying().wait(5_000);
    release.round(broken);
    expect(release.askedOf('release-resource.write')).toHaveLength(1);
    release.now -= 2_000_000;
    release.take({ type: 'release.reconcile' });
    release.round(broken);
    expect(release.askedOf('release-resource.write')).toHaveLength(1);
    release.take({ type: 'release.reconcile' });
    release.round(broken);
    expect(release.askedOf('release-resource.write')).toEqual([]);
  });

  test('with an error in one object the state does not become Done', () => {
    const release = applying();
    release.asked();
    release.round(broken);
    expect(release.askedOf('release-status.write')).toEqual([]);
    expect(release.context.lastError).toBe('1 object failed: ConfigMap shop/a: no');
  });

  test('a round without an outcome in time is repeated', () => {
    const release = applying().wait(330_000);
    expect(release.context.failures).toBe(1);
    expect(['leading.applying.retrying', 'leading.applying.working']).toContain(release.state);
  });
});

describe('a round that takes longer than one effect may (§4.6)', () => {
  const progress = (release: Release, toGo: number) => {
    const { fence, round } = release.context;
    return release.take({ type: 'round.progressed', fence, round, toGo });
  };

  test('goes on at once, and has not failed', () => {
    const release = applying();
    release.asked();
    progress(release, 1_200);
    expect(release.state).toBe('leading.applying.working');
    expect(release.askedOf('release.round')).toHaveLength(1);
    expect(release.context).toMatchObject({ failures: 0, toGo: 1_200 });
    expect(release.round(clean).context.toGo).toBeNull();
  });

  test('so does a later one', () => {
    const release = resting().wait(30_000);
    release.asked();
    progress(release, 0);
    expect(release.state).toBe('leading.keeping.repeating');
    expect(release.askedOf('release.round')).toHaveLength(1);
    expect(release.round(clean).state).toBe('leading.keeping.resting');
  });
});

describe('later rounds', () => {
  test('come every 30 s; their errors are warnings', () => {
    const release = resting();
    expect(release.wait(29_999).askedOf('release.round')).toEqual([]);
    expect(release.wait(1).askedOf('release.round')).toHaveLength(1);
    release.round(broken);
    expect(release.state).toBe('leading.keeping.failing');
    const [report] = release.askedOf('release.report');
    expect(report).toMatchObject({ level: 'warn' });
    expect(release.patience).toBe(30_000);
    release.wait(30_000).round(clean);
    expect(release.context.lastError).toBeNull();
  });

  test('drift in an object starts one at once', () => {
    const release = resting().wait(10_000);
    release.asked();
    release.take({ type: 'drift.seen', fence: 7, object: 'ConfigMap shop/a' });
    expect(release.state).toBe('leading.keeping.repeating');
    expect(release.askedOf('release.round')).toHaveLength(1);
  });

  test('an object over which two controllers fight is repaired once a second, not in a loop', () => {
    const release = resting().wait(10_000);
    release.asked();
    for (let fight = 0; fight < 5; fight++) {
      release.take({ type: 'drift.seen', fence: 7, object: 'ConfigMap shop/a' });
      if (release.state === 'leading.keeping.repeating') release.round(clean);
    }
    expect(release.askedOf('release.round')).toHaveLength(1);
    expect(release.wait(1_000).askedOf('release.round')).toHaveLength(1);
  });

  test('§4.5: an object that something else keeps writing is put back less and less often, others at once', () => {
    const release = resting().wait(10_000);
    const contested = { type: 'drift.seen', fence: 7, object: 'ConfigMap shop/a' } as const;
    release.asked();
    const pauses: number[] = [];
    for (let fight = 0; fight < 20; fight++) {
      release.take(contested);
      const before = release.now;
      while (/pausing|contested/.test(release.state)) release.wait(release.patience ?? 0);
      pauses.push(release.now - before);
      expect(release.state).toBe('leading.keeping.repeating');
      release.round(clean);
    }
    expect(pauses.slice(1, 11)).toEqual(Array(10).fill(1_000));
    expect(pauses.slice(11)).toEqual([2_000, 4_000, 8_000, 16_000, ...Array(5).fill(30_000)]);
    const notes = release.askedOf('release-resource.write').flatMap(({ note }) => note ?? []);
    expect(notes).toMatchObject([{ eventType: 'Warning', reason: 'ReleaseContested' }]);
    expect(notes[0]?.text).toMatch(/^ConfigMap shop\/a drifted 10 times in a row/);
    release.take(contested).wait(1_500);
    expect(release.state).toBe('leading.keeping.contested');
    release.take({ ...contested, object: 'ConfigMap shop/b' });
    expect(release.state).toBe('leading.keeping.repeating');
    release.round(clean).wait(30_000).round(clean);
    release.take(contested).wait(1_000);
    expect(release.state).toBe('leading.keeping.repeating');
  });

  test('drift during a round is looked at again after it', () => {
    const release = resting().wait(30_000);
    release.take({ type: 'drift.seen', fence: 7, object: 'ConfigMap shop/a' });
    release.round(clean);
    expect(release.state).toBe('leading.keeping.pausing');
    expect(release.wait(1_000).state).toBe('leading.keeping.repeating');
  });

  test('a status that somebody took away or changed is looked at again', () => {
    const release = resting();
    release.take({
      type: 'release.observed',
      fence: 7,
      seen: { ...nothing, sequence: 900, unreadable: 'rubbish' },
      nodes: [],
      epoch: 11,
    });
    expect(release.state).toBe('leading.applying.working');
  });
});

describe('leadership is lost', () => {
  const unsuited = { bundle: bundle('0.3.0', '0.3.0'), seen: seen(status('Done', '0.2.0', '0.1.0')) };
  const suited = { bundle: bundle('0.3.0', '0.2.0'), seen: seen(status('Done', '0.2.0', '0.2.0')) };
  const refuse = (release: Release) => {
    const [write] = release.askedOf('release-status.write');
    expect(write?.fence).toBe(7);
    release.take({ type: 'status.refused', fence: 7, by: 'leadership' });
    expect(release.state).toBe('deposed');
    expect(release.asked()).toEqual([]);
  };

  test('at the write of Working: nothing follows', () => refuse(ledBy(suited)));
  test('at the write of {Working, min, max}: nothing follows', () => refuse(ledBy(unsuited)));
  test('at the write of Done: nothing follows', () => refuse(applying().round(clean)));

  test.each([
    ['in the 5 s', () => ledBy({ ...suited, seen: seen(status('Working', '0.2.0', '0.2.0')) })],
    ['while waiting for nodes', () => ledBy({ ...unsuited, nodes: [node('old', '0.1.0')] })],
    ['in the first round', applying],
    ['between rounds', resting],
  ])('%s: the next leader begins from the beginning, with its own bundle', (_, stage) => {
    const release = stage();
    release.asked();
    const next = bundle('0.4.0', '0.2.0');
    release.led({ bundle: next, seen: seen(status('Done', '0.3.0', '0.2.0'), 900), fence: 8 });
    expect(release.writes()).toEqual({ status: status('Working', '0.3.0', '0.2.0'), epoch: null, fence: 8 });
    expect(release.state).toBe('leading.lettingEnd');
    release.wait(4_999);
    expect(release.askedOf('release.round')).toEqual([]);
  });

  test('outcomes and news of an earlier leadership change nothing', () => {
    const release = applying();
    const { round } = release.context;
    const before = JSON.stringify([release.state, release.context]);
    release.take(
      { type: 'round.finished', fence: 6, round, summary: clean },
      { type: 'round.failed', fence: 6, round, message: 'old' },
      { type: 'status.written', fence: 6, status: status('Done', '0.1.0', '0.1.0'), sequence: 999 },
      { type: 'status.refused', fence: 6, by: 'leadership' },
      { type: 'release.observed', fence: 6, seen: nothing, nodes: [], epoch: 999 },
      { type: 'drift.seen', fence: 6, object: 'ConfigMap shop/a' },
    );
    expect(JSON.stringify([release.state, release.context])).toBe(before);
  });
});

describe('a write whose outcome is not known', () => {
  test.each([
    ['Working', { bundle: bundle('0.3.0', '0.2.0'), seen: seen(status('Done', '0.2.0', '0.2.0')) }],
    [
      '{Working, min, max}',
      { bundle: bundle('0.3.0', '0.3.0'), seen: seen(status('Done', '0.2.0', '0.1.0')) },
    ],
  ])('of %s is decided anew after a second', (_, stage) => {
    const release = ledBy(stage);
    release.asked();
    release.take({ type: 'status.unknown', fence: 7, message: 'no answer' });
    expect(release.wait(999).askedOf('release-status.write')).toEqual([]);
    expect(release.wait(1).askedOf('release-status.write')).toHaveLength(1);
  });

  test('of Done is written again', () => {
    const release = applying().round(clean);
    release.asked();
    release.take({ type: 'status.unknown', fence: 7, message: 'no answer' });
    expect(release.wait(1_000).askedOf('release-status.write')).toHaveLength(1);
  });
});

describe('what people are told', () => {
  test('the Release resource says state, releases, leader, what is waited for, and when all was last applied', () => {
    const release = applying();
    release.asked();
    release.round(clean);
    release.take({
      type: 'status.written',
      fence: 7,
      status: status('Done', '0.3.0', '0.2.0'),
      sequence: 200,
    });
    const [told] = release.askedOf('release-resource.write');
    expect(told).toMatchObject({
      status: {
        state: 'Done',
        release: '0.3.0',
        minimumCompatibleRelease: '0.2.0',
        leader: 'orrery-1',
        waitingFor: null,
        lastApplied: release.now,
        lastError: null,
      },
      note: { eventType: 'Normal', reason: 'ReleaseApplied' },
    });
    expect(told?.conditions).toMatchObject([
      { type: 'Applied', status: 'True' },
      { type: 'AllReplicasServe' },
      { type: 'AllReplicasHaveBundle', status: 'True' },
    ]);
  });

  test('orrery explain says which replica must not serve, and why', () => {
    const release = resting();
    release.observes([node('orrery-0', '0.1.0'), node('orrery-1', '0.3.0')], 20);
    expect(explainRelease(release.context).join('\n')).toMatch(
      /must not serve: orrery-0: release 0\.1\.0 is too old: .* needs 0\.2\.0 or newer/,
    );
  });

  test('a replica that must not serve, or that has no bundle, is told as soon as it comes and goes', () => {
    const release = resting();
    const told = () =>
      release.askedOf('release-resource.write').map(({ conditions, note }) => {
        expect(note).toBeNull();
        return conditions.slice(1).map(({ status }) => status);
      });
    const own = node('orrery-1', '0.3.0');
    release.observes([own], 20);
    release.observes([own, node('orrery-2', '0.3.0')], 21);
    expect(told()).toEqual([]);
    release.observes([own, node('orrery-0', '0.1.0')], 22);
    expect(told()).toEqual([['False', 'True']]);
    release.observes([own, { replica: 'orrery-2', release: '0.3.0', bundle: null }], 23);
    expect(told()).toEqual([['True', 'False']]);
    release.observes([own], 24);
    expect(told()).toEqual([['True', 'True']]);
    expect(release.state).toBe('leading.keeping.resting');
  });

  test('a replica without a bundle beside those with one is named in a condition (docs/features/releases.md §1.4)', () => {
    const release = applying();
    release.observes(
      [node('orrery-1', '0.3.0'), { replica: 'orrery-2', release: '0.3.0', bundle: null }],
      20,
    );
    release.asked();
    release.round(clean);
    release.take({
      type: 'status.written',
      fence: 7,
      status: status('Done', '0.3.0', '0.2.0'),
      sequence: 200,
    });
    const [told] = release.askedOf('release-resource.write');
    expect(told?.conditions).toContainEqual({
      type: 'AllReplicasHaveBundle',
      status: 'False',
      reason: 'WithoutBundle',
      message: 'without --bundle: orrery-2',
    });
  });
});

describe('what did the last deploy change? (docs/features/releases.md §6)', () => {
  const changes = (n: number) => ({
    made: [`ConfigMap shop/made-${n}`],
    changed: [{ object: 'ConfigMap shop/a', fields: [{ path: 'data.x', from: '"1"', to: `"${n}"` }] }],
    pruned: ['ConfigMap shop/old'],
    more: 0,
  });

  test('the last ten rounds that changed something are kept, over leaders; names in the status, fields in explain', () => {
    const release = resting();
    for (let n = 1; n <= 12; n++) {
      release.wait(30_000).round(n === 3 ? clean : { ...clean, changes: changes(n) });
    }
    release.led({
      bundle: bundle('0.4.0', '0.2.0'),
      seen: seen(status('Done', '0.3.0', '0.2.0'), 900),
      fence: 8,
    });
    const kept = release.context.changes;
    expect(kept.map(({ made }) => made[0])).toEqual(
      [2, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => `ConfigMap shop/made-${n}`),
    );
    const told = release.askedOf('release-resource.write').at(-1) as ReleaseResourceWrite | undefined;
    expect(told?.status.changes?.[0]).toMatchObject({
      release: '0.3.0',
      applied: ['ConfigMap shop/made-12'],
      changed: ['ConfigMap shop/a'],
      pruned: ['ConfigMap shop/old'],
    });
    expect(JSON.stringify(told?.status)).not.toContain('data.x');
    const lines = explainRelease(release.context).join('\n');
    expect(lines).toMatch(/changed at .* by orrery-1, release 0\.3\.0: 1 created, 1 changed, 1 deleted/);
    expect(lines).toContain('    data.x: "1" → "12"');
  });
});
