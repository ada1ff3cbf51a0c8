/** `orrery health`: runs the agent of one node until it is interrupted. */

import { hostPort, nodeName, readAs } from '../../base/config-values.ts';
import { type FlagTexts, readProxierTimeoutMs } from '../../replica/config.ts';
import { whichOrrery } from '../cluster-connection.ts';
import { addClientFlags, flagTexts, type Program } from '../parser.ts';
import type { Terminal } from '../terminal.ts';
import { agentProcess } from './agent-process.ts';
import type { AgentConfig } from './agent-run.ts';

const examples = `
Examples:
  orrery health --node "$NODE_NAME" --http :10256 --nats nats://nats.nats.svc:4222

It answers GET and HEAD of /healthz and /livez in the form of kube-proxy's health server, also while NATS is away, and /metrics.`;

export function healthCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('health')
    .summary("serve the health of one node's service proxy")
    .description("A node agent: answers /healthz and /livez for the node's service proxy.")
    .requiredOption('--node <name>', 'the node whose proxier it answers for')
    .option('--http <host:port>', 'address to listen on (default: :10256)')
    .option(
      '--proxier-health-timeout <seconds>',
      'how long a change may wait before the proxier counts as unhealthy (default: 60)',
    );
  addClientFlags(command).addHelpText('after', examples);
  command.action((options: Record<string, unknown>) =>
    run(flagTexts(options), String(options.node), terminal),
  );
}

async function run(given: FlagTexts, nodeText: string, terminal: Terminal): Promise<void> {
  const node = readAs(nodeName, '--node', nodeText);
  const http = readAs(hostPort, '--http', given.http ?? ':10256');
  const timeoutMs = readProxierTimeoutMs(given, terminal.env);
  const { config } = whichOrrery(given, terminal);
  const agent: AgentConfig = { ...config, node, http, timeoutMs };
  // Restarts as a process with nothing but the agent, where possible.
  const alone = terminal.become ? agentProcess(agent) : null;
  if (alone) terminal.become?.(alone);
  const { runAgent } = await import('./agent-run.ts');
  await runAgent(agent, terminal);
}
