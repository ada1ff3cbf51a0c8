/**
 * Builds the documentation as a site, in dist-site/: `npm run docs:site`. The first run installs its tools
 * into site/node_modules, so that nobody else has to fetch them.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const site = join(root, 'site');
const options = { cwd: site, stdio: /** @type {const} */ ('inherit') };

if (!existsSync(join(site, 'node_modules', '.bin', 'vitepress'))) {
  console.log(`docs:site: installing VitePress into ${join(site, 'node_modules')} …`);
  // Not `npm ci`: it refuses a lock without the builds for platforms that a partial registry does not carry.
  execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts'], options);
}
rmSync(join(site, 'pages'), { recursive: true, force: true });
cpSync(join(root, 'docs'), join(site, 'pages'), { recursive: true });
execFileSync('node_modules/.bin/vitepress', ['build', '.'], options);
console.log(`docs:site: ${join(root, 'dist-site', 'index.html')}`);
