/**
 * Bundles the program, so that a replica loads two files at its start instead of looking up five hundred
 * modules. Argument: the folder of the built program.
 *
 * The result is `main.js` with its parts beside it, and one file for each program that runs as a process of
 * its own or within another. Promises: what a feature loads on demand stays separate. A file that asks for
 * its location gets that of its source. The licences of everything in the bundle are in
 * `third-party-licenses.txt`.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { licencesOf } from './licences.mjs';

const source = fileURLToPath(new URL('../src/', import.meta.url));
const target = process.argv[2] ?? 'dist';

/** Each of them is small because it stands alone and loads nothing else of the replica. */
const programsAlone = ['cli/agent/agent-main', 'cli/elect/elect-guard', 'features/proxiers/proxier-health'];
/** What features import. They share these two packages with the program, so that charts and schemas fit. */
const api = { name: 'api/index', external: ['xstate', 'valibot'] };

/** Proxies to Kubernetes, YAML, and the domains of certificates. */
const usedRarely = ['hpagent', 'socks', 'socks-proxy-agent', 'tldts', 'yaml'];

const input = {
  platform: /** @type {const} */ ('node'),
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
// A link to it on the PATH is a command.
chmodSync(join(target, 'main.js'), 0o755);
for (const name of programsAlone) for (const id of await bundleAlone(name)) bundled.add(id);
for (const id of await bundleAlone(api.name, api.external)) bundled.add(id);
writeFileSync(join(target, 'third-party-licenses.txt'), licencesOf(bundled));

/** @returns the files in the bundle */
async function bundleMain() {
  const main = await rolldown({
    ...input,
    input: join(source, 'main.ts'),
    plugins: [lightBuiltins(), withoutUnused(), evaluatedOnUse(), placesKept()],
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

/** @param {string} name @param {readonly string[]} [shared] packages that it imports like everyone else */
async function bundleAlone(name, shared = []) {
  const alone = await rolldown({ ...input, external: [...shared], input: join(source, `${name}.ts`) });
  const written = await alone.write({ ...output, file: join(target, `${name}.js`), codeSplitting: false });
  return written.output.flatMap((part) => ('modules' in part ? Object.keys(part.modules) : []));
}

/** All parts of `main.js` are beside it, wherever their sources are. */
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
 * A module that imports Node's own HTTP evaluates all of its exports. One of them, a client for `fetch`,
 * takes longer to load than the rest of Node; this import leaves it out.
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
 * What most replicas never use is evaluated where it is first used, not at the start: its import becomes a
 * `require`, which the bundler answers from the same file.
 */
function evaluatedOnUse() {
  const imported = new RegExp(`^import \\{ ([\\w, ]+) \\} from '(${usedRarely.join('|')})';$`, 'gm');
  return {
    name: 'evaluated-on-use',
    transform(/** @type {string} */ code, /** @type {string} */ id) {
      if (!id.startsWith(source) && !id.includes('@kubernetes/client-node')) return null;
      let changed = code;
      for (const [statement, names = '', from] of code.matchAll(imported)) {
        const used = new RegExp(`(?<![.\\w])(${names.replaceAll(', ', '|')})\\b`, 'g');
        changed = changed.replace(statement, '').replaceAll(used, `(require('${from}').$1)`);
      }
      return changed === code ? null : { code: changed, map: null };
    },
  };
}

/**
 * The Kubernetes client contains an HTTP client for calls that we do not let it make
 * (src/kube/api/kube-http.ts), and libraries contain one that writes lines for their authors.
 */
function withoutUnused() {
  const instead = new Map([
    ['undici', 'module.exports = {};'],
    ['debug', 'module.exports = () => Object.assign(() => {}, { enabled: false });'],
  ]);
  const prefix = '\0instead:';
  return {
    name: 'without-unused',
    resolveId: (/** @type {string} */ name) => (instead.has(name) ? `${prefix}${name}` : null),
    load: (/** @type {string} */ id) => (id.startsWith(prefix) ? instead.get(id.slice(prefix.length)) : null),
  };
}
