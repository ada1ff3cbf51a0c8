/**
 * `npm run new-feature`: what it writes is formatted, typed, tested and known to the program, without another
 * edit.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readOptions } from '../scripts/new-feature/scaffold.ts';

const root = join(import.meta.dirname, '..');
let copy: string;
let written: string[];

const run = (command: string, ...args: readonly string[]) =>
  execFileSync(join(root, 'node_modules/.bin', command), args, {
    cwd: copy,
    encoding: 'utf8',
    stdio: 'pipe',
  });

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'orrery-new-feature-'));
  for (const name of [
    'src',
    'test',
    'scripts',
    'packages',
    'docs',
    'examples',
    'package.json',
    'tsconfig.json',
    'biome.json',
    'vitest.config.ts',
  ])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const out = run('node', 'scripts/new-feature.ts', 'drain', '--watch', 'v1/Node');
  written = [...out.matchAll(/^wrote (.+)$/gm)].map(([, path = '']) => path);
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

describe('a scaffolded feature', () => {
  test('is one folder in features, one in machines, their tests and page, and a line in two lists', () => {
    const places = new Set(written.map((path) => path.replace(/\/[^/]+$/, '')));
    expect([...places].sort()).toEqual([
      'docs',
      'docs/features',
      'src/features/drain',
      'src/machines/drain',
      'src/replica',
      'test/features/drain',
      'test/machines/drain',
    ]);
    const list = readFileSync(join(copy, 'src/replica/features.ts'), 'utf8').split('\n');
    const before = readFileSync(join(root, 'src/replica/features.ts'), 'utf8').split('\n');
    expect(list.filter((line) => !before.includes(line))).toEqual([
      "import { drain } from '../features/drain/feature.ts';",
      '    drain(),',
    ]);
  });

  test('is formatted and typed as the house is', () => {
    const files = written.filter((path) => path.endsWith('.ts'));
    run('biome', 'check', '--error-on-warnings', '--vcs-enabled=false', ...files);
    const own = { extends: './tsconfig.json', include: [], files: [...files, 'src/replica/features.ts'] };
    writeFileSync(join(copy, 'tsconfig.drain.json'), JSON.stringify(own));
    expect(run('tsc', '-p', 'tsconfig.drain.json')).toBe('');
  }, 120_000);

  test('its actor steps on the memory bus, its chart is walked, and the commands know it', () => {
    const out = run(
      'vitest',
      'run',
      'test/features/drain',
      'test/machines/graph.test.ts',
      '-t',
      'drain|annotation',
    );
    expect(out).toMatch(/\d+ passed, 0 failed/);
    expect(run('node', 'src/main.ts', 'chart', 'drain')).toContain('drain, version 1');
  }, 120_000);

  test('is not written over', () => {
    expect(() => run('node', 'scripts/new-feature.ts', 'drain')).toThrow(/is there already/);
  });
});

test.each([
  [['Drain'], {}, /NAME: "Drain" is not allowed/],
  [[], {}, /NAME: "" is not allowed/],
  [['drain'], { kind: 'a-b' }, /--kind: "a-b" is not allowed/],
  [['drain'], { watch: 'Node' }, /--watch: "Node" is not allowed/],
])('%j %j is refused with what is allowed', (names, values, complaint) => {
  expect(() => readOptions(names, values)).toThrow(complaint);
});
