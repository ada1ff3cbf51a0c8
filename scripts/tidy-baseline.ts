/**
 * Rewrites test/tidy.baseline.json, the list of what is too large today. Entries only shrink: anything new or
 * larger is reported, left unchanged, and makes the script fail. After a rename, adapt the list by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs';
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
const file = join(root, 'test/tidy.baseline.json');
const recorded: Readonly<Record<string, number>> = JSON.parse(readFileSync(file, 'utf8'));
for (const [name, lines] of over) {
  const allowed = recorded[name];
  if (allowed !== undefined && lines <= allowed) continue;
  console.error(`${name} has ${lines} lines, recorded are ${allowed ?? 'none'}: split it`);
  process.exitCode = 1;
  if (allowed === undefined) over.delete(name);
  else over.set(name, allowed);
}
const sorted = Object.fromEntries([...over].sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(sorted, null, 2)}\n`);
