/**
 * The parser of command lines: the only file that knows the library.
 *
 * Promises: a usage error is one line on the error stream and exit code 2; help and version exit with 0.
 * config.ts reads the values of flags, not this file.
 */
import { Command, CommanderError, Option } from 'commander';
import { clientFlags, environmentName, type FlagTexts, runFlags } from '../replica/config.ts';
import { featureFlag } from '../replica/feature-flag.ts';
import type { Flag } from '../replica/flag.ts';
import { serverFlags } from './server/server-choice.ts';
import type { Terminal } from './terminal.ts';

export type Program = Command;

export function createParser(terminal: Terminal, version: string): Program {
  return new Command('orrery')
    .version(version)
    .helpCommand('help [command]', 'help for one command')
    .exitOverride()
    .configureOutput({
      writeOut: terminal.out,
      writeErr: terminal.err,
      outputError: (text, write) => write(oneLine(helpful(text))),
    });
}

/** Words of other programs for our commands. */
const ofOthers: Readonly<Record<string, string>> = {
  ...{ describe: 'explain', why: 'explain', show: 'explain', list: 'get', ls: 'get', status: 'get' },
  ...{ logs: 'events', log: 'events', history: 'events', dashboard: 'open', ui: 'open', start: 'run' },
};

/** The parser's complaint, with what to do instead. */
function helpful(complaint: string): string {
  return complaint
    .replace(/missing required argument '.*'/, '$&; --help lists all')
    .replace(/unknown option '.*'\s*$/, (whole) => `${whole.trim()}; --help lists all`)
    .replace(/option '.*' argument missing/, '$&; --help says what is allowed')
    .replace(/too many arguments for '(.*)'\. .*/, "too many arguments for '$1'; its --help shows the form")
    .replace(/unknown command '(.*)'\s*$/, (whole, word: string) => {
      const ours = ofOthers[word];
      return ours === undefined
        ? `${whole.trim()}; --help lists all`
        : `${whole.trim()} (Did you mean ${ours}?)`;
    });
}

/** The command failed and has said why: exit code 1, nothing more to print. */
export class CommandFailed extends Error {}

/** The command ended with another program's exit code, which is passed on. */
export class CommandEnded extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** The exit code of an end that needs no further message; undefined for any other. */
export function endOf(thrown: unknown): number | undefined {
  if (thrown instanceof CommandEnded) return thrown.exitCode;
  if (thrown instanceof CommandFailed) return 1;
  if (!(thrown instanceof CommanderError)) return undefined;
  return thrown.exitCode === 0 ? 0 : 2;
}

/** The parser prints its suggestions on a separate line. */
export function oneLine(text: string): string {
  return `${text.trim().replaceAll(/\s*\n\s*/g, ' ')}\n`;
}

export function addRunFlags(command: Program): Program {
  return addFlags(command, runFlags).addHelpText('after', environmentNote);
}

/** Adds the flags that choose the Orrery to ask. */
export function addClientFlags(command: Program): Program {
  addServerFlags(command);
  return addFlags(command, clientFlags).addHelpText('after', environmentNote);
}

/** Commands with commands of their own. */
const families = new Set(['dead', 'adopt']);

/** Moves flags that choose the Orrery or a namespace behind the command: `orrery -n shop get`. */
export function withFlagsBehind(given: readonly string[]): readonly string[] {
  const argv = flagsBehind(given);
  const [word = ''] = argv;
  return families.has(word) ? [word, ...flagsBehind(argv.slice(1))] : argv;
}

function flagsBehind(argv: readonly string[]): readonly string[] {
  const names = new Set(['kubeconfig', 'namespace', 'n', ...Object.keys({ ...serverFlags, ...clientFlags })]);
  const nameAt = (at: number) => /^--?([a-z-]+)/.exec(argv[at] ?? '')?.[1] ?? '';
  let at = 0;
  while (names.has(nameAt(at))) at += argv[at]?.includes('=') ? 1 : 2;
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  return [...argv.slice(at, end), ...argv.slice(0, at), ...argv.slice(end)];
}

/** Adds those for HTTP. @param but flags that the command defines in another form */
export function addServerFlags(command: Program, but: readonly string[] = []): Program {
  command.optionsGroup('Which Orrery:');
  for (const [name, [placeholder, description]] of Object.entries(serverFlags))
    if (!but.includes(name)) command.option(`--${name} <${placeholder}>`, description);
  return command.option('--kubeconfig <FILE>', 'for --server kube, and for its token (env: KUBECONFIG)');
}

const environmentNote = `
Each of these flags has an environment variable too: --nats-creds is ${environmentName('nats-creds')}.`;

function addFlags(command: Program, flags: Readonly<Record<string, Flag<unknown>>>): Program {
  for (const [name, flag] of Object.entries(flags)) {
    const standard = flag.default ?? flag.defaultText;
    const notes = [
      ...(flag.otherEnv ? [`env: ${flag.otherEnv}`] : []),
      ...(standard === undefined ? [] : [`default: ${standard}`]),
    ];
    const more = notes.length === 0 ? '' : ` (${notes.join('; ')})`;
    const form = flag.isSwitch ? `--${name} [${flag.placeholder}]` : `--${name} <${flag.placeholder}>`;
    const description = `${flag.description}${more}`;
    if (flag.isRepeatable) command.option(form, description, together);
    else command.option(form, description);
  }
  return command;
}

/** Adds the flag that names features of the user's own. */
export function addFeatureFlag(command: Program): Program {
  return addFlags(command, { feature: featureFlag });
}

const together = (text: string, before: string | undefined) =>
  before === undefined ? text : `${before},${text}`;

/** The texts of flags as given, by the flags' own names. */
export function flagTexts(options: Readonly<Record<string, unknown>>): FlagTexts {
  const texts = [...Object.keys(runFlags), ...Object.keys(serverFlags)].map((name) => {
    const value = options[name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    return [name, value === true ? 'true' : typeof value === 'string' ? value : undefined] as const;
  });
  return Object.fromEntries(texts);
}

/** A choice whose default is the first of `formats`. */
export function formatOption(flags: string, formats: readonly string[]): Option {
  return new Option(flags, 'output format').choices(formats).default(formats[0]);
}
