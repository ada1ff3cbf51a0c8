/** The generated documentation is what the program says of itself today. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { generatedPages } from '../scripts/docs/pages.ts';
import { limitTable } from '../scripts/docs/tables.ts';
import { limits } from '../src/base/limits.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '');

describe('generated pages', () => {
  test.each([...generatedPages(read)])('%s is up to date (else: npm run docs)', (path, text) => {
    expect(read(path)).toBe(text);
  });

  test('every limit has its reason', () => {
    const rows = limitTable(read('src/base/limits.ts')).trim().split('\n').slice(2);
    expect(rows).toHaveLength(Object.keys(limits).length);
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
