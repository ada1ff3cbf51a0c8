/**
 * What the charts come to: `deploy/base/orrery.yaml`, which kustomize applies, and one rendering for each set
 * of values in `deploy/chart/examples`, for whoever reviews a change.
 *
 * Promises: the same charts give the same bytes. So what is made anew at each rendering (passwords) is left
 * out, and so is what Helm alone goes by (its labels) and the dashboard's text.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runHelm } from './helm.ts';

/** The folder of the renderings; `sources` there says of what. */
export const renderings = 'test/deploy/rendered';
export const sources = `${renderings}/SOURCES`;
const base = 'deploy/base/orrery.yaml';
const examples = 'deploy/chart/examples';
const charts = ['deploy/chart', 'deploy/chart-crds'] as const;

/** Sets of values by name. */
export function valueSets(root: string): readonly string[] {
  const names = readdirSync(join(root, examples)).sort();
  return names.flatMap((name) => (name.endsWith('.yaml') ? [name.slice(0, -'.yaml'.length)] : []));
}

/** Where the rendering of a set of values stands. */
export function placeOf(set: string): string {
  return set === 'kustomize' ? base : `${renderings}/${set}.yaml`;
}

/** Path → text of every rendering. @throws Error with Helm's complaint */
export function render(root: string, helm: string): ReadonlyMap<string, string> {
  return new Map(valueSets(root).map((set) => [placeOf(set), renderOne(root, helm, set)]));
}

function renderOne(root: string, helm: string, set: string): string {
  const values = join(root, examples, `${set}.yaml`);
  const args = [
    'template',
    'orrery',
    join(root, 'deploy/chart'),
    '--namespace',
    'orrery',
    '--values',
    values,
  ];
  const documents = runHelm(helm, args)
    .split(/^---\n/m)
    .filter((text) => /^kind:/m.test(text) && !text.includes('helm.sh/hook:'))
    .map((text) => text.replaceAll(/^ *(helm\.sh\/chart|app\.kubernetes\.io\/managed-by): .*\n/gm, ''))
    // 1,700 lines that stand in deploy/observability/dashboard.json, for nobody to review twice.
    .map((text) => text.replace(/(orrery\.json: )\|-\n(?: {4}.*\n?)*/, '$1"{}"\n'));
  const head = `# Rendered by \`npm run chart\` from deploy/chart with examples/${set}.yaml: change it there.\n`;
  return head + documents.map((text) => `---\n${text.trimEnd()}\n`).join('');
}

/** A line for each file that the renderings are made of, and for each rendering: digest and path. */
export function sourcesOf(root: string): string {
  const files = [
    ...charts.flatMap((chart) => filesIn(root, chart)),
    ...valueSets(root).map((set) => placeOf(set)),
  ];
  const digest = (path: string) =>
    createHash('sha256')
      .update(readFileSync(join(root, path)))
      .digest('hex');
  return files.map((path) => `${digest(path)}  ${path}\n`).join('');
}

/** Follows links: a chart holds parts of deploy/ by them. */
function filesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder))
    .sort()
    .flatMap((name) => {
      const path = join(root, folder, name);
      if (statSync(path).isDirectory()) return filesIn(root, join(folder, name));
      return name.endsWith('.test.yaml') ? [] : [relative(root, path)];
    });
}
