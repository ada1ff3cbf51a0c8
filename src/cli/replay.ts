/**
 * `orrery replay`: replays recorded transitions against the charts of this release. Needs no running Orrery.
 */
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Difference, Replay, ReplaySummary } from '../actors/control/transition-replay.ts';
import { asError, OrreryError } from '../base/errors.ts';
import { eventName, shownTime } from '../base/words.ts';
import { loadedKinds } from './own/loaded-kinds.ts';
import { addFeatureFlag, CommandFailed, type Program } from './parser.ts';
import type { Terminal } from './terminal.ts';

const examples = `
Examples:
  orrery events -o json --since 1d > day.jsonl
  orrery replay day.jsonl
  orrery events pod/shop/web-0 -o json | orrery replay -

An actor is replayed from its beginning. Steps from before are counted, and only checked for gaps.
Exit code 1: some step does not come out as it was recorded, or the file cannot be read.`;

export function replayCommand(program: Program, terminal: Terminal): void {
  const command = program
    .command('replay')
    .summary('re-run recorded transitions')
    .description(
      'Re-run recorded transitions against the machines of this release; show the first step that differs.',
    )
    .argument('<file>', 'JSON lines, as "orrery events -o json" prints them; - for the standard input')
    .addHelpText('after', examples);
  addFeatureFlag(command).action(async (file: string, options: Readonly<Record<string, unknown>>) => {
    const [{ createReplay, readTransition }, { charts }] = await Promise.all([
      import('../actors/control/transition-replay.ts'),
      loadedKinds(options, terminal),
    ]);
    const replay = createReplay(charts);
    const found = await replayLines(name(file), linesOf(file, terminal), replay, readTransition);
    if (found) fail(found, terminal);
    const summary = replay.summary();
    terminal.out(`${counts(summary)}\n`);
    for (const [id, count] of summary.skipped) terminal.out(`${left(id, count)}\n`);
  });
}

const name = (file: string) => (file === '-' ? 'the standard input' : file);

/** @throws OrreryError MESSAGE_UNREADABLE */
async function* linesOf(file: string, terminal: Terminal): AsyncGenerator<string> {
  if (file === '-') {
    const input = terminal.input?.();
    if (input) yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    return;
  }
  const handle = await open(file);
  try {
    yield* handle.readLines({ encoding: 'utf8' });
  } finally {
    await handle.close();
  }
}

/** The first difference; null: none. @throws OrreryError MESSAGE_UNREADABLE, with the file and the line */
async function replayLines(
  file: string,
  lines: AsyncIterable<string>,
  replay: Replay,
  read: (line: string) => Parameters<Replay['take']>[0],
): Promise<Difference | null> {
  try {
    let number = 0;
    for await (const line of lines) {
      number++;
      if (line.trim() === '') continue;
      const found = replay.take(readLine(file, number, line, read));
      if (found) return found;
    }
    return null;
  } catch (error) {
    if (error instanceof OrreryError) throw error;
    throw new OrreryError('MESSAGE_UNREADABLE', `${file} cannot be read: ${asError(error).message}`);
  }
}

function readLine<T>(file: string, number: number, line: string, read: (line: string) => T): T {
  try {
    return read(line);
  } catch (error) {
    throw new OrreryError('MESSAGE_UNREADABLE', `${file}, line ${number}: ${asError(error).message}`);
  }
}

function counts({ actors, transitions, skipped }: ReplaySummary): string {
  const all = `${transitions} transition${transitions === 1 ? '' : 's'} of ${actors} actor${actors === 1 ? '' : 's'}`;
  const rest = skipped.size === 0 ? '' : `; ${skipped.size} left out`;
  return `${all} come out as recorded${rest}`;
}

const left = (id: string, count: number) =>
  `${id}: ${count} transition${count === 1 ? '' : 's'} left out, the recording does not hold its beginning`;

function fail({ id, rev, at, event, what, recorded, replayed }: Difference, terminal: Terminal): never {
  const text = [
    `${id}, revision ${rev} of ${shownTime(at, true)}, ${eventName(event)}: ${what} is another`,
    `  recorded: ${shown(recorded)}`,
    `  now:      ${shown(replayed)}`,
  ].join('\n');
  terminal.err(`${text}\n`);
  throw new CommandFailed(text);
}

const shown = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'));
