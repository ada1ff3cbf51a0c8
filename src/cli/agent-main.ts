/** The whole program of a node agent's process (agent-process.ts). */
import { asError } from '../errors.ts';
import { type AgentConfig, runAgent } from './agent-run.ts';
import { agentVariable } from './agent-variable.ts';
import { processTerminal } from './terminal.ts';

const terminal = processTerminal();
try {
  await runAgent(JSON.parse(process.env[agentVariable] ?? '') as AgentConfig, terminal);
  process.exit(0);
} catch (thrown) {
  terminal.err(`error: ${asError(thrown).message}\n`);
  process.exit(1);
}
