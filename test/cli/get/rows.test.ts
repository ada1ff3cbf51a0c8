/** The table of `orrery get`: order, columns of a kind, what is cut short. */
import { describe, expect, test } from 'vitest';
import type { ActorSummary, Fact, Health } from '../../../src/base/views.ts';
import { sorted, type TableOptions, tableOf } from '../../../src/cli/get/rows.ts';

const hour = 3_600_000;
const now = 1_000 * hour;
const actor = (name: string, health: Health, more: Partial<ActorSummary> = {}): ActorSummary => ({
  id: `domain/_/${name}`,
  state: 'settled',
  since: now - hour,
  owner: 'r1',
  shard: 3,
  rev: 12,
  nextTimer: null,
  lastError: null,
  parked: false,
  reason: { text: `${name} stands so`, health, since: now - 2 * hour, next: null },
  ...more,
});
const options: TableOptions = { isWide: false, hasFacts: false, now, style: (_, text) => text };
const expires = (hours: number): Fact => ({ label: 'Expires', value: now + hours * hour, unit: 'time' });
const names = (actors: readonly ActorSummary[]) => actors.map(({ id }) => id.slice('domain/_/'.length));

describe('order', () => {
  test('parked, then wrong, waiting, ok; of the same health what has been in trouble for longest', () => {
    const older = { text: '', health: 'wrong', since: now - 9 * hour, next: null } as const;
    const actors = [
      actor('fine', 'ok'),
      actor('asked', 'waiting'),
      actor('broken', 'wrong'),
      actor('long-broken', 'wrong', { reason: older }),
      actor('parked', 'wrong', { parked: true }),
      actor('also-fine', 'ok'),
    ];
    expect(names(sorted(actors, undefined, options))).toEqual([
      'parked',
      'long-broken',
      'broken',
      'asked',
      'also-fine',
      'fine',
    ]);
  });

  test('what is well comes by its end, the soonest first, and then by name', () => {
    const ends = (hours: number) => ({ facts: [{ ...expires(hours), ends: true as const }] });
    const actors = [
      actor('b', 'ok'),
      actor('late', 'ok', ends(9)),
      actor('soon', 'ok', ends(1)),
      actor('a', 'ok'),
      actor('wrong', 'wrong', ends(20)),
    ];
    expect(names(sorted(actors, undefined, options))).toEqual(['wrong', 'soon', 'late', 'a', 'b']);
  });

  test('by a column of facts, by value and not by its words; what has none comes last', () => {
    const facts = { ...options, hasFacts: true };
    const actors = [
      actor('none', 'ok', { facts: [] }),
      actor('in-10-hours', 'ok', { facts: [expires(10)] }),
      actor('in-9-hours', 'ok', { facts: [expires(9)] }),
      actor('over', 'ok', { facts: [expires(-1)] }),
    ];
    expect(names(sorted(actors, 'expires', facts))).toEqual(['over', 'in-9-hours', 'in-10-hours', 'none']);
    expect(names(sorted(actors, '-expires', facts))).toEqual(['in-10-hours', 'in-9-hours', 'over', 'none']);
  });

  test('a column that there is none of is refused, with those that there are', () => {
    expect(() => sorted([actor('a', 'ok')], 'colour', options)).toThrow(
      '--sort-by: "colour" is not allowed; allowed: id, health, state, since, owner, shard, revision, next, last-error, reason',
    );
  });
});

describe('columns', () => {
  test('the reason is last and cut short, but not in wide tables', () => {
    const reason = {
      text: `held back:\n${'shop/lacking '.repeat(20)}`,
      health: 'waiting',
      since: now - 42_000,
      next: null,
    } as const;
    const [heading = '', row = ''] = tableOf([actor('a', 'waiting', { reason })], options).split('\n');
    expect(heading).toMatch(/^ID +HEALTH +STATE +SINCE +REASON$/);
    expect(row).toMatch(/^domain\/_\/a +waiting +settled +42s +held back: shop\/lacking .*…$/);
    const wide = tableOf([actor('a', 'waiting', { reason })], { ...options, isWide: true });
    expect(wide).toMatch(/OWNER +SHARD +REVISION +NEXT +LAST ERROR +REASON/);
    expect(wide).not.toContain('…');
  });

  test('a trouble is told whole, with what to do about it, unless it is very long', () => {
    const advice = 'add it to the spec.domains of one';
    const shown = (text: string) =>
      tableOf([actor('a', 'wrong', { reason: { text, health: 'wrong', since: 0, next: null } })], options);
    expect(shown(`${'x'.repeat(200)}: ${advice}`)).toContain(advice);
    expect(shown(`${'x'.repeat(300)}: ${advice}`)).toMatch(/x…$/m);
  });

  test('facts of a kind stand between, each under its label', () => {
    const actors = [
      actor('a', 'ok', { facts: [expires(30 * 24), { label: 'Issuer', value: 'letsencrypt' }] }),
      actor('b', 'ok', { facts: [{ label: 'Issuer', value: 'internal' }] }),
    ];
    const lines = tableOf(actors, { ...options, hasFacts: true }).split('\n');
    expect(lines[0]).toMatch(/SINCE +EXPIRES +ISSUER +REASON/);
    expect(lines[1]).toMatch(/in 30d +letsencrypt +a stands so/);
    expect(lines[2]).toMatch(/ - +internal +b stands so/);
  });
});
