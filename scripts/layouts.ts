/**
 * Writes the drawings of all charts into src/inspector/page/charts/: run it (`npm run layouts`, or with `npm
 * run docs`) after a change to a machine. test/inspector/layouts.test.ts fails while a drawing does not match
 * its machine.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { charts } from '../src/replica/charts.ts';
import { fingerprintOf, layoutOf } from './layout/chart-layout.ts';

const folder = join(import.meta.dirname, '../src/inspector/page/charts');
mkdirSync(folder, { recursive: true });

for (const chart of charts) {
  const file = join(folder, `${chart.name}.json`);
  // Trying all ways of a large chart takes seconds, so only changed charts are laid out.
  if (existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).fingerprint === fingerprintOf(chart))
    continue;
  writeFileSync(file, `${JSON.stringify(await layoutOf(chart))}\n`);
  process.stdout.write(`wrote src/inspector/page/charts/${chart.name}.json\n`);
}
