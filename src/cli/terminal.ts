/**
 * Where a command reads and writes: the two streams, the environment, and the wish for colours.
 *
 * Absent: any knowledge of commands. Tests hand in a terminal made of arrays.
 */
import { styleText } from 'node:util';

export type Style = 'red' | 'yellow' | 'green' | 'bold' | 'dim';

export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** What is handed in (`|`, `<`); a command that reads nothing does not open it. */
  input?(): NodeJS.ReadableStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Working directory, in which `orrery dev` leaves its file. */
  readonly directory: string;
  style(style: Style, text: string): string;
  /** Aborted when the person presses Ctrl-C or the process is asked to end. */
  readonly interrupted: AbortSignal;
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
  return {
    out: (text) => void (isRead && stdout.write(text)),
    err: (text) => void stderr.write(text),
    input: () => process.stdin,
    env,
    directory: process.cwd(),
    style: (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text),
    get interrupted() {
      listen(interrupt);
      return interrupt.signal;
    },
  };
}

/** Only a command that waits for an interruption takes the signals over; others end at once, as the system has it. */
function listen(interrupt: AbortController): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    if (process.listenerCount(signal) === 0) process.on(signal, () => interrupt.abort(signal));
  }
}
