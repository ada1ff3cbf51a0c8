/** Which of two resource versions came later. */
import { expect, test } from 'vitest';
import { compareVersions, isOlderVersion } from '../../src/base/resource-version.ts';

test.each([
  ['9', '10', -1],
  ['10', '9', 1],
  ['7', '7', 0],
  ['18446744073709551615', '18446744073709551616', -1],
  ['99999999999999999999998', '99999999999999999999999', -1],
  ['0', '1', -1],
  ['abc', 'abc', 0],
  ['abc', 'abd', undefined],
  ['7', 'abc', undefined],
  // Neither is how a number is written; nothing is read into them.
  ['07', '8', undefined],
  ['-1', '8', undefined],
  ['1e3', '8', undefined],
  ['', '8', undefined],
  ['', '', undefined],
  [null, '8', undefined],
  [undefined, undefined, undefined],
] as const)('%j against %j', (a, b, order) => {
  const found = compareVersions(a, b);
  expect(found === undefined ? undefined : Math.sign(found)).toBe(order);
  expect(isOlderVersion(a, b)).toBe(order === -1);
});
