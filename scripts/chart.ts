/**
 * Renders the Helm chart (`npm run chart`) after a change to its templates or values; `npm run docs` updates
 * its other contents. Needs helm on PATH, or HELM. test/deploy/chart.test.ts fails while a rendering does not
 * match the chart.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findHelm } from './chart/helm.ts';
import { render, renderings, sources, sourcesOf } from './chart/rendering.ts';

const root = join(import.meta.dirname, '..');
const helm = findHelm(process.env);

if (helm === undefined) {
  process.stderr.write('chart: helm is needed to render it: put it on PATH, or set HELM to it\n');
  process.exitCode = 1;
} else {
  mkdirSync(join(root, renderings), { recursive: true });
  for (const [path, text] of render(root, helm)) writeFileSync(join(root, path), text);
  writeFileSync(join(root, sources), sourcesOf(root));
}
