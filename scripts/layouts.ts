/**
 * Writes the drawings of all charts into src/inspector/page/charts/: run it (`npm run layouts`, or with `npm run docs`) after a change
 * to a machine. test/inspector/layouts.test.ts fails while a drawing is not of the machine as it is.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { machines } from '../src/machines/index.ts';
import { layoutOf } from './layout/chart-layout.ts';

const folder = join(import.meta.dirname, '../src/inspector/page/charts');
mkdirSync(folder, { recursive: true });

for (const chart of Object.values(machines)) {
  const file = join(folder, `${chart.name}.json`);
  const text = `${JSON.stringify(await layoutOf(chart))}\n`;
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  writeFileSync(file, text);
  process.stdout.write(`wrote src/inspector/page/charts/${chart.name}.json\n`);
}
