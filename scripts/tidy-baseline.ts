/**
 * Writes test/tidy.baseline.json anew: what is too large today. Review the difference: it should only fall.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sizesOf, wideComments } from '../test/tidy/code.ts';
import { filesBelow, readSource } from '../test/tidy/source.ts';

const root = join(import.meta.dirname, '..');
const paths = filesBelow(root, ['src', 'packages', 'test', 'bench', 'scripts']);
const sources = paths.filter((path) => path.endsWith('.ts')).map((path) => readSource(root, path));
const over = new Map<string, number>();
for (const { name, lines, ceiling } of [...sources.flatMap(sizesOf), ...sources.flatMap(wideComments)]) {
  if (lines > ceiling) over.set(name, Math.max(lines, over.get(name) ?? 0));
}
const sorted = Object.fromEntries([...over].sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(join(root, 'test/tidy.baseline.json'), `${JSON.stringify(sorted, null, 2)}\n`);
