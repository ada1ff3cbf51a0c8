/** `orrery events`: the log of transitions, past and live. */

import { systemClock } from '../base/clock.ts';
import { duration } from '../base/config-values.ts';
import { OrreryError } from '../base/errors.ts';
import type { ActorId } from '../base/ids.ts';
import type { Transition } from '../base/views.ts';
import { change, clockTime, effectList, eventName } from '../base/words.ts';
import { readActorId } from './actor-argument.ts';
import { type Client, withClient } from './cluster-connection.ts';
import { followEvents } from './events-log.ts';
import { addClientFlags, flagTexts, formatOption, type Program } from './parser.ts';
import type { Terminal } from './terminal.ts';

interface EventsOptions {
  readonly follow?: boolean;
  readonly since?: string;
  readonly output: 'text' | 'json';
}

const examples = `
Examples:
  orrery events --since 10m                 what happened in the last ten minutes
  orrery events pod/shop/web-0 --follow     one actor, live, until Ctrl-C
  orrery events -o json | jq -r .to         one JSON object a line

Transitions are kept for 24 hours.`;

export function eventsCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('events')
    .summary('the transition log')
    .description('The log of transitions: every saved step of every actor, once and in order.')
    .argument('[id]', 'only this actor: KIND/NAMESPACE/NAME')
    .option('-f, --follow', 'stay and print what happens, until Ctrl-C')
    .option(
      '--since <TIME>',
      'how far back, such as 90s, 15m, 1h or 1d (default: 1h; with --follow: from now on)',
    )
    .addOption(formatOption('-o, --output <format>', ['text', 'json']));
  addClientFlags(command).addHelpText('after', examples);
  command.action(async (text: string | undefined, options: EventsOptions) => {
    const id = text === undefined ? undefined : readActorId(text);
    const sinceMs = readSince(options);
    await withClient(flagTexts({ ...options }), terminal, (client) =>
      follow(client, id, sinceMs, options, terminal),
    );
  });
}

function readSince({ since, follow }: EventsOptions): number {
  if (since === undefined) return follow ? 0 : 3_600_000;
  const ms = duration.read(since);
  if (ms !== undefined) return ms;
  throw new OrreryError(
    'USAGE',
    `--since: ${JSON.stringify(since)} is not allowed; allowed: ${duration.allowed}`,
  );
}

async function follow(
  { bus, subjects, control }: Client,
  id: ActorId | undefined,
  sinceMs: number,
  options: EventsOptions,
  terminal: Terminal,
): Promise<void> {
  const print = (step: Transition) =>
    terminal.out(`${options.output === 'json' ? JSON.stringify(step) : line(step, terminal)}\n`);
  const log = await followEvents({
    bus,
    subject: id === undefined ? subjects.eventAll : subjects.eventsOf(id),
    history: (request) => control.history(id === undefined ? request : { ...request, id }),
    since: sinceMs === 0 ? null : systemClock.now() - sinceMs,
    isLive: options.follow === true,
    clock: systemClock,
    onStep: print,
  });
  if (options.follow) await interruption(terminal);
  log.stop();
  if (log.told() === 0 && !options.follow) terminal.err('no transitions found\n');
}

function interruption({ interrupted }: Terminal): Promise<void> {
  return new Promise((resolve) => {
    if (interrupted.aborted) return resolve();
    interrupted.addEventListener('abort', () => resolve(), { once: true });
  });
}

function line(transition: Transition, { style }: Terminal): string {
  const { at, id, rev, event, effects, replica } = transition;
  const asked = effects.length === 0 ? '' : `  asked for ${effectList(effects)}`;
  const where = style('dim', `rev ${rev} on ${replica}`);
  return `${clockTime(at)}  ${id}  ${eventName(event.type)}: ${change(transition)}${asked}  ${where}`;
}
