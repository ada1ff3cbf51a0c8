/** npm packages: runs `npm ci` when node_modules/ differs from package-lock.json. */
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run, say } from './run.mjs';

/**
 * @typedef {{ version?: string, optional?: boolean, link?: boolean }} LockedPackage
 * @typedef {{ packages: Record<string, LockedPackage> }} Lock
 */

/** npm's own retries take more than a minute before it says that there is no network. */
const patience = ['--fetch-retries=2', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=3000'];

/** @param {string} root */
export function ensurePackages(root) {
  const wanted = readLock(join(root, 'package-lock.json'));
  const installed = readLock(join(root, 'node_modules', '.package-lock.json'));
  const difference = firstDifference(wanted, installed);
  if (difference === undefined) return;
  say(
    `installing the npm packages of package-lock.json into ${join(root, 'node_modules')} (${difference}) …`,
  );
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--engine-strict=false'];
  npm(root, ['ci', ...quiet, ...patience], 'npm ci');
}

/**
 * Why the installed packages are not the wanted ones; undefined if they are. Contents are compared instead of
 * file times, because a checkout touches files without changing them.
 *
 * @param {Lock | undefined} wanted
 * @param {Lock | undefined} installed
 * @returns {string | undefined}
 */
export function firstDifference(wanted, installed) {
  if (!installed) return 'nothing is installed yet';
  for (const [path, { version, optional }] of Object.entries(wanted?.packages ?? {})) {
    if (path === '' || optional) continue;
    const have = installed.packages[path]?.version;
    if (have !== version)
      return `${path.replace(/^.*node_modules\//, '')}: ${have ?? 'missing'} → ${version}`;
  }
  return undefined;
}

/**
 * Runs npm with the node and the npm that run this script, not with those that npm is about to replace.
 *
 * @param {string} root
 * @param {readonly string[]} args
 * @param {string} what
 */
export function npm(root, args, what) {
  const { npm_execpath: cli, npm_node_execpath: node, PATH = '' } = process.env;
  const path = PATH.split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const env = { ...process.env, PATH: path.join(delimiter) };
  const outside = node && !node.includes('node_modules') ? node : 'node';
  if (cli && existsSync(cli)) run(outside, [cli, ...args], { cwd: root, env, what });
  else run('npm', args, { cwd: root, env, what });
}

/**
 * @param {string} file
 * @returns {Lock | undefined}
 */
function readLock(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
