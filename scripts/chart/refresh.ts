/**
 * Updates in the renderings what the chart copies from elsewhere, so that a change of a feature's rights or
 * of the NATS permissions needs no Helm. `npm run docs` writes these parts, and test/deploy/chart.test.ts
 * checks, where there is Helm, that it renders the same.
 *
 * Absent: everything that the templates themselves say.
 */
import type { Feature } from '../../src/actors/feature.ts';
import { type ChartRule, chartRights } from './rights.ts';

/** The rendering with these parts as they are now. */
export function refreshed(rendering: string, features: readonly Feature[], permissions: string): string {
  return rendering
    .split(/^(?=---\n)/m)
    .map((document) => withRules(withPermissions(document, permissions), features))
    .join('');
}

/** The rendering without these parts: it changes only with the templates. */
export function skeletonOf(rendering: string): string {
  return refreshed(rendering, [], '').replaceAll(/checksum\/config: .*\n/g, '');
}

function withRules(document: string, features: readonly Feature[]): string {
  const name = /^kind: (?:Cluster)?Role\nmetadata:\n {2}name: (\S+)$/m.exec(document)?.[1];
  const owner = /^ {4}app\.kubernetes\.io\/name: (\S+)$/m.exec(document)?.[1];
  if (name === undefined || owner === undefined || !name.startsWith(owner)) return document;
  const rules = rulesOf(name.slice(owner.length), features);
  return rules === undefined ? document : document.replace(/^rules:\n[\s\S]*$/m, () => textOf(rules));
}

/** What the role with that ending grants; undefined: nothing that a feature declares. */
function rulesOf(ending: string, features: readonly Feature[]): readonly ChartRule[] | undefined {
  const rights = chartRights(features);
  if (ending === '') return rights.replica.cluster;
  const parts = Object.entries(rights.features).flatMap(
    ([feature, { cluster, namespaced, secrets, ownNamespace }]) => [
      [`-${feature}`, cluster ?? namespaced] as const,
      [`-${feature}-objects`, cluster && namespaced] as const,
      ['-secrets', secrets] as const,
      [feature === 'certificates' ? '-challenges' : `-${feature}`, ownNamespace] as const,
    ],
  );
  const found = parts.find(([known, rules]) => known === ending && rules !== undefined)?.[1];
  // Without features, each such role is empty.
  return found ?? (features.length === 0 && !isOther.test(ending) ? [] : undefined);
}

/** Roles that the templates write by themselves. */
const isOther = /^-(inspector-\w+|kubectl|extra|group-resources|bundle)$/;

function textOf(rules: readonly ChartRule[]): string {
  const list = (values: readonly string[]) => `[${values.map((one) => JSON.stringify(one)).join(',')}]`;
  const lines = rules.map(
    ({ why, apiGroups, resources, verbs }) =>
      `  # ${why}\n  -\n    apiGroups: ${list(apiGroups)}\n    resources: ${list(resources)}\n    verbs: ${list(verbs)}\n`,
  );
  return `rules:\n${lines.join('')}`;
}

/** The form that templates/nats/_config.tpl gives to deploy/nats/permissions.conf. */
function withPermissions(document: string, permissions: string): string {
  const begin = /^ {4}orrery_replica: \{$/m.exec(document);
  const isEmpty = permissions === '';
  const place = begin?.index ?? (isEmpty ? undefined : /^ {4}max_payload: 1Mi\n/m.exec(document)?.index);
  if (place === undefined || !/^kind: ConfigMap$/m.test(document)) return document;
  if (isEmpty) return document.slice(0, place);
  const text = permissions
    .replaceAll(/^#.*\n/gm, '')
    .replace(/orrery_worker_a: \{[\s\S]*?\n\}\n/, '')
    .replaceAll(/^ *\{ user: worker-a,.*\n/gm, '')
    .replaceAll(/user: ([a-z]+), password: "[^"]*"/g, 'user: $1, password: $$NATS_PASSWORD_$1')
    .trimStart();
  const lines = text.trimEnd().split('\n');
  return `${document.slice(0, place)}${lines.map((line) => `    ${line}\n`).join('')}`;
}
