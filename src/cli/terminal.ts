/**
 * The terminal of a command: its streams, the environment, and whether colours are wanted.
 *
 * Absent: any knowledge of commands. Tests pass a terminal made of arrays.
 */
import { basename } from 'node:path';
import { styleText } from 'node:util';

export type Style = 'red' | 'yellow' | 'green' | 'bold' | 'dim';

export interface NewProgram {
  /** For this same Node: its flags, the file and the arguments. */
  readonly argv: readonly string[];
  /** Added to the environment. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** The piped input (`|`, `<`); a command that reads nothing does not open it. */
  input?(): NodeJS.ReadableStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory, in which `orrery dev` writes its file. */
  readonly directory: string;
  /** Called as `kubectl orrery`. */
  readonly isPlugin?: boolean;
  style(style: Style, text: string): string;
  /**
   * Replaces this process's program, keeping the process id; absent if the system cannot. Returns only on
   * failure.
   */
  readonly become?: (program: NewProgram) => void;
  /** Aborted by Ctrl-C or a signal to end. */
  readonly interrupted: AbortSignal;
  /**
   * Resolves when the reader has received everything, or reads no more; absent if nothing can be left over.
   */
  flushed?(): Promise<void>;
}

/** The sequences that `style` makes. */
const styled = `${String.fromCharCode(27)}\\[(?:1|2|22|31|32|33|39)m`;
/** Characters that move the cursor, change the terminal or turn the text around. */
const unruly = '[^\\P{Cc}\\n\\t]|[\\u202a-\\u202e\\u2066-\\u2069]';
const unstyled = new RegExp(unruly, 'gu');
const perhapsStyled = new RegExp(`${styled}|${unruly}`, 'gu');

/**
 * Names, annotations and errors may come from anybody: what they would do to a terminal is written as
 * `\\u001b`, which is also what it is called in JSON.
 */
export function printable(text: string, hasColours: boolean): string {
  return text.replaceAll(hasColours ? perhapsStyled : unstyled, (found) =>
    found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** kubectl finds `kubectl orrery` by that name. */
function isPlugin(program = ''): boolean {
  return basename(program).replace(/\.(js|exe)$/, '') === 'kubectl-orrery';
}

/** The terminal of this process. Coloured only for a person, and not with NO_COLOR. */
export function processTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  const interrupt = new AbortController();
  const colours = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  // A reader that has seen enough (`| head`) closes the pipe: a normal end.
  let isRead = true;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    isRead = false;
    interrupt.abort('nobody reads on');
  });
  // The error stream was closed, too: nobody wants to hear anything.
  stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    out: (text) => void (isRead && stdout.write(printable(text, colours))),
    err: (text) => void stderr.write(printable(text, colours)),
    input: () => process.stdin,
    env,
    directory: process.cwd(),
    isPlugin: isPlugin(process.argv[1]),
    become,
    style: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
    get interrupted() {
      listen(interrupt);
      return interrupt.signal;
    },
    // A slow reader of a pipe lags behind; unread output would be lost with the process.
    flushed: () => Promise.all([drained(stdout), drained(stderr)]).then(() => {}),
  };
}

/** The callback of a write comes after those of all earlier ones; a failed write means that nobody reads. */
function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed) resolve();
    else stream.write('', () => resolve());
  });
}

function become({ argv, env }: NewProgram): void {
  if (typeof process.execve !== 'function') return;
  // The warning about an experimental function is no news to the user.
  process.removeAllListeners('warning');
  process.execve(process.execPath, [process.execPath, ...argv], { ...process.env, ...env });
}

/**
 * Only a command that waits for an interruption handles the signals; for others the system's default ends
 * them at once.
 */
function listen(interrupt: AbortController): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    if (process.listenerCount(signal) === 0) process.on(signal, () => interrupt.abort(signal));
  }
}
