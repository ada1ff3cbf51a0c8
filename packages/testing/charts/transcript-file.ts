/** Golden transcripts: texts beside a test, which are compared and, on request, rewritten. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/**
 * Compares a transcript with its file. With `UPDATE_TRANSCRIPTS=1` in the environment, or if there is no file
 * yet, writes the file instead; review its difference as text.
 *
 * @param file `new URL('drain.txt', import.meta.url)`, or a path
 * @throws Error with the first line that differs
 */
export function matchTranscript(file: string | URL, text: string): void {
  if (process.env.UPDATE_TRANSCRIPTS === '1' || !existsSync(file)) {
    writeFileSync(file, text);
    return;
  }
  const kept = readFileSync(file, 'utf8');
  if (kept === text) return;
  const [before, now] = [kept.split('\n'), text.split('\n')];
  const at = before.findIndex((line, index) => line !== now[index]);
  const line = at < 0 ? before.length : at;
  throw new Error(
    [
      `${String(file)} line ${line + 1} is another one now:`,
      `- ${before[line] ?? '(no such line)'}`,
      `+ ${now[line] ?? '(no such line)'}`,
      'If that is right, write it anew with UPDATE_TRANSCRIPTS=1 and review the difference.',
    ].join('\n'),
  );
}
