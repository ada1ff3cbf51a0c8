/** The repository's files as the tidy rules see them: text, syntax tree, imports. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseAst } from 'vitest/node';

/** A node of the syntax tree (ESTree with TypeScript). */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Import {
  /** Path inside the repository for a relative import, else the specifier as it stands. */
  readonly target: string;
  readonly typeOnly: boolean;
  readonly line: number;
}

export interface Source {
  /** Relative to the repository, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly tree: Node;
  readonly imports: readonly Import[];
  /** The line of a position in the text, from 1. */
  readonly lineOf: (position: number) => number;
}

/** Paths of all files below the folders, sorted. */
export function filesBelow(root: string, folders: readonly string[]): string[] {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => posix.relative(root, join(entry.parentPath, entry.name))),
    )
    .sort();
}

export function readSource(root: string, path: string): Source {
  return parseSource(path, readFileSync(join(root, path), 'utf8'));
}

export function parseSource(path: string, text: string): Source {
  const tree = parseAst(text, { lang: 'ts' }) as unknown as Node;
  const starts = [...text.matchAll(/\n/g)].map((match) => match.index);
  const lineOf = (position: number) => {
    const next = starts.findIndex((start) => start >= position);
    return 1 + (next < 0 ? starts.length : next);
  };
  return {
    path,
    text,
    tree,
    lineOf,
    imports: nodesOf(tree).flatMap((node) => readImport(path, node, lineOf)),
  };
}

/** By root: each rule goes through all nodes of all files. */
const known = new WeakMap<Node, readonly Node[]>();

/** The node and everything below it, in the order of the text. */
export function nodesOf(root: Node): readonly Node[] {
  const nodes = known.get(root) ?? collected(root, []);
  known.set(root, nodes);
  return nodes;
}

function collected(node: Node, into: Node[]): readonly Node[] {
  into.push(node);
  for (const child of childrenOf(node)) collected(child, into);
  return into;
}

export function childrenOf(node: Node): readonly Node[] {
  const children: Node[] = [];
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) children.push(...value.filter(isNode));
    else if (isNode(value)) children.push(value);
  }
  return children;
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function readImport(path: string, node: Node, lineOf: Source['lineOf']): Import[] {
  const statements = [
    'ImportDeclaration',
    'ExportNamedDeclaration',
    'ExportAllDeclaration',
    'ImportExpression',
  ];
  if (!statements.includes(node.type) || !isNode(node.source)) return [];
  // A module that is named at run time is no import of the program.
  if (typeof node.source.value !== 'string') return [];
  const specifier = String(node.source.value);
  const target = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier;
  return [{ target, typeOnly: isTypeOnly(node), line: lineOf(node.start) }];
}

/** `import type …`, or an import whose every name is a `type`. */
function isTypeOnly(node: Node): boolean {
  if (node.importKind === 'type' || node.exportKind === 'type') return true;
  const names = Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : [];
  return names.length > 0 && names.every((name) => name.importKind === 'type' || name.exportKind === 'type');
}
