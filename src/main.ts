#!/usr/bin/env node
/**
 * The command `orrery`: hands the arguments over and ends with the command's exit code.
 *
 * Compiled code is kept, from a checkout in node_modules/.cache, from a build beside it, where that may be
 * written; the image brings it along. Without it every start compiles everything again, which takes longer
 * than the rest of it.
 */
import * as loading from 'node:module';
import { join } from 'node:path';

// Of the package's "engines". An older one would stop at the first thing that it lacks, with a stack trace.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`error: orrery needs Node.js 22.19 or newer; this is ${process.versions.node}\n`);
  process.exit(2);
}
const isCheckout = import.meta.filename.endsWith('.ts');
loading.enableCompileCache(
  join(import.meta.dirname, isCheckout ? '../node_modules/.cache/orrery' : 'compiled'),
);
const { runCommandLine } = await import('./cli/program.ts');
const { processTerminal } = await import('./cli/terminal.ts');
const terminal = processTerminal();
const exitCode = await runCommandLine(process.argv.slice(2), terminal);
await terminal.flushed?.();
// A command has ended when it says so: nothing that it left open may hold the process.
process.exit(exitCode);
