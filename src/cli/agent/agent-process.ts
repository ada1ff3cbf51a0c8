/**
 * Makes the node agent small: runs only the agent's files, in the same Node without its compilers.
 *
 * An interpreter is fast enough for an answer a second, and the compilers' code is a third of the process.
 * Without them Node cannot read TypeScript, so in a checkout the files are stripped of their types first and
 * kept in node_modules/.cache; a build needs no stripping.
 */
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import type { NewProgram } from '../terminal.ts';
import type { AgentConfig } from './agent-run.ts';
import { agentVariable } from './agent-variable.ts';

/**
 * No compilers, no threads for them, a small young heap; Node's start from its files instead of a snapshot,
 * which would stay in memory; and permission to collect garbage while idle (agent-main.ts).
 */
const leanFlags = [
  '--lite-mode',
  '--single-threaded',
  '--max-semi-space-size=1',
  '--no-node-snapshot',
  '--expose-gc',
];

/** The process that runs only this agent; null if its files cannot be written. */
export function agentProcess(config: AgentConfig): NewProgram | null {
  const source = join(import.meta.dirname, '../..');
  const folder = import.meta.filename.endsWith('.ts') ? strippedCopy(source) : source;
  if (folder === null) return null;
  return {
    argv: [...leanFlags, join(folder, 'cli/agent/agent-main.js')],
    env: {
      [agentVariable]: JSON.stringify(config),
      // Both cost memory for speed that is not needed here.
      MSGPACKR_NATIVE_ACCELERATION_DISABLED: 'true',
      MALLOC_ARENA_MAX: '1',
    },
  };
}

/** A copy of `src/` as JavaScript, made once for each state of the files. */
function strippedCopy(source: string): string | null {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const state = createHash('sha256');
  for (const file of files.sort()) {
    const { mtimeMs, size } = statSync(join(source, file));
    state.update(`${file} ${mtimeMs} ${size}\n`);
  }
  const root = join(source, '../node_modules/.cache/orrery');
  const folder = join(root, `agent-${state.digest('hex').slice(0, 16)}`);
  try {
    if (!existsSync(folder)) makeCopy(source, files, folder);
  } catch {
    // A read-only checkout: the agent runs unchanged, and is larger.
    return null;
  }
  return join(folder, 'src');
}

function makeCopy(source: string, files: readonly string[], folder: string): void {
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  cpSync(join(source, '../package.json'), join(unfinished, 'package.json'));
  for (const file of files) {
    const target = join(unfinished, 'src', file.replace(/\.ts$/, '.js'));
    mkdirSync(join(target, '..'), { recursive: true });
    const script = stripTypeScriptTypes(readFileSync(join(source, file), 'utf8'));
    writeFileSync(target, script.replaceAll(/((?:from|import\() *'\.[^']*)\.ts'/g, "$1.js'"));
  }
  try {
    renameSync(unfinished, folder);
  } catch {
    // Another process was faster, with the same copy.
    rmSync(unfinished, { recursive: true, force: true });
  }
}
