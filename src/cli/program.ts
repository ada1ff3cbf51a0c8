/**
 * The command line as a whole: the list of commands, and how a command ends.
 *
 * Promises: exit code 0 for success, 1 for failure, 2 for usage; a failure is one line on the error stream. A
 * command's modules are imported when it runs, so that reading commands start fast.
 */

import { asError, hasCode, inPlainWords } from '../base/errors.ts';
import { readRelease } from '../replica/config.ts';
import { adoptCommand } from './adopt.ts';
import { healthCommand } from './agent/health.ts';
import { chartCommand } from './chart.ts';
import { deadCommand } from './dead.ts';
import { devCommand } from './dev.ts';
import { electCommand } from './elect/elect.ts';
import { eventsCommand } from './events/events.ts';
import { explainCommand } from './explain.ts';
import { getCommand } from './get/get.ts';
import { accessCommand } from './own/access.ts';
import { forgetCommand } from './own/forget.ts';
import { newFeatureCommand } from './own/new-feature.ts';
import { createParser, endOf, oneLine, type Program, withFlagsBehind } from './parser.ts';
import { replayCommand } from './replay.ts';
import { runCommand } from './run.ts';
import { sendCommand } from './send.ts';
import { loginCommand } from './server/login.ts';
import { openCommand } from './server/open.ts';
import { shardsCommand } from './shards.ts';
import type { Terminal } from './terminal.ts';
import { tokenCommand } from './token.ts';

/** Runs one command line to its end and returns the exit code. */
export async function runCommandLine(given: readonly string[], terminal: Terminal): Promise<number> {
  const argv = withFlagsBehind(given);
  const program = await createProgram(argv, terminal);
  const [word, topic] = argv;
  // The library would print all commands and say nothing of the one that does not exist.
  if (word === 'help' && topic !== undefined && !program.commands.some((command) => command.name() === topic))
    return runCommandLine([topic], terminal);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return 0;
  } catch (thrown) {
    return endOf(thrown) ?? failed(thrown, terminal);
  }
}

async function createProgram(argv: readonly string[], terminal: Terminal): Promise<Program> {
  const program = createParser(terminal, readRelease()).description(
    'Watches over a Kubernetes cluster with explicit statecharts: one actor for each object.',
  );
  runCommand(program, terminal);
  healthCommand(program, terminal);
  // A package of checkouts; commands that only read do without looking for it.
  if (argv[0] === 'dev' || isOverview(argv)) await devCommand(program, terminal);
  const reading = [
    getCommand,
    explainCommand,
    eventsCommand,
    replayCommand,
    sendCommand,
    deadCommand,
    electCommand,
    shardsCommand,
    chartCommand,
    tokenCommand,
    loginCommand,
    openCommand,
    adoptCommand,
    newFeatureCommand,
    accessCommand,
    forgetCommand,
  ];
  for (const register of reading) register(program, terminal);
  return program.addHelpText('after', '\nExit codes: 0 success, 1 failure, 2 usage error.');
}

/** Whether the output is the list of all commands. */
function isOverview(argv: readonly string[]): boolean {
  return argv.length === 0 || ['help', '--help', '-h'].includes(argv[0] ?? '');
}

function failed(thrown: unknown, terminal: Terminal): number {
  const error = asError(thrown);
  terminal.err(oneLine(`error: ${inPlainWords(error.message)}`));
  return hasCode(error, 'USAGE') ? 2 : 1;
}
