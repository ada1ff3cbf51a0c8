/**
 * Writes the generated parts of docs/ (`npm run docs`): run it after a change to a machine, an error code, a
 * limit, a flag, a path or a metric. test/docs.test.ts fails while a page differs from the output.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedPages } from './docs/pages.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '');

for (const [path, text] of generatedPages(read)) {
  if (read(path) === text) continue;
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  process.stdout.write(`wrote ${path}\n`);
}
