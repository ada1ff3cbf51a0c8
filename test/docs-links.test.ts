/**
 * The pages hold together: links lead somewhere, the index has every page, promises are numbered, and what is
 * cited exists. Each rule first on a text that breaks it, then on the repository.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : null);
const files = (...patterns: string[]) =>
  globSync(patterns, { cwd: root, exclude: (path) => path.endsWith('node_modules') }).sort();

const pages = files('*.md', '{docs,src,packages,examples,deploy}/**/*.md');
const features = files('docs/features/*.md');
const citing = files('{src,test,bench,scripts,packages,deploy,examples}/**/*.{ts,mjs,yaml,conf}', ...pages);

type Read = (path: string) => string | null;

/** What is code is no link and no heading. */
const withoutFences = (text: string) => text.replaceAll(/^( *)(```+)[\s\S]*?^\1\2 *$/gm, '');
const withoutCode = (text: string) => withoutFences(text).replaceAll(/`[^`\n]*`/g, '');

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const anchors = [...withoutFences(text).matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading = '']) => {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = words.replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '').replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return new Set(anchors);
}

/** Links of a page to files, or to headings, that are not there; so is a link out of the repository. */
function brokenLinks(
  page: string,
  text: string,
  readPage: Read,
  isThere: (path: string) => boolean,
): string[] {
  const links = [...withoutCode(text).matchAll(/\]\((?![a-z]+:)([^)\s]+)[^)]*\)/g)].map(
    ([, link = '']) => link,
  );
  return links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : normalize(join(dirname(page), path));
    if (target.startsWith('..') || !isThere(target)) return true;
    if (anchor === undefined || !target.endsWith('.md')) return false;
    return !anchorsOf(readPage(target) ?? '').has(anchor);
  });
}

/** Section → its title and how many sentences it has; what is out of order is told. */
function promisesOf(text: string) {
  const sections = new Map<number, { readonly title: string; sentences: number }>();
  const disorder: string[] = [];
  for (const [, number, title = '', outer, inner] of withoutFences(text).matchAll(
    /^(?:### §(\d+) (.+)|- \*\*(\d+)\.(\d+)\*\* .+)$/gm,
  )) {
    const section = Number(number ?? outer);
    const last = sections.get(sections.size);
    if (number !== undefined) {
      if (section !== sections.size + 1) disorder.push(`§${section}`);
      sections.set(section, { title, sentences: 0 });
    } else if (last === undefined || section !== sections.size || Number(inner) !== last.sentences + 1)
      disorder.push(`${outer}.${inner}`);
    if (number === undefined && last !== undefined) last.sentences++;
  }
  return { sections, disorder };
}

/**
 * Citations such as docs/features/routes.md, then §3, §3.4 or §3 with the title in quotes, that name nothing.
 */
function brokenCitations(text: string, readPage: Read): string[] {
  const found = text.matchAll(/(docs\/features\/[a-z-]+\.md) §(\d+)(?:\.(\d+))?(?: "([^"\n]+)")?/g);
  return [...found].flatMap(([whole, page = '', number, sentence, title]) => {
    const section = promisesOf(readPage(page) ?? '').sections.get(Number(number));
    const isThere =
      section !== undefined &&
      Number(sentence ?? 0) <= section.sentences &&
      (title === undefined || title === section.title);
    return isThere ? [] : [whole];
  });
}

describe('links', () => {
  const page = '# One\n\n## A `word`, and §2 more\n\n```\n## None\n[x](gone.md)\n```\n\n## One\n';

  test('headings get the anchors that GitHub gives them, code gets none', () => {
    expect([...anchorsOf(page)]).toEqual(['one', 'a-word-and-2-more', 'one-1']);
  });

  test('a link to a missing file or heading, or out of the repository, is found', () => {
    const text =
      '[a](b.md) [b](b.md#one) [c](b.md#none) [d](gone.md) [e](../../x) [f](#up) `[g](gone)` [h](https://x.y)';
    const broken = brokenLinks(
      'docs/a.md',
      text,
      () => page,
      (path) => path === 'docs/b.md' || path === 'docs/a.md',
    );
    expect(broken).toEqual(['b.md#none', 'gone.md', '../../x', '#up']);
  });

  test.each(pages)('every link of %s leads somewhere', (path) => {
    expect(brokenLinks(path, read(path) ?? '', read, (target) => existsSync(join(root, target)))).toEqual([]);
  });

  test('the index has every page', () => {
    const index = read('docs/README.md') ?? '';
    const listed = files('docs/*.md', 'docs/{features,reference,decisions}/*.md').filter(
      (path) => path !== 'docs/README.md',
    );
    expect(listed.filter((path) => !index.includes(`](${path.slice('docs/'.length)})`))).toEqual([]);
  });
});

describe('promises', () => {
  const page = '### §1 First\n- **1.1** a\n- **1.2** b\n### §2 Second\n- **2.1** c\n';

  test('numbers that are missing, repeated or in the wrong section are found', () => {
    expect(promisesOf(page).disorder).toEqual([]);
    expect(promisesOf(`${page}- **2.3** d\n- **1.3** e\n### §4 x\n`).disorder).toEqual(['2.3', '1.3', '§4']);
  });

  test('a citation of a page, section, sentence or title that does not exist is found', () => {
    const file = 'docs/features/a.md';
    const cited = (what: string) =>
      brokenCitations(`${file} ${what}`, (path) => (path === file ? page : null));
    expect([...cited('§2'), ...cited('§1.2'), ...cited('§2 "Second"')]).toEqual([]);
    expect([cited('§3'), cited('§1.3'), cited('§2 "First"')].map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(brokenCitations('docs/features/b.md §' + '1', () => null)).toHaveLength(1);
  });

  test.each(features)('the promises of %s are numbered in order', (path) => {
    const { sections, disorder } = promisesOf(read(path) ?? '');
    expect(disorder).toEqual([]);
    expect([...sections.values()].filter(({ sentences }) => sentences === 0)).toEqual([]);
    expect(sections.size).toBeGreaterThan(0);
  });

  test('whatever cites a promise cites one that exists', () => {
    const broken = citing.flatMap((path) =>
      brokenCitations(read(path) ?? '', read).map((citation) => `${path}: ${citation}`),
    );
    expect(broken).toEqual([]);
  });
});
