/**
 * Tables in kubectl's style: columns of text without lines, headings in capitals.
 *
 * Promises: a row is one line; columns are aligned in a terminal, also with colours and double-width
 * characters; the time is linear in the text.
 */
import { stripVTControlCharacters } from 'node:util';

import { printable } from './terminal.ts';

const between = '   ';

/** Cells may be coloured. Each line ends with a line feed, without trailing spaces. */
export function table(heading: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const lines = [heading, ...rows].map((cells) => cells.map(onOneLine));
  const widths: number[] = [];
  for (const cells of lines) {
    for (const [column, { width }] of cells.entries()) widths[column] = Math.max(widths[column] ?? 0, width);
  }
  const lineOf = (cells: readonly Cell[]) =>
    cells.map(({ text, width }, column) => text + ' '.repeat((widths[column] ?? 0) - width)).join(between);
  return lines.map((cells) => `${lineOf(cells).trimEnd()}\n`).join('');
}

interface Cell {
  readonly text: string;
  /** In terminal cells. */
  readonly width: number;
}

function onOneLine(cell: string): Cell {
  const text = printable(cell.replaceAll(/[\r\n\t]+/g, ' '), true);
  return { text, width: widthOf(stripVTControlCharacters(text)) };
}

/** Double-width characters: East Asian scripts and emoji (Unicode Standard Annex 11, "W" and "F"). */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
/** Characters without a width of their own. */
const without = /\p{Mark}|\p{Cf}/u;

function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const sign of text) width += without.test(sign) ? 0 : wide.test(sign) ? 2 : 1;
  return width;
}
