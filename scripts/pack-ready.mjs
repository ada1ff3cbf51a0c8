/**
 * Makes the program ready to be packed (`npm pack`), from a clean clone too: installs what the build needs
 * and builds. Plain JavaScript, no dependencies. What it says goes to stderr: `npm pack --json` is read by
 * programs.
 */
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensurePackages } from './setup/packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

ensurePackages(root);
execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: ['ignore', 2, 2] });
