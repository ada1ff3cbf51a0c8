/**
 * Makes the program ready to be packed (`npm pack`), even in a clean clone: installs what the build needs and
 * builds. Plain JavaScript, no dependencies. Its output goes to stderr, because programs read that of `npm
 * pack --json`.
 */
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensurePackages } from './setup/packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

ensurePackages(root);
execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: ['ignore', 2, 2] });
