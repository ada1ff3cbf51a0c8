#!/usr/bin/env node
/**
 * The command `orrery`: hands the arguments over and ends with the command's exit code.
 *
 * Compiled code is kept, from a checkout in node_modules/.cache, from a build beside it, where that may be
 * written; the image brings it along. Without it every start compiles everything anew, which takes longer
 * than the rest of it.
 */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

const isCheckout = import.meta.filename.endsWith('.ts');
enableCompileCache(join(import.meta.dirname, isCheckout ? '../node_modules/.cache/orrery' : 'compiled'));
const { runCommandLine } = await import('./cli/program.ts');
const { processTerminal } = await import('./cli/terminal.ts');
const terminal = processTerminal();
const exitCode = await runCommandLine(process.argv.slice(2), terminal);
await terminal.flushed?.();
// A command has ended when it says so: nothing that it left open may hold the process.
process.exit(exitCode);
