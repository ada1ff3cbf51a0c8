#!/usr/bin/env node
/** The command `orrery`: hands the arguments over and ends with the command's exit code. */
import { runCommandLine } from './cli/program.ts';
import { processTerminal } from './cli/terminal.ts';

const exitCode = await runCommandLine(process.argv.slice(2), processTerminal());
// A command has ended when it says so: nothing that it left open may hold the process.
process.exit(exitCode);
