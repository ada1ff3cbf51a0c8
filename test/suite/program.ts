/**
 * The program as tests start it in processes of its own: bundled, as it is installed. From its sources every
 * process would look up and strip a thousand modules, four fifths of its start.
 *
 * The run builds it before the first file begins (sequencer.ts), unless it is there for just these sources or
 * ORRERY_TEST_PROGRAM names another: `src/main.ts`, to see lines of the sources in stack traces.
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
} from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';

const root = resolve(import.meta.dirname, '../..');
const variable = 'ORRERY_TEST_PROGRAM';
/** Modules of the page find their packages from here. */
const cache = join(root, 'node_modules/.cache/orrery-tests');
/** A build that no run has asked for since is removed. */
const keptMs = 30 * 60_000;

const { [variable]: named } = process.env;
/** File of the program: an argument of Node. */
export const program = resolve(root, named ?? 'src/main.ts');

/** Of worker processes that begin after it. */
export async function provideProgram(): Promise<void> {
  if (process.env[variable] !== undefined && process.env[variable] !== provided) return;
  provided = await built();
  process.env[variable] = provided;
}
let provided: string | undefined;

async function built(): Promise<string> {
  const folder = join(cache, `${digestOf(root)}-${digestOf(sources())}`);
  const file = join(folder, 'dist/main.js');
  if (!existsSync(file)) await build(folder);
  const now = systemClock.now() / 1_000;
  utimesSync(folder, now, now);
  for (const name of readdirSync(cache)) removeIfOld(join(cache, name));
  return file;
}

function removeIfOld(folder: string): void {
  const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? { mtimeMs: 0 };
  if (mtimeMs < systemClock.now() - keptMs) rmSync(folder, { recursive: true, force: true });
}

/** Whatever the bundle comes from: names, sizes and times of change. */
function sources(): string {
  const files = globSync(['src/**/*.*', 'scripts/*.mjs', 'package*.json', 'tsconfig*.json'], { cwd: root });
  const facts = files.sort().map((file) => {
    const { size, mtimeMs } = statSync(join(root, file));
    return `${file} ${size} ${mtimeMs}`;
  });
  return facts.join('\n');
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Whole or not at all: two runs may do it at the same time. */
async function build(folder: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, 'draft-'));
  copyFileSync(join(root, 'package.json'), join(draft, 'package.json'));
  const build = ['scripts/build.mjs', join(draft, 'dist'), '--program-only'];
  await promisify(execFile)(process.execPath, build, { cwd: root });
  try {
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(join(folder, 'dist/main.js'))) throw error;
  }
}
