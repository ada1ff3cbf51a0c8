/** `orrery send`: sends one event to one actor and reports the outcome. */
import { asError, OrreryError } from '../base/errors.ts';
import type { SendAnswer, Transition } from '../base/views.ts';
import { change, effectList, eventName } from '../base/words.ts';
import { readActorWords, readKnownId } from './actor-argument.ts';
import { withClient } from './cluster-connection.ts';
import { findId } from './find-actor.ts';
import { unknownIfUnanswered } from './no-answer.ts';
import { loadedKinds } from './own/loaded-kinds.ts';
import { addClientFlags, CommandFailed, flagTexts, formatOption, type Program } from './parser.ts';
import type { Terminal } from './terminal.ts';

interface SendOptions {
  readonly namespace?: string;
  readonly output: string;
}

const examples = `
Examples:
  orrery send pod/shop/web-0 pod.recheck    look again, as if the actor had just been made
  orrery send proxier/_/node-1 proxier.updated '{"family":"IPv4"}'

"orrery explain ID" lists the events that an actor takes now. Exit code 1: it was refused.`;

export function sendCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('send')
    .summary('send an event to an actor')
    .description('Send an event to an actor; prints the transition that it caused, or why it was refused.')
    .usage('[options] <id> <event> [json]')
    .argument(
      '<words...>',
      'ID: KIND/NAMESPACE/NAME or KIND NAME; EVENT: its type, for example pod.recheck; JSON: its other fields, as a JSON object',
    )
    .option('-n, --namespace <NS>', 'namespace of the actor; not needed if there is only one of that name')
    .addOption(formatOption('-o, --output <format>', ['text', 'json']));
  addClientFlags(command).addHelpText('after', examples);
  command.action(async (words: readonly string[], options: SendOptions) => {
    const kinds = () => loadedKinds({ ...options }, terminal);
    const { text, rest } = await readActorWords(words, kinds);
    const [type, json, ...more] = rest;
    if (type === undefined)
      throw new OrreryError('USAGE', `EVENT: none is given; "orrery explain ${text}" lists those it takes`);
    if (more.length > 0)
      throw new OrreryError('USAGE', `JSON: put it in quotes: ${more.join(' ')} is too much`);
    const named = await readKnownId(text, kinds, options.namespace);
    const event = { ...readFields(json, type), type };
    const { id, answer } = await withClient(flagTexts({ ...options }), terminal, async ({ control }) => {
      const id = await findId(control, named);
      return { id, answer: await control.send(id, event).catch(unknownIfUnanswered(id, type)) };
    });
    if (options.output === 'json') terminal.out(`${JSON.stringify(answer, null, 2)}\n`);
    else if (answer.accepted) terminal.out(`${taken(answer.transition, id)}\n`);
    if (!answer.accepted) refused(answer, options.output, terminal);
  });
}

function readFields(json: string | undefined, type: string): Record<string, unknown> {
  const wrong = (why: string) =>
    new OrreryError(
      'USAGE',
      `JSON: ${JSON.stringify(json)} is not allowed: ${why}; allowed: the event's other fields as a JSON object, such as '{"at": 1}'`,
    );
  let value: unknown;
  try {
    value = JSON.parse(json ?? '{}');
  } catch (error) {
    throw wrong(`it is not JSON (${asError(error).message})`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong('it is not an object');
  const fields: Record<string, unknown> = { ...value };
  if (fields.type !== undefined && fields.type !== type) throw wrong(`its "type" is not ${type}`);
  return fields;
}

export function taken(transition: Transition | null, id: string): string {
  if (transition === null) return `${id} took it and nothing changed`;
  const { event, rev, effects } = transition;
  const asked = effects.length === 0 ? '' : `, asked for ${effectList(effects)}`;
  return `${id}: ${eventName(event.type)}: ${change(transition)} (revision ${rev}${asked})`;
}

function refused(
  { code, reason }: Extract<SendAnswer, { accepted: false }>,
  output: string,
  terminal: Terminal,
): never {
  if (output !== 'json') terminal.err(`error: refused: ${reason} (${code})\n`);
  throw new CommandFailed(reason);
}
