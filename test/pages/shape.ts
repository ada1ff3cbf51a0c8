/**
 * Whether a command printed what its page shows, apart from what differs each time: times, ages, numbers,
 * addresses, generated names.
 *
 * A line of a table must have the same columns and the same kind of thing in the first one; any other line
 * must have the same words. A line `…` stands for any number of lines; at the end of a line it stands for the
 * rest.
 */

/** What the page shows and the command did not print; empty: nothing. */
export function missing(shown: readonly string[], printed: string): readonly string[] {
  const lines = printed.split('\n');
  const there = new Set(lines.map(shapeOf));
  const firstCells = new Set(lines.map(firstCell));
  let isTable = false;
  return shown.filter((line) => {
    if (line.trim() === '' || line.trim() === '…' || isProgress(line)) return false;
    if (isHeader(line)) {
      isTable = true;
      return !lines.some((one) => cells(one).join('|') === cells(line).join('|'));
    }
    if (isTable) return !firstCells.has(firstCell(line));
    if (line.endsWith('…')) {
      const start = shapeOf(line.slice(0, -1));
      return ![...there].some((one) => one.startsWith(start));
    }
    return !there.has(shapeOf(line));
  });
}

/** On a busy machine the roll-out may be over before kubectl looks; its last line is what it promises. */
const isProgress = (line: string) => /^Waiting for .*\.\.\.$/.test(line);

const cells = (line: string) => line.trim().split(/ {2,}|\t/);
const firstCell = (line: string) => shapeOf(cells(line)[0] ?? '');

function isHeader(line: string): boolean {
  const words = cells(line);
  return words.length > 1 && words.every((word) => /^[A-Z][A-Z() -]*$/.test(word));
}

const kinds: ReadonlyArray<readonly [RegExp, string]> = [
  // What another page applied before already exists.
  [/ (created|configured|unchanged)$/g, ' <applied>'],
  // Older kubectl names no ports.
  [/\/(TCP|UDP) \([a-z-]+\)/g, '/$1'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?( UTC)?/g, '<time>'],
  [/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d+ [A-Z][a-z]+ \d+ [\d:]+ \+0000/g, '<time>'],
  [/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, '<uid>'],
  [/\b(\d+\.){3}\d+(:\d+)?\b/g, '<address>'],
  [/\b(?=[a-z]*\d)[0-9a-f]{8,}\b/g, '<hash>'],
  [/\b(\d+(\.\d+)?(ms|[smhd]))+\b/g, '<span>'],
  [/\b\d+(\.\d+)*\b/g, '<n>'],
];

export function shapeOf(line: string): string {
  const plain = line.trim().replaceAll(/\s+/g, ' ');
  return kinds.reduce((text, [pattern, kind]) => text.replaceAll(pattern, kind), plain);
}
