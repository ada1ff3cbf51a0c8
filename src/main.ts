#!/usr/bin/env node
/**
 * The command `orrery`: passes its arguments to the program and exits with the command's exit code.
 *
 * Compiled code is cached, where the folder is writable: in node_modules/.cache of a checkout, or beside a
 * build. The image contains its cache. Without the cache every start compiles all modules, which takes longer
 * than the rest of the start.
 */
import * as loading from 'node:module';
import { compiledOf } from './base/program/compiled.ts';

// The minimum is the one in the package's "engines". An older Node.js would fail with a stack trace at the
// first missing feature.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`error: orrery needs Node.js 22.19 or newer; this is ${process.versions.node}\n`);
  process.exit(2);
}
loading.enableCompileCache(compiledOf(import.meta.filename));
const { runCommandLine } = await import('./cli/program.ts');
const { processTerminal } = await import('./cli/terminal.ts');
const terminal = processTerminal();
const exitCode = await runCommandLine(process.argv.slice(2), terminal);
await terminal.flushed?.();
// The command is over once it returns: nothing that is still open may keep the process alive.
process.exit(exitCode);
