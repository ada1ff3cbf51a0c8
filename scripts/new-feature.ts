/**
 * `npm run new-feature NAME [-- --kind KIND --watch API_VERSION/KIND]`: creates the files of a new feature,
 * which runs and passes its tests as it is (CONTRIBUTING.md, "Add a kind").
 *
 * Writes one folder in src/features, one in src/machines, their tests and page, and one line in
 * src/replica/features.ts; overwrites nothing. `npm run docs` generates the rest (drawing, tables).
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readOptions, scaffold } from './new-feature/scaffold.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { kind: { type: 'string' }, watch: { type: 'string' } },
});
try {
  const options = readOptions(positionals, values);
  const written = scaffold(join(import.meta.dirname, '..'), options);
  for (const path of written) process.stdout.write(`wrote ${path}\n`);
  const next = `npm run docs && node_modules/.bin/vitest run test/features/${options.name}`;
  process.stdout.write(`\nNow: ${next}\n`);
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
