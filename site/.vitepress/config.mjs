/**
 * The documentation as a site: the pages of docs/ as they are (copied to pages/ before), with docs/README.md as the table of contents, and
 * a search that needs no server. Build: `npm run docs:site`.
 */
import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Where files of the repository that are no pages can be read; undefined while package.json names no repository. */
const files = repositoryFiles(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));

/** @param {{ repository?: { url?: string } }} manifest */
function repositoryFiles({ repository }) {
  const url = repository?.url?.replace(/^git\+/, '').replace(/\.git$/, '');
  return url === undefined ? undefined : `${url}/blob/HEAD`;
}

/** Sections of the table of contents, with the pages that each of them links. */
const sidebar = readFileSync(join(root, 'docs/README.md'), 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    text: section.split('\n', 1)[0],
    items: [...section.matchAll(/\[([^\]]+)\]\((?!\.\.)([^)]+)\.md\)/g)].map(([, text, page = '']) => ({
      text,
      link: `/${page.replace(/README$/, '')}`,
    })),
  }));

export default {
  title: 'Orrery',
  description: 'Every object of a Kubernetes cluster as an explicit statechart',
  srcDir: 'pages',
  outDir: '../dist-site',
  cacheDir: './cache',
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  // Tables of five columns need more than the width of a text.
  head: [
    [
      'style',
      {},
      '.VPDoc.has-aside .content-container { max-width: 60rem !important } :root { --vp-layout-max-width: 110rem }',
    ],
  ],
  markdown: { anchor: { slugify }, config: asTheRepository },
  // Of the inspector's modules, which the charts are drawn with; the builder does not know a newer one.
  vite: { esbuild: { tsconfigRaw: { compilerOptions: { target: 'es2022' } } } },
  themeConfig: { sidebar, search: { provider: 'local' }, outline: [2, 3] },
};

/** Headings have the anchors that GitHub gives them, by which the pages link. @param {string} heading */
function slugify(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}

/** @param {any} md */
function asTheRepository(md) {
  md.core.ruler.push('links-out', (/** @type {any} */ { tokens, env }) => {
    for (const { children } of tokens) leaveDocs(children ?? [], join('docs', env.relativePath, '..'));
  });
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (/** @type {any[]} */ ...args) => {
    const [tokens, index, , env] = args;
    const [, chart] = /^machines\/(.+)\.md$/.exec(env.relativePath) ?? [];
    return chart && tokens[index].info.trim() === 'mermaid' ? figure(chart) : fence(...args);
  };
  // The generator would run what stands in double braces.
  const render = md.render.bind(md);
  md.render = (/** @type {any[]} */ ...args) => render(...args).replaceAll('{{', '&#123;&#123;');
}

/** What theme/charts.mjs fills. @param {string} chart */
function figure(chart) {
  const tools = [
    ['out', '−', 'Smaller (-)'],
    ['in', '+', 'Larger (+)'],
    ['fit', 'Fit', 'As wide as the page'],
    ['full', 'Full screen', 'Full screen, or back'],
  ].map(([does, text, title]) => `<button data-does="${does}" title="${title}">${text}</button>`);
  return `<figure class="chart" data-chart="${chart}"><div class="tools">${tools.join('')}</div><div class="view" tabindex="0"></div></figure>`;
}

/** Links to files that are no pages lead to the repository, or are text. @param {any[]} tokens @param {string} folder */
function leaveDocs(tokens, folder) {
  let isDropped = false;
  for (const token of tokens) {
    if (token.type === 'link_open') isDropped = !isKept(token, folder);
    if (isDropped && /^link_(open|close)$/.test(token.type))
      Object.assign(token, { type: 'text', tag: '', content: '', nesting: 0 });
  }
}

/** @param {any} link @param {string} folder */
function isKept(link, folder) {
  const href = link.attrGet('href');
  if (/^([a-z]+:|#)/.test(href)) return true;
  const target = normalize(join(folder, href));
  if (/^docs\/[^#]*\.md(#|$)/.test(target)) link.attrSet('href', href.replace(/\/README\.md/, '/'));
  else if (files !== undefined) link.attrSet('href', `${files}/${target}`);
  else return false;
  return true;
}
