/**
 * Sets up a working copy: installs what `npm start` and `npm test` need and the machine lacks.
 *
 * Runs on any Node from 20 on, with nothing installed: plain JavaScript, no dependencies. Silent if
 * everything is there; otherwise it says what it installs and where. Everything stays inside the working copy
 * (`node_modules/`, `.tools/`); remove the two folders to undo it. `--tests`: also what only tests need.
 * `--check`: runs `npm run check` once the packages are there, while programs are still being fetched.
 */
import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBind } from './setup/bind.mjs';
import { ensureChromium } from './setup/chromium.mjs';
import { ensureKubectl } from './setup/kubectl.mjs';
import { ensureNatsServer } from './setup/nats-server.mjs';
import { ensureNode } from './setup/node.mjs';
import { ensurePackages } from './setup/packages.mjs';
import { ensurePebble } from './setup/pebble.mjs';
import { ensurePromtool } from './setup/promtool.mjs';
import { SetupError } from './setup/run.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isForTests = process.argv.includes('--tests');

// Programs and packages come from different places: a second process fetches the programs meanwhile.
if (process.argv.includes('--tools')) report(ensureTools);
else {
  const flags = ['--tools', ...(isForTests ? ['--tests'] : [])];
  const tools = spawn(process.execPath, [fileURLToPath(import.meta.url), ...flags], { stdio: 'inherit' });
  const fetched = endOf(tools);
  report(ensureProgram);
  const isToCheck = process.argv.includes('--check') && process.exitCode === undefined;
  const check = isToCheck ? endOf(spawn('npm', ['run', '--silent', 'check'], { stdio: 'inherit' })) : 0;
  if ((await fetched) !== 0 || (await check) !== 0) process.exitCode = 1;
}

/** @param {import('node:child_process').ChildProcess} child @returns {Promise<unknown>} its exit code */
function endOf(child) {
  return new Promise((resolve) => child.once('close', resolve).once('error', resolve));
}

function ensureProgram() {
  ensurePackages(root);
  ensureNode(root);
}

function ensureTools() {
  ensureNatsServer(root, process.env);
  if (!isForTests) return;
  ensurePebble(root, process.env);
  ensurePromtool(root, process.env);
  ensureChromium(root, process.env);
  ensureBind(root, process.env);
  ensureKubectl(root, process.env);
}

/** @param {() => void} step */
function report(step) {
  try {
    step();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`setup: ${error.message}\n`);
    process.exitCode = 1;
  }
}
