/**
 * What the charts render to: `deploy/base/orrery.yaml`, which kustomize applies, and one rendering for each
 * set of values in `deploy/chart/examples`, for reviews of changes.
 *
 * Promises: the same charts give the same bytes. So the renderings omit what differs each time (passwords),
 * what only Helm uses (its labels), and copies of what is in deploy/.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runHelm } from './helm.ts';
import { skeletonOf } from './refresh.ts';

/** The folder of the renderings; `sources` in it says what they were made from. */
export const renderings = 'test/deploy/rendered';
export const sources = `${renderings}/SOURCES`;
const base = 'deploy/base/orrery.yaml';
const examples = 'deploy/chart/examples';

/** Sets of values by name. */
export function valueSets(root: string): readonly string[] {
  const names = readdirSync(join(root, examples)).sort();
  return names.flatMap((name) => (name.endsWith('.yaml') ? [name.slice(0, -'.yaml'.length)] : []));
}

/** Path of the rendering of a set of values. */
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
    // The oldest version that the chart supports: each Helm assumes another one, depending on when and how it
    // was built.
    '--kube-version',
    '1.30.0',
    '--values',
    values,
  ];
  const documents = runHelm(helm, args)
    .split(/^---\n/m)
    .filter((text) => /^kind:/m.test(text) && !text.includes('helm.sh/hook:'))
    .map((text) => text.replaceAll(/^ *(helm\.sh\/chart|app\.kubernetes\.io\/managed-by): .*\n/gm, ''))
    .map(withoutCopies);
  const head = `# Rendered by \`npm run chart\` from deploy/chart with examples/${set}.yaml: change it there.\n`;
  return head + documents.map((text) => `---\n${text.trimEnd()}\n`).join('');
}

/** Omits what is elsewhere in deploy/, so that nobody reviews it twice; a digest of all of it stays. */
function withoutCopies(document: string): string {
  return document
    .replace(/(orrery\.json: )\|-\n(?: {4}.*\n?)*/, '$1"{}"\n')
    .replace(/^(kind: PrometheusRule\n[\s\S]*?^spec:\n)[\s\S]*$/m, '$1  groups: []\n')
    .replace(/(checksum\/config: ).*/, '$1"of the configuration"');
}

/**
 * A line with digest and path for each file that the renderings are made from, and for each rendering. Copied
 * files are left out, because they need no Helm (refresh.ts).
 */
export function sourcesOf(root: string): string {
  const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');
  const files = filesIn(root, 'deploy/chart').map((path) => [path, readFileSync(join(root, path))] as const);
  const rendered = valueSets(root)
    .map(placeOf)
    .map((path) => [path, skeletonOf(readFileSync(join(root, path), 'utf8'))] as const);
  return [...files, ...rendered].map(([path, bytes]) => `${sha256(bytes)}  ${path}\n`).join('');
}

/** Except `files`, which a chart copies from elsewhere. */
function filesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name !== 'files')
    .sort()
    .flatMap((name) => {
      const path = join(root, folder, name);
      return statSync(path).isDirectory() ? filesIn(root, join(folder, name)) : [relative(root, path)];
    });
}
