/**
 * The rooms of the house, from the top floor down: each may import what is below it and nothing above, types
 * included (CONTRIBUTING.md, "The rooms"). A room is a folder of src/; nothing lies loose beside them but
 * main.ts.
 */
import type { Import, Source } from './source.ts';
import type { Violation } from './violation.ts';

/** One list is the whole rule. */
export const rooms = [
  'main.ts',
  'cli',
  'replica',
  'inspector',
  'features',
  'api',
  'kube',
  'actors',
  'machines',
  'bus',
  'base',
] as const;

/** More rooms than this and nobody knows which door to take. */
export const roomsMax = 12;
/** A folder with more files than this is two. */
export const filesInFolderMax = 20;

/**
 * Charts are pure (I7): of the ground floor they take forms, bounds and arithmetic, and never what acts or
 * reads the time.
 */
const impureBase = ['clock.ts', 'random.ts', 'log.ts'];

/**
 * Imports that lead upwards, from one feature to another, from a chart to the outside, or from the program to
 * the packages.
 */
export function upwardImports(sources: readonly Source[]): Violation[] {
  return sources.flatMap(({ path, imports }) =>
    imports.flatMap(({ target, line, typeOnly }) => {
      const message = complaint(path, { target, line, typeOnly });
      return message === null ? [] : [{ path, line, message }];
    }),
  );
}

function complaint(path: string, { target, typeOnly }: Import): string | null {
  if (path.startsWith('packages/')) return packageComplaint(path, target);
  if (!path.startsWith('src/')) return null;
  if (target.startsWith('packages/')) return 'the program runs without the packages: load them by name';
  const [from, to] = [roomOf(path), roomOf(target)];
  if (from === 'machines' && !target.startsWith('src/')) {
    return target === 'xstate' ? null : `a chart is pure: it imports no ${target}`;
  }
  if (from === null || to === null) return null;
  if (rooms.indexOf(to) < rooms.indexOf(from)) return `${from} must not import ${to}: it is above`;
  const [mine, theirs] = [featureOf(path), featureOf(target)];
  if (mine !== null && theirs !== null && mine !== theirs) {
    return `feature ${mine} must not import feature ${theirs}: they meet in the engine`;
  }
  const isImpure = to === 'base' && impureBase.includes(target.slice('src/base/'.length));
  return from === 'machines' && isImpure && !typeOnly ? `a chart is pure: it takes no ${target}` : null;
}

/** The development API is a product of its own; the development cluster is made of it and of the program. */
function packageComplaint(path: string, target: string): string | null {
  if (!path.startsWith('packages/kube-api/') || !/^(src|packages)\//.test(target)) return null;
  const isOwn = target.startsWith('packages/kube-api/') || target.startsWith('src/base/');
  return isOwn ? null : `packages/kube-api imports nothing of the program but base, so not ${target}`;
}

type Room = (typeof rooms)[number];

function roomOf(path: string): Room | null {
  const name = path.split('/')[1] ?? '';
  return path.startsWith('src/') ? (rooms.find((room) => room === name) ?? null) : null;
}

const featureOf = (path: string) => /^src\/features\/([^/]+)\//.exec(path)?.[1] ?? null;

/** Files directly in src/, folders that are no room, and folders with too many files. */
export function misplaced(paths: readonly string[]): string[] {
  const known: readonly string[] = rooms;
  const strays = paths.filter((path) => path.startsWith('src/') && !known.includes(path.split('/')[1] ?? ''));
  const folders = Map.groupBy(paths, (path) => path.slice(0, path.lastIndexOf('/')));
  const crowded = [...folders].filter(([, files]) => files.length > filesInFolderMax);
  return [
    ...strays.map((path) => `${path} is in no room`),
    ...crowded.map(
      ([folder, files]) => `${folder} has ${files.length} files, allowed are ${filesInFolderMax}`,
    ),
  ];
}

/**
 * Circles of files, types included: what must be read together should be one file, or be told apart by a
 * third.
 */
export function circles(sources: readonly Source[]): string[][] {
  const graph = new Map(
    sources.map(({ path, imports }) => [path, new Set(imports.map(({ target }) => target))] as const),
  );
  const found: string[][] = [];
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const visit = (path: string) => {
    index.set(path, index.size);
    lowest.set(path, index.size - 1);
    stack.push(path);
    for (const next of graph.get(path) ?? []) {
      if (!graph.has(next)) continue;
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) lowest.set(path, Math.min(low(lowest, path), low(lowest, next)));
    }
    if (low(lowest, path) !== index.get(path)) return;
    const circle = stack.splice(stack.indexOf(path));
    if (circle.length > 1 || graph.get(path)?.has(path)) found.push(circle.sort());
  };
  for (const path of graph.keys()) if (!index.has(path)) visit(path);
  return found;
}

const low = (lowest: ReadonlyMap<string, number>, path: string) => lowest.get(path) ?? 0;

/** Rooms that serve every feature and so name none: neither by its name nor by the kinds of its charts. */
const anonymousRooms = ['src/actors/', 'src/kube/', 'src/inspector/', 'src/cli/'];

/** Texts of the program that begin with the name of a kind: `'pod'`, `'pod/…'`, `'pod.observed'`. */
export function namedKinds(sources: readonly Source[], kinds: readonly string[]): Violation[] {
  const pattern = new RegExp(`(['"\`])(${kinds.join('|')})(?:\\1|[./])`);
  return sources
    .filter(({ path }) => anonymousRooms.some((room) => path.startsWith(room)))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, at) => {
        const [, , kind] = isComment(line) ? [] : (pattern.exec(line) ?? []);
        return kind === undefined
          ? []
          : [{ path, line: at + 1, message: `names the kind ${kind}: only its feature knows it` }];
      }),
    );
}

const isComment = (line: string) => /^\s*(\*|\/\*|\/\/)/.test(line);
