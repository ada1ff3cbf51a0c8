/** The built program, as the image runs it: plain JavaScript, without the sources. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type * as PageFilesModuleType from '../../src/inspector/http/page-files.ts';

type PageFilesModule = typeof PageFilesModuleType;

const root = join(import.meta.dirname, '../..');
let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-build-'));
  cpSync(join(root, 'package.json'), join(dir, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  const tsc = join(root, 'node_modules/.bin/tsc');
  for (const config of ['tsconfig.build.json', 'tsconfig.page-build.json']) {
    execFileSync(tsc, ['-p', join(root, config), '--outDir', join(dir, 'dist')], { stdio: 'pipe' });
  }
  execFileSync(process.execPath, [join(root, 'scripts/copy-assets.mjs'), join(dir, 'dist')]);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const built = (...args: string[]) =>
  execFileSync(process.execPath, [join(dir, 'dist/main.js'), ...args], { encoding: 'utf8' });

test('the built program finds its parts and its version', () => {
  expect(built('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(built('--help')).toContain('orrery');
  expect(built('chart', 'pod', '--format', 'json')).toContain('"name": "pod"');
});

test('the built page is whole: each module that it asks for is there, and the drawings of the charts', async () => {
  const { createPageFiles } = (await import(join(dir, 'dist/inspector/http/page-files.js'))) as PageFilesModule;
  const files = createPageFiles();
  const page = files.page().plain.toString('utf8');
  const paths = [...page.matchAll(/(?:href|src)="\/assets\/([^"]+)"/g)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => files.file(path) === null)).toEqual([]);
  expect(files.file('inspector/page/charts/pod.json')).not.toBeNull();
  expect(files.file('inspector/page/main.ts')).toBeNull();
});

test('the health of a proxier is a function of the package, for other programs', () => {
  const script = [
    "import { createProxierHealth } from 'orrery/proxier-health';",
    'const health = createProxierHealth({ timeoutMs: 5000 });',
    "health.updated('IPv4');",
    "health.queued('IPv4', Date.now() - 5000);",
    "console.log(health.answer('livez').status, health.isHealthy());",
    'health.stop();',
  ].join('\n');
  // A program finds the package by its name from within its own folder.
  const answer = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: dir,
    encoding: 'utf8',
  });
  expect(answer).toBe('503 false\n');
  expect(existsSync(join(dir, 'dist/features/proxiers/proxier-health.d.ts'))).toBe(true);
});
