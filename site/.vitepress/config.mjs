/**
 * The documentation as a site: the pages of docs/ as they are (copied to pages/ before), a table of contents made from the folders and
 * their headings, and a search that needs no server. Build: `npm run docs:site`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const docs = join(import.meta.dirname, '../pages');

/** @param {string} file below docs/ */
const titleOf = (file) =>
  /^# (.+)$/m.exec(readFileSync(join(docs, file), 'utf8'))?.[1]?.replaceAll('`', '') ?? file;

/** @param {string} file */
const entry = (file) => ({ text: titleOf(file), link: `/${file.replace(/(README)?\.md$/, '')}` });

/** @param {string} folder below docs/ */
const pagesIn = (folder) =>
  readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => entry(`${folder}/${name}`));

/** @param {string} text @param {readonly string[]} files */
const section = (text, files) => ({ text, items: files.map(entry) });

/** @param {string} text @param {string} folder */
const folder = (text, folder) => ({ text, collapsed: true, items: pagesIn(folder) });

const sidebar = [
  section('Start', [
    'README.md',
    'quick-start.md',
    'beside-other-tools.md',
    'architecture.md',
    'glossary.md',
    'inspector.md',
    'kubectl.md',
    'development-cluster.md',
  ]),
  { ...folder('Features', 'features'), collapsed: false },
  ...(readdirSync(docs).includes('guides') ? [{ ...folder('Guides', 'guides'), collapsed: false }] : []),
  section('Operating', ['operating.md', 'alerts.md', 'security.md', 'disaster-recovery.md', 'benchmarks.md']),
  { ...folder('Reference', 'reference'), collapsed: false },
  folder('Statecharts', 'machines'),
  folder('Decisions', 'decisions'),
];

export default {
  title: 'Orrery',
  description: 'Every object of a Kubernetes cluster as an explicit statechart',
  srcDir: 'pages',
  outDir: '../dist-site',
  cacheDir: './cache',
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  // Files of the repository that are no pages; test/docs-links.test.ts checks that they are there.
  ignoreDeadLinks: [
    /(^|\/)\.\.\//,
    /\/(src|test|deploy|examples|packages|scripts|bench)\//,
    /(CHANGELOG|CONTRIBUTING|README|SECURITY)/,
  ],
  // Braces in the pages are text.
  markdown: { config: (/** @type {any} */ md) => md.use(asText) },
  themeConfig: { sidebar, search: { provider: 'local' }, outline: [2, 3] },
};

/** The generator would run what stands in double braces. @param {any} md */
function asText(md) {
  const render = md.render.bind(md);
  md.render = (/** @type {any[]} */ ...args) => render(...args).replaceAll('{{', '&#123;&#123;');
}
