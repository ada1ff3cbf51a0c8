/** `orrery run`: runs one replica until it is interrupted. */

import { hasCode } from '../base/errors.ts';
import { readRunConfig } from '../replica/config.ts';
import { addRunFlags, flagTexts, type Program } from './parser.ts';
import type { Terminal } from './terminal.ts';

const examples = `
Examples:
  orrery run --nats nats://nats:4222 --stream-replicas 3
  orrery run --cluster test --kubeconfig ~/.kube/config --http 127.0.0.1:8080 --inspector-auth none

SIGTERM hands every shard over to the other replicas and then ends.`;

export function runCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('run')
    .summary('run one replica')
    .description('Run one replica until it is stopped.');
  addRunFlags(command).addHelpText('after', examples);
  command.action(async (options: Record<string, unknown>) => {
    const config = readRunConfig(flagTexts(options), terminal.env);
    const { startReplica } = await import('../replica/replica.ts');
    try {
      const replica = await startReplica(config, terminal.interrupted);
      await replica.ended;
    } catch (error) {
      // Interrupted before NATS was ever reached: there is nothing to hand over.
      if (!(terminal.interrupted.aborted && hasCode(error, 'BUS_UNREACHABLE'))) throw error;
    }
  });
}
