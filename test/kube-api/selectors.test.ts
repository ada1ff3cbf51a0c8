import { describe, expect, test } from 'vitest';
import { parseFieldSelector } from '../../packages/kube-api/selectors/fields.ts';
import { matchesLabels, parseLabelSelector } from '../../packages/kube-api/selectors/labels.ts';
import { ApiError } from '../../packages/kube-api/status.ts';
import { fc, test as property } from './properties.ts';

describe('label selectors', () => {
  test.each([
    ['app', { key: 'app', operator: 'exists', values: [] }],
    ['!app', { key: 'app', operator: 'absent', values: [] }],
    ['app=web', { key: 'app', operator: 'in', values: ['web'] }],
    ['app = web', { key: 'app', operator: 'in', values: ['web'] }],
    ['app=', { key: 'app', operator: 'in', values: [''] }],
    ['example.com/app in (a, b,)', { key: 'example.com/app', operator: 'in', values: ['a', 'b', ''] }],
    ['app notin (a)', { key: 'app', operator: 'notin', values: ['a'] }],
    ['size>3', { key: 'size', operator: 'gt', values: ['3'] }],
  ])('"%s" is understood', (text, requirement) => {
    expect(parseLabelSelector(text)).toEqual([requirement]);
  });

  test.each([
    'a in',
    'a in (',
    'a in (b',
    'a in (b c)',
    'a,',
    ',a',
    'a=b=c',
    '(a)',
    'a>x',
    '-a',
    'a=-b',
    'a>-3',
  ])('"%s" is refused', (text) => {
    expect(() => parseLabelSelector(text)).toThrow(ApiError);
  });

  const word = fc.stringMatching(/^[a-z]([-a-z0-9]{0,8}[a-z0-9])?$/);
  const labels = fc.dictionary(word, word, { maxKeys: 4 });

  property([labels], 'equality with all labels of an object selects it', (own) => {
    const text = Object.entries(own)
      .map(([key, value]) => `${key}=${value}`)
      .join(',');
    expect(matchesLabels(parseLabelSelector(text), own)).toBe(true);
  });

  property([labels, word, word], '"in" and "notin" are opposites', (own, key, value) => {
    const isIn = matchesLabels(parseLabelSelector(`${key} in (${value})`), own);
    expect(matchesLabels(parseLabelSelector(`${key} notin (${value})`), own)).toBe(!isIn);
  });

  property([fc.string()], 'any text is understood or refused', (text) => {
    try {
      parseLabelSelector(text);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(ApiError);
    }
  });
});

describe('field selectors', () => {
  test('terms are separated by commas, which may be escaped', () => {
    expect(parseFieldSelector('a=b,c!=d,e==f\\,g')).toEqual([
      { field: 'a', value: 'b', isEqual: true },
      { field: 'c', value: 'd', isEqual: false },
      { field: 'e', value: 'f,g', isEqual: true },
    ]);
    expect(parseFieldSelector('')).toEqual([]);
  });

  test('a term without a sign is refused', () => {
    expect(() => parseFieldSelector('nothing')).toThrow(
      "invalid selector: 'nothing'; can't understand 'nothing'",
    );
  });
});
