#!/usr/bin/env node
/**
 * The command `orrery`: hands the arguments over and ends with the command's exit code.
 *
 * From a checkout, compiled code is kept in node_modules/.cache: without it every start strips the types and compiles the Kubernetes
 * client anew, which takes longer than everything else together.
 */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

if (import.meta.filename.endsWith('.ts')) {
  enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/orrery'));
}
const { runCommandLine } = await import('./cli/program.ts');
const { processTerminal } = await import('./cli/terminal.ts');
const terminal = processTerminal();
const exitCode = await runCommandLine(process.argv.slice(2), terminal);
await terminal.flushed?.();
// A command has ended when it says so: nothing that it left open may hold the process.
process.exit(exitCode);
