/** The generated pages, and the generated parts of pages, as text. */
import { join } from 'node:path';

import { clusterLimits } from '../../packages/dev-cluster/limits.ts';
import { apiLimits } from '../../packages/kube-api/limits.ts';
import { featureLimits } from '../../src/actors/feature-limits.ts';
import { charts } from '../../src/replica/charts.ts';
import { featuresOf } from '../../src/replica/features.ts';
import { refreshed } from '../chart/refresh.ts';
import { placeOf, valueSets } from '../chart/rendering.ts';
import { rightsFile } from '../chart/rights.ts';
import { customResource } from './custom-resource-tables.ts';
import { declared, definitionOf, withSpec } from './custom-resources.ts';
import { machineIndex, machinePage } from './machine-page.ts';
import { docsBase, withRunbooks } from './runbooks.ts';
import { errorTable, flagTable, limitTable, metricRows, pathTable, streamTable } from './tables.ts';

/** Reads a file of the repository; empty if it does not exist. */
export type Read = (path: string) => string;

/** Path → required content of the file. */
export function generatedPages(read: Read): ReadonlyMap<string, string> {
  return new Map([
    ['docs/reference/errors.md', errorsPage()],
    ['docs/reference/limits.md', limitsPage(read)],
    ['deploy/chart/files/rights.yaml', rightsFile(featuresOf())],
    ...renderedCharts(read),
    ['docs/machines/README.md', machineIndex(charts)],
    ...['rules.yaml', 'rules.test.yaml'].map((name) => {
      const path = `deploy/observability/${name}`;
      return [path, withRunbooks(read(path), docsBase(JSON.parse(read('package.json'))))] as const;
    }),
    ...Object.entries(declared).map(([plural, spec]) => {
      const path = definitionOf(plural);
      return [path, withSpec(read(path), spec)] as const;
    }),
    ...charts.map((chart) => [`docs/machines/${chart.name}.md`, machinePage(chart)] as const),
    ...Object.entries(tablesOf(read)).map(
      ([path, tables]) => [path, withTables(path, read(path), tables)] as const,
    ),
  ]);
}

/** The chart's renderings, with the present rights and permissions. */
function renderedCharts(read: Read): ReadonlyArray<readonly [string, string]> {
  const permissions = read('deploy/nats/permissions.conf');
  const root = join(import.meta.dirname, '../..');
  return valueSets(root).map((set) => {
    const path = placeOf(set);
    return [path, refreshed(read(path), featuresOf(), permissions)] as const;
  });
}

const byHand = (source: string) => `<!-- Generated from ${source} by \`npm run docs\`; do not edit. -->`;

function errorsPage(): string {
  return `# Errors

${byHand('src/base/errors.ts')}

An error is sorted by what happens next, and each has a code: in log lines as \`code\`, in HTTP answers as \`error.code\`, in
answers over NATS as the header \`Orrery-Error\`.

${errorTable()}`;
}

function limitsPage(read: (path: string) => string): string {
  return `# Limits

${byHand('src/base/limits.ts')}

Nothing in Orrery is unbounded. These are the bounds, and why each is as it is.

${limitTable(read('src/base/limits.ts'))}

## Of features that a replica loads

${limitTable(read('src/actors/feature-limits.ts'), featureLimits)}

## The development cluster

${limitTable(read('packages/dev-cluster/limits.ts'), clusterLimits)}

Its API server:

${limitTable(read('packages/kube-api/limits.ts'), apiLimits)}`;
}

type Tables = Readonly<Record<string, () => string>>;

/** Pages that are written by hand, except for a table between marks: page → mark → table. */
const tablesOf = (read: Read): Readonly<Record<string, Tables>> => ({
  'docs/reference/command-line.md': { flags: flagTable },
  'docs/reference/custom-resources.md': Object.fromEntries(
    [...Object.keys(declared), 'releases'].map((plural) => [
      plural,
      () => customResource(read(definitionOf(plural))),
    ]),
  ),
  'docs/reference/http.md': { paths: pathTable },
  'docs/reference/metrics.md': { metrics: metricRows },
  'docs/reference/subjects.md': { streams: streamTable },
});

function withTables(path: string, page: string, tables: Tables): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const [open, close] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`];
    const [from, to] = [text.indexOf(open), text.indexOf(close)];
    if (from < 0 || to < from) throw new Error(`${path} has no marks ${open} … ${close}`);
    return `${text.slice(0, from + open.length)}\n\n${table()}\n${text.slice(to)}`;
  }, page);
}
