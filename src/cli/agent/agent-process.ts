/**
 * How the node agent becomes small: the same Node without its compilers, running the agent's files alone.
 *
 * An interpreter is fast enough for an answer a second, and the compilers' code is a third of the process.
 * Without them Node cannot read TypeScript, so a checkout's files are stripped of their types first and kept
 * in node_modules/.cache; a build has them already.
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
 * No compilers, no threads for them, a small young heap; Node's own start from its files instead of a picture
 * of memory, of which it would keep all; and the right to collect garbage when there is nothing else to do
 * (agent-main.ts).
 */
const leanFlags = [
  '--lite-mode',
  '--single-threaded',
  '--max-semi-space-size=1',
  '--no-node-snapshot',
  '--expose-gc',
];

/** The process that runs this agent and nothing else; null where its files cannot be written. */
export function agentProcess(config: AgentConfig): NewProgram | null {
  const source = join(import.meta.dirname, '../..');
  const folder = import.meta.filename.endsWith('.ts') ? strippedCopy(source) : source;
  if (folder === null) return null;
  return {
    argv: [...leanFlags, join(folder, 'cli/agent/agent-main.js')],
    env: {
      [agentVariable]: JSON.stringify(config),
      // Both cost memory and buy speed that nobody needs here.
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
    // A checkout that may only be read: the agent runs as it is, and is larger.
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
    // Another process was faster; its copy is the same.
    rmSync(unfinished, { recursive: true, force: true });
  }
}
