/** The generated documentation is what the program says of itself today. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { clusterLimits } from '../packages/dev-cluster/limits.ts';
import { apiLimits } from '../packages/kube-api/limits.ts';
import { generatedPages } from '../scripts/docs/pages.ts';
import { limitTable } from '../scripts/docs/tables.ts';
import { limits } from '../src/base/limits.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '');

describe('generated pages', () => {
  test.each([...generatedPages(read)])('%s is up to date (else: npm run docs)', (path, text) => {
    expect(read(path)).toBe(text);
  });

  test.each([
    ['src/base/limits.ts', limits],
    ['packages/dev-cluster/limits.ts', clusterLimits],
    ['packages/kube-api/limits.ts', apiLimits],
  ])('every limit of %s has its reason', (path, values) => {
    const rows = limitTable(read(path), values).trim().split('\n').slice(2);
    expect(rows).toHaveLength(Object.keys(values).length);
    expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([]);
  });
});

describe('links', () => {
  const pages = [
    'README.md',
    'CHANGELOG.md',
    'docs/architecture.md',
    'docs/operating.md',
    'docs/simulation.md',
    'docs/inspector.md',
    'docs/machines/README.md',
  ];

  test.each(pages)('every link of %s to a file of the repository leads somewhere', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)].map(
      ([, link = '']) => link,
    );
    const broken = links.filter((link) => !existsSync(join(root, page, '..', link)));
    expect(broken).toEqual([]);
  });
});
