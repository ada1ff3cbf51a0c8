/**
 * The signatures of the package are a promise: whoever changes one renews the report, and sees what it is.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { apiReportOf, reportFile } from '../../scripts/api-report.ts';
import { builtPackage } from '../suite/package.ts';

test('docs/reference/api.txt is what the compiler says (else: npm run api-report)', () => {
  const report = readFileSync(join(import.meta.dirname, '../..', reportFile), 'utf8');
  expect(apiReportOf(join(builtPackage(), 'dist'))).toBe(report);
});
