/**
 * Builds the program: the types that other programs import, the inspector's page, and the bundle. Argument:
 * the target folder, by default dist; with `--program-only` behind it, nothing for other programs.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const target = resolve(process.argv[2] ?? 'dist');
const isProgramOnly = process.argv[3] === '--program-only';
const options = { cwd: root, stdio: /** @type {const} */ ('inherit') };

for (const config of [...(isProgramOnly ? [] : ['tsconfig.build.json']), 'tsconfig.page-build.json'])
  execFileSync('node_modules/.bin/tsc', ['-p', config, '--outDir', target], options);
// An image is built from src/ alone: nobody tests there.
const isTesting = !isProgramOnly && existsSync(resolve(root, 'packages/testing'));
const testing = isTesting ? ['bundle-testing.mjs'] : [];
for (const script of ['copy-assets.mjs', 'bundle.mjs', ...testing])
  execFileSync(process.execPath, [`scripts/${script}`, target], options);
