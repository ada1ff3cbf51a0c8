/**
 * The form of a transcript: prose after `#`, then a block of commands, a line `----`, and what was seen of
 * it. A blank line ends a block.
 *
 * Modelled on the transcripts of etcd-io/raft (`testdata/*.txt`): people write prose and commands, a command
 * of the repository writes what is seen, and a change of behaviour shows as a change of text.
 */

/** What a file consists of, in order. */
export type Part =
  | { readonly kind: 'prose'; readonly text: string }
  | { readonly kind: 'block'; readonly commands: readonly string[] };

const rule = '----';

/** @throws Error for commands without a rule below them */
export function parseScenario(text: string): Part[] {
  const parts: Part[] = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    if (line.startsWith('#') || line.trim() === '') {
      parts.push({ kind: 'prose', text: line });
      at++;
      continue;
    }
    const commands: string[] = [];
    for (; at < lines.length && lines[at] !== rule; at++) {
      const command = lines[at] ?? '';
      if (command.trim() === '') throw new Error(`a block without "${rule}": ${commands.join('; ')}`);
      commands.push(command);
    }
    parts.push({ kind: 'block', commands });
    while (at < lines.length && (lines[at] ?? '').trim() !== '') at++;
  }
  return parts;
}

/**
 * Plays every block and writes the file as it ought to be.
 * @param play returns what is seen of a block, line by line
 */
export async function transcript(
  text: string,
  play: (commands: readonly string[]) => Promise<readonly string[]>,
): Promise<string> {
  const written: string[] = [];
  for (const part of parseScenario(text)) {
    if (part.kind === 'prose') written.push(part.text);
    else {
      const seen = await play(part.commands);
      written.push(...part.commands, rule, ...(seen.length === 0 ? ['nothing is seen'] : seen));
    }
  }
  return written.join('\n');
}
