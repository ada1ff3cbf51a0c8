/**
 * The program as tests start it in processes of its own: bundled, as it is installed. From its sources every
 * process would look up and strip a thousand modules, four fifths of its start.
 *
 * The run builds it before the first file begins (sequencer.ts), unless it is there for just these sources or
 * ORRERY_TEST_PROGRAM names another: `src/main.ts`, to see lines of the sources in stack traces. If a file of
 * the run wants the whole package (package.ts), that is built instead, once, and the program is a part of it.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';

const root = resolve(import.meta.dirname, '../..');
const variable = 'ORRERY_TEST_PROGRAM';
/** The folder of the package; absent: no file of the run wants it. */
export const packageVariable = 'ORRERY_TEST_PACKAGE';
/** In the folder of a build, beside dist/: what the build printed. */
export const saidFile = 'said.txt';
/** Modules of the page find their packages from here. */
const cache = join(root, 'node_modules/.cache/orrery-tests');
/** A build that no run has asked for since is removed. */
const keptMs = 30 * 60_000;

const { [variable]: named } = process.env;
/** File of the program: an argument of Node. */
export const program = resolve(root, named ?? 'src/main.ts');

/** Of worker processes that begin after it. */
export async function provideProgram(sort: 'program' | 'package'): Promise<void> {
  const isOwn = (name: string) => process.env[name] === undefined || process.env[name] === provided.get(name);
  const isWanted = isOwn(variable) || (sort === 'package' && isOwn(packageVariable));
  if (!isWanted) return;
  const folder = await built(sort);
  const places = {
    [variable]: join(folder, 'dist/main.js'),
    ...(sort === 'package' && { [packageVariable]: folder }),
  };
  for (const [name, place] of Object.entries(places).filter(([one]) => isOwn(one))) {
    provided.set(name, place);
    process.env[name] = place;
  }
}
const provided = new Map<string, string>();

async function built(sort: 'program' | 'package'): Promise<string> {
  const key = `${digestOf(root)}-${digestOf(sources())}`;
  const whole = join(cache, `package-${key}`);
  const folder = existsSync(whole) ? whole : join(cache, `${sort}-${key}`);
  if (!existsSync(folder)) await build(folder, sort);
  const now = systemClock.now() / 1_000;
  utimesSync(folder, now, now);
  for (const name of readdirSync(cache)) removeIfOld(join(cache, name));
  return folder;
}

function removeIfOld(folder: string): void {
  const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? { mtimeMs: 0 };
  if (mtimeMs < systemClock.now() - keptMs) rmSync(folder, { recursive: true, force: true });
}

/** Whatever the bundles come from: names, sizes and times of change. */
function sources(): string {
  const patterns = ['src/**/*.*', 'packages/**/*.*', 'scripts/*.mjs', 'package*.json', 'tsconfig*.json'];
  const files = globSync(patterns, { cwd: root });
  const facts = files.sort().map((file) => {
    const { size, mtimeMs } = statSync(join(root, file));
    return `${file} ${size} ${mtimeMs}`;
  });
  return facts.join('\n');
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Whole or not at all: two runs may do it at the same time. */
async function build(folder: string, sort: 'program' | 'package'): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, 'draft-'));
  copyFileSync(join(root, 'package.json'), join(draft, 'package.json'));
  const flags = sort === 'program' ? ['--program-only'] : [];
  const build = ['scripts/build.mjs', join(draft, 'dist'), ...flags];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, build, { cwd: root }).catch(
    (error) => {
      throw new Error(`${build.join(' ')} failed: ${error.stdout}${error.stderr}`, { cause: error });
    },
  );
  writeFileSync(join(draft, saidFile), stdout + stderr);
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}
