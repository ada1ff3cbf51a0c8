/**
 * Chromium, for the tests that look at the inspector: that of the environment, that of the machine, or
 * Debian's, fetched into `.tools/chromium` together with the libraries that the machine lacks.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchWithApt } from './apt.mjs';
import { SetupError, say } from './run.mjs';

/** Chromium without what only windows need: less to fetch, and its main process computes a third as much. */
const shell = 'chromium-headless-shell';
const byHand =
  'The tests of the inspector need Chromium: install it and put it on PATH, or set CHROMIUM to its path.';

/**
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ file: string, libraries: string } | undefined} the program, and folders of libraries for it, as
 * in PATH
 */
export function findChromium(root, env) {
  if (env.CHROMIUM) return { file: env.CHROMIUM, libraries: '' };
  const folders = (env.PATH ?? '').split(delimiter);
  const names = [shell, 'chromium', 'chromium-browser', 'google-chrome'];
  const onPath = folders
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((file) => existsSync(file));
  if (onPath) return { file: onPath, libraries: '' };
  const unpacked = join(root, '.tools', 'chromium');
  const file = [shell, 'chromium']
    .map((name) => join(unpacked, 'usr', 'lib', 'chromium', name))
    .find((candidate) => existsSync(candidate));
  const folder = join(
    unpacked,
    'usr',
    'lib',
    process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu',
  );
  // PulseAudio keeps one library in a folder of its own.
  const libraries = [folder, join(folder, 'pulseaudio')].join(delimiter);
  return file === undefined ? undefined : { file, libraries };
}

/**
 * Without a browser, the tests that need one are skipped and say so; the others still run.
 *
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 */
export function ensureChromium(root, env) {
  if (findChromium(root, env)) return;
  try {
    const tools = join(root, '.tools');
    fetchWithApt({ tools, name: 'chromium', suite: '', pkg: shell, withDependencies: true, byHand });
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(`${error.message}\nsetup: without it those tests are left out`);
  }
}
