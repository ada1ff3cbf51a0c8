/**
 * Bundles `orrery/testing`: one file from packages/testing and its imports; and writes its types and those of
 * `orrery`. Argument: the folder of the built program. An image is built without packages/, and without this.
 *
 * Promises: where its types mean those of `orrery`, they are the same types, not copies: a feature fits both.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { compiling } from './compiling.mjs';
import { licencesOf } from './licences.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const target = resolve(process.argv[2] ?? 'dist');

const bundle = await rolldown({
  platform: 'node',
  // A feature's charts and schemas must fit those of the package.
  external: ['xstate', 'valibot', '@kubernetes/client-node'],
  input: join(root, 'packages/testing/index.ts'),
  plugins: [textsInlined()],
});
const options = /** @type {const} */ ({ format: 'esm', sourcemap: true, comments: false });
const { output } = await bundle.write({
  ...{ ...options, file: join(target, 'testing/index.js'), codeSplitting: false },
});
const files = output.flatMap((part) => ('modules' in part ? Object.keys(part.modules) : []));
writeFileSync(join(target, 'testing/third-party-licenses.txt'), licencesOf(files));
writeTypes();

/** Inlines tables that the development API reads from files beside it. */
function textsInlined() {
  const reading = /readFileSync\(new URL\('(\.\/[^']+\.txt)', import\.meta\.url\), 'utf8'\)/g;
  return {
    name: 'texts-inlined',
    transform(/** @type {string} */ code, /** @type {string} */ id) {
      if (!reading.test(code)) return null;
      const inlined = code.replace(reading, (_, /** @type {string} */ path) =>
        JSON.stringify(readFileSync(join(dirname(id), path), 'utf8')),
      );
      return { code: inlined, map: null };
    },
  };
}

/** Where the types of a source lie in the built program: those of src/ beside those of the package itself. */
function placeOf(/** @type {string} */ path) {
  return path
    .replace(/^src\//, '')
    .replace(/^packages\/testing\//, 'testing/')
    .replace(/^packages\//, 'testing/');
}

function writeTypes() {
  const emitted = mkdtempSync(join(tmpdir(), 'orrery-types-'));
  const tsc = join(root, 'node_modules/.bin/tsc');
  execFileSync(tsc, ['-p', 'tsconfig.testing-build.json', '--outDir', emitted], {
    cwd: root,
    stdio: 'inherit',
    env: compiling,
  });
  for (const path of readdirSync(emitted, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.d.ts')) continue;
    const place = placeOf(path);
    mkdirSync(dirname(join(target, place)), { recursive: true });
    if (path.startsWith('src/')) cpSync(join(emitted, path), join(target, place));
    else writeFileSync(join(target, place), moved(readFileSync(join(emitted, path), 'utf8'), path));
  }
  rmSync(emitted, { recursive: true });
}

/** Adapts its imports to the new location of the files. */
function moved(/** @type {string} */ text, /** @type {string} */ path) {
  return text.replace(/(from |import\()(['"])(\.[^'"]+)\2/g, (_, before, quote, specifier) => {
    const to = placeOf(join(dirname(path), specifier));
    const from = dirname(placeOf(path));
    const short = relative(from, to);
    return `${before}${quote}${short.startsWith('.') ? short : `./${short}`}${quote}`;
  });
}
