/**
 * Prints the notes of a release: its part of CHANGELOG.md. Argument: the version.
 *
 * Refuses a version that some place does not name, or whose heading has no date yet.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Each place that names the version of this release, and in which form. */
export const versionPlaces = /** @type {const} */ ([
  ['package.json', /^ {2}"version": "([^"]+)"/m],
  ['deploy/chart/Chart.yaml', /^version: (\S+)$/m],
  ['deploy/chart/Chart.yaml', /^appVersion: (\S+)$/m],
  ['deploy/chart-crds/Chart.yaml', /^version: (\S+)$/m],
  ['deploy/chart-crds/Chart.yaml', /^appVersion: (\S+)$/m],
  ['deploy/base/kustomization.yaml', /^ {4}newTag: (\S+)$/m],
]);

/** @returns {readonly (readonly [string, string])[]} file and the version that it names */
export function namedVersions() {
  return versionPlaces.map(([file, pattern]) => [
    file,
    pattern.exec(readFileSync(join(root, file), 'utf8'))?.[1] ?? 'none',
  ]);
}

/**
 * @param {string} changelog
 * @param {string} version
 * @returns {{ readonly day: string, readonly text: string } | undefined} undefined: there is no such heading
 */
export function sectionOf(changelog, version) {
  const [, ...sections] = changelog.split(/^## /m);
  for (const section of sections) {
    const [, found, day = '', text = ''] = /^(\S+) – ([^\n]*)\n([\s\S]*)$/.exec(section) ?? [];
    if (found === version) return { day, text: text.trim() };
  }
  return undefined;
}

/**
 * @param {string} version
 * @returns {string[]} why it cannot be released
 */
export function objections(version) {
  const section = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  const wrong = namedVersions().filter(([, named]) => named !== version);
  return [
    ...wrong.map(([file, named]) => `${file} names ${named}, not ${version}`),
    ...(section === undefined ? [`CHANGELOG.md has no heading "## ${version} – <day>"`] : []),
    ...(section !== undefined && !/^\d{4}-\d{2}-\d{2}$/.test(section.day)
      ? [`CHANGELOG.md says "${section.day}" of ${version}, and no day`]
      : []),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const version = process.argv[2] ?? '';
  const found = objections(version);
  if (found.length > 0) {
    process.stderr.write(`${found.join('\n')}\n`);
    process.exitCode = 1;
  } else {
    const section = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
    process.stdout.write(`${section?.text ?? ''}\n`);
  }
}
