/**
 * `orrery dead`: lists dead letters with their reasons and contents; sends them again or drops them.
 *
 * Promises: every letter of the last seven days is listed, page by page; letters are processed one by one,
 * and a letter that is refused stays and makes the command exit with 1.
 */
import { systemClock } from '../base/clock.ts';
import { notAllowed } from '../base/config-values.ts';
import { OrreryError } from '../base/errors.ts';
import type { DeadLetter, SendAnswer } from '../base/views.ts';
import { age, indented, shownTime } from '../base/words.ts';
import { type Client, withClient } from './cluster-connection.ts';
import { readTime } from './events/event-times.ts';
import { addClientFlags, CommandFailed, flagTexts, formatOption, type Program } from './parser.ts';
import { taken } from './send.ts';
import type { Terminal } from './terminal.ts';
import { table } from './text-table.ts';

type Letter = DeadLetter & { readonly sequence: number };

const examples = `
Examples:
  orrery dead                               what nobody took in the last seven days
  orrery dead --reason ACTOR_MISSING --since 1h
  orrery dead show 17                       one letter in full, with its reason
  orrery dead resend 17 18                  to the same actors again, as you
  orrery dead drop 17

You can resend public messages. A message from one actor to another is resent as that actor's.
Exit code 1: a letter was refused, and stays.`;

export function deadCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('dead')
    .summary('messages that nobody could take')
    .description(
      'Dead letters: messages that nobody could take, kept for seven days. List, show, resend, drop.',
    )
    .addHelpText('after', examples);
  listCommand(command, terminal);
  showCommand(command, terminal);
  workCommand(command, terminal, {
    name: 'resend',
    summary: 'send letters to their actors again; those that are taken disappear',
    work: resendOne,
  });
  workCommand(command, terminal, {
    name: 'drop',
    summary: 'delete letters for good',
    work: dropOne,
  });
}

interface ListOptions {
  readonly since?: string;
  readonly reason?: string;
  readonly utc?: boolean;
  readonly output: 'table' | 'json';
}

function listCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('list', { isDefault: true })
    .summary('list them, oldest first')
    .description('Dead letters, oldest first.')
    .option('--since <TIME>', 'only those since: 15m, 1d, 03:10 (default: all that are kept)')
    .option('--reason <CODE>', 'only those with this code, such as ACTOR_MISSING, or with this text in it')
    .option('--utc', 'times in UTC')
    .addOption(formatOption('-o, --output <format>', ['table', 'json']))
    .allowExcessArguments();
  addClientFlags(command);
  command.action(async (options: ListOptions) => {
    const [word] = command.args;
    if (word !== undefined) throw notAllowed('COMMAND', word, 'list, show, resend, drop');
    const { since, reason = '', utc = false } = options;
    const from = since === undefined ? 0 : readTime('--since', since, systemClock.now(), utc);
    const wanted = reason.toLowerCase();
    const letters = await withClient(flagTexts({ ...options }), terminal, (client) => all(client, from));
    const shown = letters.filter(({ error }) => error.toLowerCase().includes(wanted));
    if (options.output === 'json') terminal.out(`${JSON.stringify({ letters: shown }, null, 2)}\n`);
    else if (shown.length === 0) terminal.err('no dead letters\n');
    else terminal.out(listed(shown, terminal));
  });
}

async function all({ control }: Client, since: number): Promise<Letter[]> {
  const letters: Letter[] = [];
  for (let next: number | null | undefined; next !== null; ) {
    const page = await control.dead(next === undefined ? { since } : { after: next });
    letters.push(...page.letters);
    next = page.next;
  }
  return letters;
}

function listed(letters: readonly Letter[], { style }: Terminal): string {
  const now = systemClock.now();
  const rows = letters.map((letter) => [
    String(letter.sequence),
    age(now - letter.at),
    style('yellow', letter.code ?? ''),
    shortened(letter.to ?? letter.subject),
    shortened(letter.event ?? ''),
    shortened(reasonOf(letter)),
  ]);
  return table(['LETTER', 'AGE', 'REASON', 'TO', 'EVENT', 'WHY'], rows);
}

/** Whoever sends names the actor and the event, at any length; all rows are as wide as the widest. */
const cellCharsMax = 100;
const shortened = (text: string) =>
  text.length > cellCharsMax ? `${text.slice(0, cellCharsMax - 1)}…` : text;

/** The error without its code, which has its own column. */
const reasonOf = ({ error, code = '' }: Letter) =>
  error.startsWith(`${code}: `) ? error.slice(code.length + 2) : error;

function showCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('show')
    .summary('one letter in full')
    .description('One dead letter in full: when, to whom, what it says, and why nobody could take it.')
    .argument('<letter>', 'its number, as in the list')
    .option('--utc', 'times in UTC')
    .addOption(formatOption('-o, --output <format>', ['text', 'json']));
  addClientFlags(command);
  command.action(async (text: string, options: { readonly utc?: boolean; readonly output: string }) => {
    const sequence = readLetter(text);
    const page = await withClient(flagTexts({ ...options }), terminal, ({ control }) =>
      control.dead({ after: sequence - 1, limit: 1 }),
    );
    const letter = page.letters.find((one) => one.sequence === sequence);
    if (letter === undefined) throw new OrreryError('LETTER_MISSING', `there is no dead letter ${sequence}`);
    if (options.output === 'json') terminal.out(`${JSON.stringify(letter, null, 2)}\n`);
    else terminal.out(`${explained(letter, options.utc === true, terminal).join('\n')}\n`);
  });
}

function explained(letter: Letter, isUtc: boolean, { style }: Terminal): string[] {
  const { sequence, at, to, subject, event, code = '', body } = letter;
  return [
    `${style('bold', `dead letter ${sequence}`)}, ${shownTime(at, isUtc)}`,
    `  to       ${to ?? 'no actor'} (${subject})`,
    `  event    ${event ?? 'it cannot be read'}`,
    `  reason   ${style('yellow', code)}: ${reasonOf(letter)}`,
    '',
    indented(body),
  ];
}

interface Work {
  readonly name: 'resend' | 'drop';
  readonly summary: string;
  work(client: Client, sequence: number): Promise<Done>;
}

interface Done {
  readonly isDone: boolean;
  readonly text: string;
  readonly answer: object;
}

function workCommand(program: Program, terminal: Terminal, { name, summary, work }: Work): void {
  const command = program
    .command(name)
    .summary(summary)
    .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
    .argument('<letters...>', 'their numbers, as in the list')
    .addOption(formatOption('-o, --output <format>', ['text', 'json']));
  addClientFlags(command);
  command.action(async (texts: readonly string[], options: { readonly output: string }) => {
    const sequences = [...new Set(texts.map(readLetter))];
    const done = await withClient(flagTexts({ ...options }), terminal, async (client) => {
      const answers: Array<Done & { readonly sequence: number }> = [];
      for (const sequence of sequences) answers.push({ sequence, ...(await work(client, sequence)) });
      return answers;
    });
    if (options.output === 'json')
      terminal.out(`${JSON.stringify({ letters: done.map(asJson) }, null, 2)}\n`);
    else for (const one of done) tell(one, terminal);
    if (done.some(({ isDone }) => !isDone)) throw new CommandFailed('a letter was refused');
  });
}

const asJson = ({ sequence, answer }: Done & { readonly sequence: number }) => ({ sequence, ...answer });

function tell({ sequence, isDone, text }: Done & { readonly sequence: number }, terminal: Terminal): void {
  if (isDone) terminal.out(`${sequence}: ${text}\n`);
  else terminal.err(`error: ${sequence}: refused: ${text}\n`);
}

async function resendOne({ control }: Client, sequence: number): Promise<Done> {
  const answer: SendAnswer = await control.resend(sequence);
  if (!answer.accepted) return { isDone: false, text: `${answer.reason} (${answer.code})`, answer };
  const { transition } = answer;
  const text = transition === null ? 'it was sent again' : taken(transition, transition.id);
  return { isDone: true, text, answer };
}

async function dropOne({ control }: Client, sequence: number): Promise<Done> {
  const answer = await control.drop(sequence);
  if (answer.dropped) return { isDone: true, text: 'dropped', answer };
  return { isDone: false, text: `${answer.reason} (${answer.code})`, answer };
}

function readLetter(text: string): number {
  const sequence = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (sequence > 0) return sequence;
  throw notAllowed('letter', text, 'a number as "orrery dead" lists them');
}
