/** `orrery open`: opens the inspector page in a browser, without pasting a token or forwarding a port. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readAs, wholeNumber } from '../../base/config-values.ts';
import { OrreryError } from '../../base/errors.ts';
import { whichServer } from '../cluster-connection.ts';
import { devHttp } from '../dev-file.ts';
import { addServerFlags, flagTexts, type Program } from '../parser.ts';
import type { Terminal } from '../terminal.ts';
import { choice, givenServer, type ServerChoice } from './server-choice.ts';

interface OpenFlags {
  readonly port: string;
  readonly browser: boolean;
  readonly send?: boolean;
}

const examples = `
Examples:
  orrery open                               what login remembered, else the Orrery of the kubeconfig's cluster
  kubectl orrery open --context staging --no-browser`;

export function openCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('open')
    .summary('the inspector page in a browser')
    .description('Serve the inspector page on this machine until Ctrl-C, signed in as you.')
    .option('--port <PORT>', 'on 127.0.0.1; 0: any free one', '0')
    .option('--send', 'allow sending events, not only looking')
    .option('--no-browser', 'print the link only');
  addServerFlags(command).addHelpText('after', examples);
  command.action((options: OpenFlags) => open(options, terminal));
}

async function open(options: OpenFlags, terminal: Terminal): Promise<void> {
  const port = readAs(wholeNumber(0, 65_535), '--port', options.port);
  const [{ wayTo }, { createHttpControl }, { serveLocalPage }] = await Promise.all([
    import('./ways.ts'),
    import('./http-control.ts'),
    import('./local-page.ts'),
  ]);
  const way = wayTo(which(options, terminal), terminal);
  try {
    // A missing permission is reported here, not by an empty page.
    await createHttpControl(way).session();
    const page = await serveLocalPage(way, { port, right: options.send ? 'update' : 'get' });
    terminal.out(`${way.name}: ${page.url}\n`);
    terminal.err('the link works in one browser; stop with Ctrl-C\n');
    if (options.browser) openBrowser(page.url, terminal);
    if (!terminal.interrupted.aborted) await once(terminal.interrupted, 'abort');
    await page.close();
  } finally {
    way.close();
  }
}

function which(options: OpenFlags, terminal: Terminal): ServerChoice {
  const given = flagTexts({ ...options });
  const here = given.server === undefined && !terminal.isPlugin ? devHttp(terminal.directory) : undefined;
  if (here !== undefined) return choice(here, {});
  const chosen = whichServer(given, terminal) ?? givenServer({ ...given, server: 'kube' }, terminal);
  if (chosen === undefined) throw new OrreryError('USAGE', '--server is missing');
  return chosen;
}

/** Without a browser, the printed link remains. */
function openBrowser(url: string, { env }: Terminal): void {
  const programs: Partial<Record<NodeJS.Platform, readonly string[]>> = {
    darwin: ['open'],
    win32: ['cmd', '/c', 'start', ''],
  };
  const [program = 'xdg-open', ...args] = programs[process.platform] ?? ['xdg-open'];
  if (process.platform === 'linux' && !env.DISPLAY && !env.WAYLAND_DISPLAY) return;
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
