/** The feed of a run, recorded with `orrery events` and re-run with `orrery replay`, as a person would. */
import { Readable } from 'node:stream';
import { runCommandLine } from '../../src/cli/program.ts';
import type { Terminal } from '../../src/cli/terminal.ts';

/** @returns what `orrery replay` says about everything on the event stream */
export async function replayOwnFeed(
  natsUrl: string,
  cluster = 'dev',
): Promise<{ code: number; text: string }> {
  const recorded = await orrery(
    '',
    'events',
    '-o',
    'json',
    '--since',
    '1d',
    '--nats',
    natsUrl,
    '--cluster',
    cluster,
  );
  if (recorded.code !== 0) return recorded;
  return orrery(recorded.text, 'replay', '-');
}

async function orrery(input: string, ...args: string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  const terminal: Terminal = {
    out: write,
    err: write,
    input: () => Readable.from([input]),
    env: {},
    directory: '/nowhere',
    style: (_, plain) => plain,
    interrupted: new AbortController().signal,
  };
  return { code: await runCommandLine(args, terminal), text };
}
