/**
 * Where a command reads and writes: the two streams, the environment, and the wish for colours.
 *
 * Absent: any knowledge of commands. Tests hand in a terminal made of arrays.
 */
import { basename } from 'node:path';
import { styleText } from 'node:util';

export type Style = 'red' | 'yellow' | 'green' | 'bold' | 'dim';

export interface NewProgram {
  /** Of this same Node: its flags, the file and the arguments. */
  readonly argv: readonly string[];
  /** Added to the environment. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** What is handed in (`|`, `<`); a command that reads nothing does not open it. */
  input?(): NodeJS.ReadableStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Working directory, in which `orrery dev` leaves its file. */
  readonly directory: string;
  /** Called as `kubectl orrery`. */
  readonly isPlugin?: boolean;
  style(style: Style, text: string): string;
  /**
   * Puts another program into this process, under the same process id; absent where the system cannot.
   * Returns only if it failed.
   */
  readonly become?: (program: NewProgram) => void;
  /** Aborted when the person presses Ctrl-C or the process is asked to end. */
  readonly interrupted: AbortSignal;
  /**
   * Resolves when whoever reads has been handed everything, or reads no more; absent where nothing can be
   * left over.
   */
  flushed?(): Promise<void>;
}

/** kubectl finds `kubectl orrery` by that name. */
function isPlugin(program = ''): boolean {
  return basename(program).replace(/\.(js|exe)$/, '') === 'kubectl-orrery';
}

/** The terminal of this process. Colours only where a person looks, and not with NO_COLOR. */
export function processTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  const interrupt = new AbortController();
  const colours = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  // A reader that has seen enough (`| head`) closes the pipe: that is an end like any other.
  let isRead = true;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    isRead = false;
    interrupt.abort('nobody reads on');
  });
  // Whoever closed that, too, wants to hear nothing at all.
  stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    out: (text) => void (isRead && stdout.write(text)),
    err: (text) => void stderr.write(text),
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
    // A slow reader of a pipe is behind; what it was not handed yet would be lost with the process.
    flushed: () => Promise.all([drained(stdout), drained(stderr)]).then(() => {}),
  };
}

/** The callback of a write comes after those of all before it; one that fails says that nobody reads on. */
function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed) resolve();
    else stream.write('', () => resolve());
  });
}

function become({ argv, env }: NewProgram): void {
  if (typeof process.execve !== 'function') return;
  // That it is experimental is no news for whoever runs the command.
  process.removeAllListeners('warning');
  process.execve(process.execPath, [process.execPath, ...argv], { ...process.env, ...env });
}

/**
 * Only a command that waits for an interruption takes the signals over; others end at once, as the system has
 * it.
 */
function listen(interrupt: AbortController): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    if (process.listenerCount(signal) === 0) process.on(signal, () => interrupt.abort(signal));
  }
}
