/**
 * The features of the program are held to what a feature of anybody's own is held to
 * (docs/decisions/0011-one-api.md).
 */
import { expect, test } from 'vitest';
import { messageForms } from '../../src/actors/message-forms.ts';
import { chartProblems } from '../../src/api/check.ts';
import { featuresOf } from '../../src/replica/features.ts';

const kinds = featuresOf().flatMap((feature) => feature.kinds);

test('every message that people may send to the kinds of the program says what it does', () => {
  const forms = [...messageForms(kinds)];
  const silent = forms.flatMap(([kind, own]) =>
    Object.entries(own).flatMap(([type, { description }]) => (description ? [] : [`${kind} ${type}`])),
  );
  expect(silent).toEqual([]);
});

test('the charts of the program pass what a feature of anybody’s own has to pass', () => {
  const durable = kinds.filter(({ chart }) => chart.durable);
  const wrong = durable.flatMap(({ chart }) => chartProblems(chart).map((one) => `${chart.name}: ${one}`));
  expect(wrong).toEqual([]);
});
