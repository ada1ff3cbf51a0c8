/**
 * The program as it is in an image: what a replica, a command and somebody else's feature load, and nothing
 * that was only needed to build it. Arguments: the built program, the target folder.
 *
 * Absent: sources, types, source maps, compilers, and every package that is already in the bundle.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Packages beside the bundle. The page is served their files. Somebody else's feature imports the last two by
 * name and must get the same ones as the program.
 */
export const packages = [
  'preact',
  'htm',
  '@fontsource-variable/inter',
  '@fontsource-variable/jetbrains-mono',
  'xstate',
  'valibot',
];

/** Packages of which only the served files are taken. */
const served = {
  preact: ['dist/preact.mjs', 'hooks/dist/hooks.mjs'],
  htm: ['dist/htm.mjs'],
  '@fontsource-variable/inter': ['files/inter-latin-wght-normal.woff2'],
  '@fontsource-variable/jetbrains-mono': ['files/jetbrains-mono-latin-wght-normal.woff2'],
};

const isForBuilding = (/** @type {string} */ name) =>
  /\.(map|[cm]?ts|md)$/.test(name) || name === 'compiled' || name === 'src';

/**
 * @param {string} built
 * @param {string} target
 */
export function layProgram(built, target) {
  mkdirSync(target, { recursive: true });
  cpSync(join(root, 'package.json'), join(target, 'package.json'));
  for (const name of ['LICENSE', 'CHANGELOG.md']) {
    // A build in a container may have less than the whole repository.
    if (readdirSync(root).includes(name)) cpSync(join(root, name), join(target, name));
  }
  cpSync(built, join(target, 'dist'), { recursive: true, filter: (from) => !isForBuilding(basename(from)) });
  for (const name of packages) layPackage(name, join(target, 'node_modules', name));
}

/**
 * @param {string} name
 * @param {string} target
 */
function layPackage(name, target) {
  const source = join(root, 'node_modules', name);
  const files = Object.entries(served).find(([one]) => one === name)?.[1];
  if (files === undefined) {
    cpSync(source, target, {
      recursive: true,
      filter: (from) => from === source || !isForBuilding(basename(from)),
    });
    return;
  }
  const licences = readdirSync(source).filter((file) => /^licen[cs]e/i.test(file));
  for (const file of ['package.json', ...licences, ...files]) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(source, file), join(target, file));
  }
}

/** @param {string} folder of a package */
export function versionOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { name: String(name), version: String(version), license: String(license ?? 'NOASSERTION') };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , built = 'dist', target = 'stage'] = process.argv;
  layProgram(resolve(built), resolve(target));
}
