/**
 * Writes the signatures of the package `orrery`, from the compiler, to docs/reference/api.txt (`npm run
 * api-report`). A test compares them: a difference is a changed promise.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
export const reportFile = 'docs/reference/api.txt';
/** What features see of other rooms, besides self-explanatory names. */
const outside = ['actors/kind.d.ts', 'actors/need.d.ts', 'kube/effects/object-edit.d.ts'];
/** What features never see. */
const inside = ['calls', 'check', 'start'];

/** @param types folder of the declarations that the compiler wrote */
export function apiReportOf(types: string): string {
  const files = readdirSync(join(types, 'api'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.d.ts') && !inside.some((name) => path.endsWith(`${name}.d.ts`)))
    .sort();
  const places = [...files.map((path) => [path, `api/${path}`]), ...outside.map((path) => [path, path])];
  const texts = places.map(
    ([name, path = '']) => `// ${name}\n${readFileSync(join(types, path), 'utf8').trim()}\n`,
  );
  return `// The package orrery. Made by: npm run api-report\n\n${texts.join('\n')}`;
}

if (import.meta.main) {
  const types = mkdtempSync(join(tmpdir(), 'orrery-api-'));
  try {
    const tsc = join(root, 'node_modules/.bin/tsc');
    execFileSync(tsc, ['-p', 'tsconfig.build.json', '--outDir', types], { cwd: root, stdio: 'pipe' });
    writeFileSync(join(root, reportFile), apiReportOf(types));
  } finally {
    rmSync(types, { recursive: true, force: true });
  }
}
