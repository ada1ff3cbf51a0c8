/** The licences of the packages that a bundle is made of, as one text. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param {Iterable<string>} files */
export function licencesOf(files) {
  const folders = new Set();
  for (const file of files) {
    const found = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file);
    if (found) folders.add(found[0]);
  }
  return [...folders]
    .sort()
    .map(licenceOf)
    .join(`\n\n${'-'.repeat(80)}\n\n`);
}

/** @param {string} folder of a package */
function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...texts].join('\n\n');
}
