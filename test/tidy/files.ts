/** Rules about files as a whole: their names, their first comment, and what no file may mention. */
import type { Violation } from './violation.ts';

const emptyNames = ['utils', 'util', 'helpers', 'helper', 'manager', 'common', 'misc'];

/** A name that says nothing, or one that is not in kebab-case. */
export function badNames(paths: readonly string[]): Violation[] {
  return paths.flatMap((path) => {
    const words = (path.split('/').at(-1) ?? '').split('.')[0]?.split('-') ?? [];
    const empty = words.find((word) => emptyNames.includes(word));
    if (empty)
      return [{ path, line: 1, message: `"${empty}" says nothing: name the one job that the file has` }];
    if (/\.(ts|mjs)$/.test(path) && !words.every((word) => /^[a-z0-9]+$/.test(word))) {
      return [{ path, line: 1, message: 'a file is named in kebab-case' }];
    }
    return [];
  });
}

/** A source file begins with what it owns, promises and leaves out. */
export function missingHeader(path: string, text: string): Violation[] {
  const start = text.replace(/^#!.*\n/, '');
  if (start.startsWith('/**')) return [];
  return [{ path, line: 1, message: 'no header comment: say what the file owns and promises' }];
}

/** Comments that name a file which is not there (any more): `name.ts`, or the end of its path. */
export function deadReferences(path: string, text: string, files: readonly string[]): Violation[] {
  return text.split('\n').flatMap((line, index) => {
    if (!/^\s*(\*|\/\*|\/\/)/.test(line)) return [];
    const named = line.match(/[\w\-/.]+\.ts\b/g) ?? [];
    const dead = named.filter(
      (name) => !files.some((file) => `/${file}`.endsWith(`/${name.replace(/^[./]+/, '')}`)),
    );
    return dead.map((name) => ({ path, line: index + 1, message: `names ${name}, which is not there` }));
  });
}

/** Written in pieces, so that this file does not mention them itself. */
const outside: ReadonlyArray<readonly [RegExp, string]> = [
  [new RegExp('(^|[^\\w.])/(work|home|root|Users)' + '/'), 'a path of one machine'],
  [new RegExp('\\bshared' + '/'), 'a folder outside of the repository'],
  [
    new RegExp(
      'registry\\.(npmjs|yarnpkg|k8s)|\\bdeb\\.' +
        'debian\\.org|\\b(pypi|npmmirror)\\.|\\b(gcr|ghcr|quay|docker)\\.' +
        'io\\b',
    ),
    'the host of a registry: machines bring their own mirrors',
  ],
];

/** The repository stands alone: nothing in it mentions the machine that it was written on. */
export function outsideMentions(path: string, text: string): Violation[] {
  return text.split('\n').flatMap((line, index) =>
    outside
      .filter(([pattern]) => pattern.test(line))
      .map(([, what]) => ({
        path,
        line: index + 1,
        message: `mentions ${what}: ${line.trim().slice(0, 80)}`,
      })),
  );
}
