/**
 * The flags of a script or benchmark: read with their types, explained by `--help`, and refused in one line.
 */
import { parseArgs } from 'node:util';

/** One flag: what it is for, and how its text becomes a value. */
export interface Flag<T> {
  /** For `--help`, default included where there is one. */
  readonly about: string;
  /** What stands for its value in `--help`; absent: it takes none. */
  readonly takes?: string;
  /** What it is when it is not given. */
  readonly fallback: T;
  /** @throws Error that says what it must be. */
  readonly read: (text: string) => T;
}
type Flags = Readonly<Record<string, Flag<unknown>>>;
export type ValuesOf<F extends Flags> = { readonly [K in keyof F]: F[K]['fallback'] };

/** A flag without a value: true if it is given. */
export const toggle = (about: string): Flag<boolean> => ({ about, fallback: false, read: () => true });

export function text(about: string, fallback: string): Flag<string>;
export function text(about: string): Flag<string | undefined>;
export function text(about: string, fallback?: string): Flag<string | undefined> {
  return { ...withDefault(about, fallback), takes: 'TEXT', fallback, read: (given) => given };
}

/** Names separated by commas; none: the empty list. */
export const list = (about: string, fallback: readonly string[] = []): Flag<readonly string[]> => ({
  ...{ about, takes: 'A,B,…', fallback },
  read: (given) => given.split(',').filter((name) => name !== ''),
});

export function choice<const T extends string>(about: string, names: readonly T[]): Flag<T | undefined> {
  const read = (given: string): T => {
    const name = names.find((known) => known === given);
    if (name === undefined) throw new Error(`must be ${names.slice(0, -1).join(', ')} or ${names.at(-1)}`);
    return name;
  };
  return { about, takes: names.join('|'), fallback: undefined, read };
}

/** A number from 0. */
export function number(about: string, fallback: number): Flag<number>;
export function number(about: string): Flag<number | undefined>;
export function number(about: string, fallback?: number): Flag<number | undefined> {
  const read = (given: string): number => {
    const value = given.trim() === '' ? Number.NaN : Number(given);
    if (!Number.isFinite(value) || value < 0) throw new Error('must be a number, 0 or more');
    return value;
  };
  return { ...withDefault(about, fallback), takes: 'NUMBER', fallback, read };
}

/** A whole number from 0. */
export function whole(about: string, fallback: number): Flag<number>;
export function whole(about: string): Flag<number | undefined>;
export function whole(about: string, fallback?: number): Flag<number | undefined> {
  const read = (given: string): number => {
    if (!/^\d{1,15}$/.test(given)) throw new Error('must be a whole number, 0 or more');
    return Number(given);
  };
  return { ...withDefault(about, fallback), takes: 'NUMBER', fallback, read };
}

const withDefault = (about: string, fallback: string | number | undefined) => ({
  about: fallback === undefined || fallback === '' ? about : `${about} (${fallback})`,
});

/**
 * The values of a command line.
 *
 * @throws Error in one line if a flag is unknown or its value is not what it must be.
 */
export function parseFlags<F extends Flags>(flags: F, argv: readonly string[]): ValuesOf<F> {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { takes }]) => [
      name,
      { type: takes === undefined ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  const { values } = parseArgs({ args: [...argv], options });
  const read = ([name, flag]: [string, Flag<unknown>]) => {
    const given = values[name];
    if (given === undefined) return [name, flag.fallback];
    try {
      return [name, flag.read(String(given))];
    } catch (error) {
      throw new Error(`--${name} ${given}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return Object.fromEntries(Object.entries(flags).map(read)) as ValuesOf<F>;
}

/** What `--help` prints. */
export function helpOf(command: string, about: string, flags: Flags): string {
  const names = Object.entries(flags).map(([name, { takes }]) =>
    takes === undefined ? `--${name}` : `--${name} ${takes}`,
  );
  const width = Math.max(...names.map(({ length }) => length));
  const lines = Object.values(flags).map((flag, index) => `  ${names[index]?.padEnd(width)}  ${flag.about}`);
  return [`${command} [flags]`, '', about, '', ...lines, ''].join('\n');
}

/**
 * The values of this process's command line. With `--help` it is explained and the process ends with 0; what
 * cannot be read is told in one line and ends it with 2.
 *
 * @param command how it is called, such as `npm run sim --`
 */
export function readFlags<F extends Flags>(command: string, about: string, flags: F): ValuesOf<F> {
  const argv = process.argv.slice(2);
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(helpOf(command, about, flags));
    process.exit(0);
  }
  try {
    return parseFlags(flags, argv);
  } catch (error) {
    // What Node says about an unknown flag explains more than one needs in its second sentence.
    const said = error instanceof Error ? error.message : String(error);
    process.stderr.write(`error: ${said.split('. ')[0]}; ${command} --help lists the flags\n`);
    process.exit(2);
  }
}
