/** Tables as kubectl prints them: columns of text without lines, a heading in capitals. */
import Table from 'cli-table3';

const none = '';
const noLines = Object.fromEntries(
  [
    ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
    ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
  ].map((place) => [place, none]),
);

/** Cells may be coloured. Each line ends with a line feed and without spaces. */
export function table(heading: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const grid = new Table({
    chars: noLines,
    style: { 'padding-left': 0, 'padding-right': 3, head: [], border: [], compact: true },
  });
  grid.push([...heading], ...rows.map((row) => [...row]));
  return `${grid.toString().replaceAll(/[ \t]+$/gm, '')}\n`;
}
