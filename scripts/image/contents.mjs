/**
 * The list of an image's contents in SPDX 2.3: Debian packages, Node.js, and each npm package, bundled or
 * beside the bundle. The same image gives the same list: its time is that of the image.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packages, versionOf } from './program.mjs';

/**
 * @typedef {{ readonly name: string, readonly version: string, readonly license: string, readonly purl:
 * string }} Part
 */

/**
 * @param {object} image
 * @param {string} image.program the folder of the program in the image
 * @param {readonly { name: string, version: string }[]} image.debian
 * @param {string} image.node its version
 * @param {string} image.release
 * @param {string} image.created RFC 3339
 */
export function contentsOf({ program, debian, node, release, created }) {
  const parts = [
    { name: 'node', version: node, license: 'MIT', purl: `pkg:generic/node@${node}` },
    ...debian.map(debianPart),
    ...npmParts(program),
  ];
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `orrery-${release}`,
    documentNamespace: `https://orrery.dev/spdx/orrery-${release}-${digest}`,
    creationInfo: { created, creators: [`Tool: orrery-image-${release}`] },
    packages: [
      packageOf({
        name: 'orrery',
        version: release,
        license: 'Apache-2.0',
        purl: `pkg:generic/orrery@${release}`,
      }),
      ...parts.map(packageOf),
    ],
    relationships: [
      relation('SPDXRef-DOCUMENT', 'DESCRIBES', idOf('orrery', release)),
      ...parts.map(({ name, version }) => relation(idOf('orrery', release), 'CONTAINS', idOf(name, version))),
    ],
  };
}

/** @param {{ name: string, version: string }} part */
function debianPart({ name, version }) {
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
  return { name, version, license: 'NOASSERTION', purl };
}

/**
 * Bundled packages are named in the file of their licences.
 *
 * @param {string} program
 * @returns {Part[]}
 */
function npmParts(program) {
  const licences = readFileSync(join(program, 'dist/third-party-licenses.txt'), 'utf8');
  const bundled = [...licences.matchAll(/^((?:@[\w.-]+\/)?[\w.-]+) (\d+\.\d+\.\d+\S*) \(([^)]*)\)$/gm)].map(
    ([, name = '', version = '', license = '']) => ({ name, version, license }),
  );
  const beside = packages.map((name) => versionOf(join(program, 'node_modules', name)));
  const known = new Map([...bundled, ...beside].map((part) => [`${part.name}@${part.version}`, part]));
  return [...known.keys()].sort().flatMap((key) => {
    const part = known.get(key);
    const purl = `pkg:npm/${key.replace(/^@/, '%40')}`;
    return part === undefined ? [] : [{ ...part, purl }];
  });
}

/** @param {Part} part */
function packageOf({ name, version, license, purl }) {
  return {
    SPDXID: idOf(name, version),
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: /^[A-Za-z0-9.+-]+( (AND|OR) [A-Za-z0-9.+-]+)*$/.test(license) ? license : 'NOASSERTION',
    copyrightText: 'NOASSERTION',
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }],
  };
}

/**
 * @param {string} name
 * @param {string} version
 */
function idOf(name, version) {
  return `SPDXRef-${`${name}-${version}`.replaceAll(/[^A-Za-z0-9.-]/g, '-')}`;
}

/**
 * @param {string} spdxElementId
 * @param {string} relationshipType
 * @param {string} relatedSpdxElement
 */
function relation(spdxElementId, relationshipType, relatedSpdxElement) {
  return { spdxElementId, relationshipType, relatedSpdxElement };
}
