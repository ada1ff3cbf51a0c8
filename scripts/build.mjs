/**
 * Builds the program: the types that other programs import, the inspector's page, and the bundle. Argument:
 * the target folder, by default dist; with `--program-only` behind it, nothing for other programs.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiling } from './compiling.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const target = resolve(process.argv[2] ?? 'dist');
const isProgramOnly = process.argv[3] === '--program-only';
const options = { cwd: root, stdio: /** @type {const} */ ('inherit') };

// An image is built from src/ alone: nobody tests there.
const isTesting = !isProgramOnly && existsSync(resolve(root, 'packages/testing'));
const testing = isTesting ? ['bundle-testing.mjs'] : [];
// With `orrery/testing` come the types of `orrery`: the compiler reads its sources once for both.
const types = isProgramOnly || isTesting ? [] : ['tsconfig.build.json'];
for (const config of [...types, 'tsconfig.page-build.json'])
  execFileSync('node_modules/.bin/tsc', ['-p', config, '--outDir', target], { ...options, env: compiling });
for (const script of ['copy-assets.mjs', 'bundle.mjs', ...testing])
  execFileSync(process.execPath, [`scripts/${script}`, target], options);
