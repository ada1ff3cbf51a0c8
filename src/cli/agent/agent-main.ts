/** The main program of a node agent's own process (agent-process.ts). */
import { systemClock } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import { processTerminal } from '../terminal.ts';
import { type AgentConfig, runAgent } from './agent-run.ts';
import { agentVariable } from './agent-variable.ts';

const terminal = processTerminal();
/** Frees the memory of the start and of lost connections; a collection takes some milliseconds. */
const tidyMs = 15_000;
const tidy = () => {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  systemClock.after(tidyMs, tidy);
};
systemClock.after(1_000, tidy);

try {
  await runAgent(JSON.parse(process.env[agentVariable] ?? '') as AgentConfig, terminal);
  process.exit(0);
} catch (thrown) {
  terminal.err(`error: ${asError(thrown).message}\n`);
  process.exit(1);
}
