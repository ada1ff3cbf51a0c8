/** `orrery forget`: removes the remains of a kind whose feature is no longer loaded. */
import { createInterface } from 'node:readline';
import { notAllowed } from '../../base/config-values.ts';
import { OrreryError } from '../../base/errors.ts';
import { isActorKind } from '../../base/ids.ts';
import type { ForgetAnswer } from '../../base/views.ts';
import { withClient } from '../cluster-connection.ts';
import { addClientFlags, CommandFailed, flagTexts, type Program } from '../parser.ts';
import type { Terminal } from '../terminal.ts';

const examples = `
Examples:
  orrery get drain                          what is left of the kind
  orrery forget drain                       asks first
  orrery forget drain --yes

It deletes the kind's records, mail and mirrored objects for good, and is refused while a replica has the feature loaded.
It works over NATS only, for users who may publish rpc.forget (deploy/nats/permissions.conf).`;

export function forgetCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('forget')
    .summary('remove the records of a kind that is no longer loaded')
    .description('Remove for good the records of a kind whose feature no replica loads any more.')
    .argument('<kind>', 'the kind, as in the ids of its actors')
    .option('--yes', 'do not ask');
  addClientFlags(command).addHelpText('after', examples);
  command.action(async (kind: string, options: { readonly yes?: boolean }) => {
    if (!isActorKind(kind)) throw notAllowed('KIND', kind, 'a word of a-z, 0-9, -');
    const answer = await withClient(flagTexts({ ...options }), terminal, async ({ forget }) => {
      if (forget === undefined)
        throw new OrreryError('USAGE', 'orrery forget works over NATS only: give --nats, not --server');
      const found = await forget(kind, true);
      if (!options.yes) await confirm(found, terminal);
      return forget(kind, false);
    });
    terminal.out(`${kind} of the feature ${answer.feature} is forgotten: ${counted(answer)} removed\n`);
  });
}

const counted = ({ actors }: ForgetAnswer) => `${actors} ${actors === 1 ? 'actor' : 'actors'}`;

async function confirm(found: ForgetAnswer, terminal: Terminal): Promise<void> {
  const input = terminal.input?.();
  const what = `${counted(found)} of kind ${found.kind} (feature ${found.feature})`;
  terminal.err(`${what} will be removed for good. Type ${found.kind} to continue: `);
  const [line = ''] = input === undefined ? [] : await linesOf(input);
  if (line.trim() === found.kind) return;
  terminal.err('nothing was removed\n');
  throw new CommandFailed('not confirmed');
}

async function linesOf(input: NodeJS.ReadableStream): Promise<readonly string[]> {
  const lines = createInterface({ input });
  try {
    for await (const line of lines) return [line];
    return [];
  } finally {
    lines.close();
  }
}
