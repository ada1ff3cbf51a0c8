/**
 * What the page shows of an actor beside its chart: facts of several lines, details. A release's
 * are shown: what the last deploy changed, field by field (docs/features/releases.md §6.3).
 */
import { expect, test } from 'vitest';
import { shownSecond } from '../../src/base/words.ts';
import { changesOf } from '../../src/features/releases/object-changes.ts';
import { absence, detailsText, factLines, type Standing } from '../../src/inspector/page/actor/told.ts';
import { explainRelease } from '../../src/machines/release/release-telling.ts';
import { bundle, clean, ledBy } from '../machines/release/release-script.ts';
import { toldOf } from '../machines/told.ts';

function deployed(): Standing {
  const object = (kind: string, data: object) => ({ apiVersion: 'v1', kind, metadata: { name: 'a' }, data });
  const before = { greeting: 'hello', dbPassword: 'old' };
  const changed = [
    ['ConfigMap shop/a', before, object('ConfigMap', { greeting: 'hi', dbPassword: 'hunter2' })],
    ['Secret shop/a', { key: 'b2xk' }, object('Secret', { key: 'aHVudGVyMg==' })],
  ] as const;
  const changes = {
    made: ['ConfigMap shop/b'],
    changed: changed.map(([name, data, after]) => ({
      object: name,
      fields: changesOf({ ...after, data }, after),
    })),
    pruned: ['ConfigMap shop/old'],
    more: 0,
  };
  const release = ledBy({ bundle: bundle('0.3.0', '0.2.0') }).round({ ...clean, changes });
  release.writes();
  const { text, health, next = null, facts } = toldOf('release', release);
  return {
    reason: { text, health, since: release.now, next },
    facts: [...Object.entries(facts).map(([label, value]) => ({ label, value }))],
    notes: explainRelease(release.context),
  } as unknown as Standing;
}

test('the differences of the last rounds, with secrets masked', () => {
  const text = detailsText(deployed());
  expect(text).toContain('changed at ');
  expect(text).toContain('  made ConfigMap shop/b');
  expect(text).toContain('    data.greeting: "hello" → "hi"');
  expect(text).toContain('    data.dbPassword: … → …');
  expect(text).toContain('    data.key: … → …');
  expect(text).toContain('  deleted ConfigMap shop/old');
  expect(text).not.toMatch(/hunter2|aHVudGVyMg|b2xk/);
});

test('facts: a time says how long ago it was, a list has a line for each', () => {
  const facts = [
    { label: 'Applied', value: 1_700_000_000_000, unit: 'time' },
    { label: 'Replicas', value: 'a 0.3.0 (leads)\nb 0.3.0 (may lead)' },
    { label: 'Objects', value: 3 },
  ];
  expect(factLines({ facts }, 1_700_000_012_000)).toEqual([
    { label: 'Applied', text: '12s ago', when: shownSecond(1_700_000_000_000, false) },
    { label: 'Replicas', text: 'a 0.3.0 (leads)\nb 0.3.0 (may lead)' },
    { label: 'Objects', text: '3' },
  ]);
});

test('an actor that tells nothing has nothing to show, also one of a replica that knows no facts', () => {
  expect([factLines({}, 0), detailsText({})]).toEqual([[], '']);
});

test('an actor without a row is marked as gone only once the rows have come', () => {
  expect([absence(false), absence(true)]).toEqual([{}, { title: 'not there now', children: '×' }]);
});
