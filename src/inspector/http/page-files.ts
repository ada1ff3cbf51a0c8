/**
 * The files of the inspector's page, in the form for browsers.
 *
 * Owns the list of those files (the folder page/, a few modules that the page shares with the rest, and the
 * files of packages named here), and their form: TypeScript is stripped of its types when the program runs
 * from source, and package names become addresses. Promises: no other file is served; each file has an ETag
 * and is compressed once. They contain no data of the cluster.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { findPackageJSON, stripTypeScriptTypes } from 'node:module';
import { dirname, extname, join, normalize } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

export interface PageFile {
  readonly contentType: string;
  readonly etag: string;
  readonly plain: Buffer;
  /** null: it is already compressed. */
  readonly gzip: Buffer | null;
  readonly brotli: Buffer | null;
}

const sourceFolder = join(import.meta.dirname, '../..');
const pageFolder = 'inspector/page';
/** Modules outside page/ that also run in the browser. */
const sharedModules = [
  'actors/message-words',
  'base/clock',
  'actors/step-order',
  'base/words',
  'inspector/live/live-protocol',
];

/** Address below `/assets/vendor/` → file of a package, and the name under which modules import it. */
const vendored: Readonly<
  Record<string, { readonly pkg: string; readonly file: string; readonly name?: string }>
> = {
  'preact.js': { pkg: 'preact', file: 'dist/preact.mjs', name: 'preact' },
  'preact-hooks.js': { pkg: 'preact', file: 'hooks/dist/hooks.mjs', name: 'preact/hooks' },
  'htm.js': { pkg: 'htm', file: 'dist/htm.mjs', name: 'htm' },
  'inter.woff2': { pkg: '@fontsource-variable/inter', file: 'files/inter-latin-wght-normal.woff2' },
  'jetbrains-mono.woff2': {
    pkg: '@fontsource-variable/jetbrains-mono',
    file: 'files/jetbrains-mono-latin-wght-normal.woff2',
  },
};

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

export type PageFiles = ReturnType<typeof createPageFiles>;

export function createPageFiles() {
  const known = new Map<string, { readonly changed: number; readonly file: PageFile }>();
  const remembered = (path: string, source: string, make: (bytes: Buffer) => Buffer): PageFile => {
    // During development, a changed file appears at the next reload.
    const changed = statSync(source).mtimeMs;
    const found = known.get(path);
    if (found?.changed === changed) return found.file;
    const file = pageFile(contentTypes[extname(path)] ?? '', make(readFileSync(source)));
    known.set(path, { changed, file });
    return file;
  };
  const file = (path: string): PageFile | null => {
    const source = sourceOf(path);
    if (source === null) return null;
    return remembered(path, source, (bytes) => browserForm(source, bytes));
  };
  return {
    /**
     * @param path below `/assets/`
     * @returns null if there is no such file
     */
    file,
    /** The page itself, with the list of all modules it needs, so that they are requested at once. */
    page: (): PageFile =>
      remembered('page.html', join(sourceFolder, pageFolder, 'index.html'), (bytes) =>
        Buffer.from(withPreloads(bytes.toString('utf8'), file)),
      ),
  };
}

/** The file served under the path; null: none. */
function sourceOf(path: string): string | null {
  if (path.includes('\0') || normalize(path) !== path) return null;
  if (path.startsWith('vendor/')) return vendorFile(path.slice('vendor/'.length));
  const isShared = sharedModules.includes(path.replace(/\.[jt]s$/, ''));
  const isOfPage = path.startsWith(`${pageFolder}/`) && extname(path) in contentTypes;
  if (!isShared && !isOfPage) return null;
  const file = join(sourceFolder, path);
  // The page requests main.js; when run from source, that is main.ts.
  const candidates = [file, file.replace(/\.js$/, '.ts')];
  return candidates.find((candidate) => existsSync(candidate) && statSync(candidate).isFile()) ?? null;
}

function vendorFile(name: string): string | null {
  const known = Object.hasOwn(vendored, name) ? vendored[name] : undefined;
  const manifest = known && findPackageJSON(known.pkg, import.meta.url);
  return known && manifest ? join(dirname(manifest), known.file) : null;
}

function browserForm(source: string, bytes: Buffer): Buffer {
  const extension = extname(source);
  if (!['.ts', '.js', '.mjs'].includes(extension)) return bytes;
  const text = bytes.toString('utf8');
  return Buffer.from(withAddresses(extension === '.ts' ? withoutTypes(text) : text));
}

/**
 * Node warns once on the error stream that this function is experimental; our log is there, so the warning is
 * dropped.
 */
function withoutTypes(text: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(text);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Browsers do not know packages: `from 'preact'` becomes `from '/assets/vendor/preact.js'`. */
function withAddresses(text: string): string {
  return text
    .replaceAll(/(\bfrom\s*)(['"])([^'"./][^'"]*)\2/g, (whole, from: string, quote: string, name: string) => {
      const [address] = Object.entries(vendored).find(([, one]) => one.name === name) ?? [];
      return address ? `${from}${quote}/assets/vendor/${address}${quote}` : whole;
    })
    .replaceAll(/^\/\/# sourceMappingURL=.*$/gm, '');
}

function withPreloads(html: string, file: PageFiles['file']): string {
  const modules = new Set<string>();
  const visit = (path: string) => {
    if (modules.has(path)) return;
    modules.add(path);
    const text = file(path)?.plain.toString('utf8') ?? '';
    for (const [, target = ''] of text.matchAll(/\bfrom\s*['"]([^'"]+)['"]/g)) {
      if (target.startsWith('/assets/')) visit(target.slice('/assets/'.length));
      else if (target.startsWith('.')) visit(join(dirname(path), target));
    }
  };
  visit(`${pageFolder}/main.js`);
  const links = [...modules].map((path) => `<link rel="modulepreload" href="/assets/${path}">`);
  return html.replace('<!-- modules -->', links.join('\n    '));
}

function pageFile(contentType: string, plain: Buffer): PageFile {
  const isText = !contentType.startsWith('font/');
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };
  return {
    contentType,
    etag,
    plain,
    gzip: isText ? gzipSync(plain) : null,
    brotli: isText ? brotliCompressSync(plain, quality) : null,
  };
}
