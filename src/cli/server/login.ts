/**
 * `orrery login` and `orrery logout`: sets the Orrery that the other commands use by default.
 *
 * Promises: the address is tried before it's stored; no token is stored.
 */
import { OrreryError } from '../../base/errors.ts';
import { addServerFlags, flagTexts, type Program } from '../parser.ts';
import type { Terminal } from '../terminal.ts';
import { forgetServer, givenServer, remember } from './server-choice.ts';

const examples = `
Examples:
  orrery login kube                         the Orrery of the kubeconfig's cluster, through the Kubernetes API
  orrery login https://orrery.example.com --token-file ~/.orrery-token
  orrery logout`;

export function loginCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('login')
    .summary('remember which Orrery to ask')
    .description(
      'Ask an Orrery over HTTP who you are to it, and remember where it is for the other commands.',
    )
    .argument(
      '<server>',
      'https://HOST[:PORT], or kube[:NAMESPACE[/SERVICE:PORT]] through the Kubernetes API',
    );
  addServerFlags(command, ['server']).addHelpText('after', examples);
  command.action((server: string, options: object) =>
    login({ ...flagTexts({ ...options }), server }, terminal),
  );
  program
    .command('logout')
    .summary('forget what login remembered')
    .description('Forget which Orrery `orrery login` remembered.')
    .action(() => {
      const file = forgetServer(terminal);
      terminal.out(file === undefined ? 'nothing was remembered\n' : `forgotten: ${file}\n`);
    });
}

async function login(given: Readonly<Record<string, string | undefined>>, terminal: Terminal): Promise<void> {
  const chosen = givenServer(given, terminal);
  if (chosen === undefined) throw new OrreryError('USAGE', 'SERVER is missing');
  const [{ wayTo }, { createHttpControl }] = await Promise.all([
    import('./ways.ts'),
    import('./http-control.ts'),
  ]);
  const way = wayTo(chosen, terminal);
  try {
    const { user, maySend } = await createHttpControl(way).session();
    const rights = maySend ? 'may look and send events' : 'may look';
    const who = user === '' ? 'no token is needed there' : `you are ${user} and ${rights}`;
    terminal.out(`${way.name}: ${who}\nremembered in ${remember(chosen, terminal)}\n`);
  } finally {
    way.close();
  }
}
