/**
 * The commands that a page shows, in its order, with their output according to the page.
 *
 * In a block of `sh` or `bash` each line is a command; in a block of `console` a line that begins with `$ `
 * is one, and its output follows. In a sentence it is code that begins with the name of a program.
 */
export interface Shown {
  readonly page: string;
  readonly line: number;
  readonly command: string;
  /** Lines of output according to the page; none if it shows none. */
  readonly prints: readonly string[];
  readonly isInSentence: boolean;
}

const programs = 'orrery|kubectl|nats|npm|npx|node|helm|kind|docker|skopeo|curl|pkill|cosign|vitest';
const inSentence = new RegExp(`\`((?:[A-Z_]+=\\S+ )?(?:${programs}) [^\`]+)\``, 'g');

type Found = Omit<Shown, 'page'>;

export function shownIn(page: string, text: string): readonly Shown[] {
  const shown: Found[] = [];
  let line = 1;
  // Sentences and blocks alternate: every second part is a block, with its language and its indentation.
  const parts = text.split(/^( *)```(\S*)[^\n]*\n([\s\S]*?)^ *```[^\n]*$/m);
  for (let at = 0; at < parts.length; at += 4) {
    const [sentences = '', indent = '', language = '', block = ''] = parts.slice(at, at + 4);
    shown.push(...ofSentences(sentences, line));
    line += linesIn(sentences) + 1;
    const lines = block.split('\n').map((one) => one.slice(indent.length));
    if (language === 'console') shown.push(...ofSession(lines, line));
    else if (/^(sh|bash)$/.test(language)) shown.push(...ofScript(lines, line));
    line += linesIn(block);
  }
  return shown.map((one) => ({ page, ...one }));
}

const linesIn = (text: string) => text.split('\n').length - 1;

function ofSentences(text: string, first: number): Found[] {
  return text.split('\n').flatMap((whole, index) =>
    [...whole.matchAll(inSentence)].map(([, command = '']) => ({
      ...{ line: first + index, command: unescaped(command), prints: [], isInSentence: true },
    })),
  );
}

function ofSession(lines: readonly string[], first: number): Found[] {
  const begins = lines.flatMap((one, index) => (one.startsWith('$ ') ? [index] : []));
  return begins.map((index, nth) => ({
    ...{ line: first + index, command: lines[index]?.slice(2) ?? '', isInSentence: false },
    prints: trimmed(lines.slice(index + 1, begins[nth + 1])),
  }));
}

function ofScript(lines: readonly string[], first: number): Found[] {
  const found: Found[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = first + index;
    let command = lines[index] ?? '';
    while (command.endsWith('\\')) command += `\n${lines[++index] ?? ''}`;
    if (!/^\s*(#|$)/.test(command)) found.push({ line, command, prints: [], isInSentence: false });
  }
  return found;
}

/** In a table a pipe is written with a backslash. */
const unescaped = (command: string) => command.replaceAll('\\|', '|');

function trimmed(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line.trim() !== '');
  return lines.slice(0, last + 1);
}

/** The blocks of YAML that are complete Kubernetes objects. */
export function objectsIn(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  return blocks.filter((block) => /^apiVersion: .+\nkind: /m.test(block));
}
