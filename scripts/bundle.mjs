/**
 * Bundles the program: what a replica loads at its start is two files, not five hundred modules to look up.
 * Argument: the folder of the built program.
 *
 * `main.js` with its parts beside it, and each program that runs as a process of its own, or within another
 * one, as one file in its place. Promises: what a feature loads only where it is asked for stays apart; a
 * file that asks where it lies is told where its source would be; the licences of everything that is bundled
 * stand in `third-party-licenses.txt`.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { licencesOf } from './licences.mjs';

const source = fileURLToPath(new URL('../src/', import.meta.url));
const target = process.argv[2] ?? 'dist';

/** Each of them is small because it is alone: what the replica needs beside it is not loaded. */
const programsAlone = ['cli/agent/agent-main', 'cli/elect/elect-guard', 'features/proxiers/proxier-health'];
/** What features import: they share these two with it, so that charts and schemas are of one make. */
const api = { name: 'api/index', external: ['xstate', 'valibot'] };

const input = {
  platform: /** @type {const} */ ('node'),
  // Compiled for one platform: it is used where it is installed, and can be done without.
  external: ['msgpackr-extract'],
  // Of the client of Kubernetes only the credentials are used, and loading the rest of it does nothing.
  treeshake: { moduleSideEffects: (/** @type {string} */ id) => !id.includes('@kubernetes/client-node') },
};
/**
 * One letter that is not Latin makes Node keep two bytes of memory for each of a file's, for as long as it
 * runs.
 */
const charset = /** @type {const} */ ('ascii');
const output = { format: /** @type {const} */ ('esm'), sourcemap: true, comments: false, charset };

const bundled = new Set(await bundleMain());
for (const name of programsAlone) for (const id of await bundleAlone(name)) bundled.add(id);
for (const id of await bundleAlone(api.name, api.external)) bundled.add(id);
writeFileSync(join(target, 'third-party-licenses.txt'), licencesOf(bundled));

/** @returns the files that are in it */
async function bundleMain() {
  const main = await rolldown({
    ...input,
    input: join(source, 'main.ts'),
    plugins: [lightBuiltins(), withoutFetch(), placesKept()],
  });
  const written = await main.write({
    ...output,
    dir: target,
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    codeSplitting: {
      groups: [
        { name: 'command', test: /src\/cli\/(program|terminal)\.ts$/, priority: 2 },
        { name: 'replica-parts', test: /src\/(replica\/replica|features\/[^/]+\/start)\.ts$/, priority: 1 },
      ],
    },
  });
  return written.output.flatMap((part) => ('modules' in part ? Object.keys(part.modules) : []));
}

/** @param {string} name @param {readonly string[]} [shared] packages that it imports as others do */
async function bundleAlone(name, shared = []) {
  const external = [...input.external, ...shared];
  const alone = await rolldown({ ...input, external, input: join(source, `${name}.ts`) });
  const written = await alone.write({ ...output, file: join(target, `${name}.js`), codeSplitting: false });
  return written.output.flatMap((part) => ('modules' in part ? Object.keys(part.modules) : []));
}

/** All parts of `main.js` lie beside it, wherever their sources lie. */
function placesKept() {
  return {
    name: 'places-kept',
    transform(/** @type {string} */ code, /** @type {string} */ id) {
      if (!id.startsWith(source) || !code.includes('import.meta.')) return null;
      const file = relative(source, id).replaceAll('\\', '/').replace(/\.ts$/, '.js');
      const places = { dirname: dirname(file), filename: file };
      const placed = code
        .replaceAll(
          /\bimport\.meta\.(dirname|filename)\b/g,
          (_, /** @type {'dirname' | 'filename'} */ which) => `(import.meta.dirname + '/${places[which]}')`,
        )
        .replaceAll(/\bimport\.meta\.url\b/g, `new URL('${file}', import.meta.url).href`);
      // Each line stays where it was.
      return { code: placed, map: null };
    },
  };
}

/**
 * Importing Node's own HTTP as a module reads everything that it offers, a client for `fetch` among it that
 * takes longer to load than the rest of Node; whoever asks for it this way gets it without.
 */
function lightBuiltins() {
  const prefix = '\0builtin:';
  return {
    name: 'light-builtins',
    resolveId: (/** @type {string} */ name) =>
      /^(node:)?https?$/.test(name) ? `${prefix}${name.replace(/^node:/, '')}` : null,
    load: (/** @type {string} */ id) =>
      id.startsWith(prefix)
        ? `module.exports = process.getBuiltinModule('node:${id.slice(prefix.length)}');`
        : null,
  };
}

/**
 * The client of Kubernetes brings an HTTP client for calls that we do not let it make
 * (src/kube/api/kube-http.ts).
 */
function withoutFetch() {
  const id = '\0without-fetch';
  return {
    name: 'without-fetch',
    resolveId: (/** @type {string} */ name) => (name === 'undici' ? id : null),
    load: (/** @type {string} */ asked) => (asked === id ? 'module.exports = {};' : null),
  };
}
