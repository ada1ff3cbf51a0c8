/**
 * The list of ways to break the program is up to date. `npm run sim:mutations` checks that the simulation
 * finds each.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutations } from '../../scripts/sim-mutations/mutations.ts';

const root = join(import.meta.dirname, '../..');
const changes = mutations.flatMap(({ name, changes }) => changes.map((change) => ({ name, ...change })));

test.each(changes)('$name: its place in $file is there once', ({ file, find }) => {
  expect(readFileSync(join(root, file), 'utf8').split(find)).toHaveLength(2);
});

test('the page of the simulation has a row for each', () => {
  const page = readFileSync(join(root, 'docs/simulation.md'), 'utf8');
  for (const { name } of mutations) expect(page).toContain(`| ${name} |`);
});
