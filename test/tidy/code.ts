/** Rules about what stands in a file: calls, forms and sizes. */
import { childrenOf, isNode, type Node, nodesOf, type Source } from './source.ts';
import type { Violation } from './violation.ts';

const clockFiles = ['src/base/clock.ts', 'src/base/random.ts'];
const takeAClock = 'take a Clock (src/base/clock.ts) and call';

/** Text of the call → what to do instead. */
const bannedCalls: Readonly<Record<string, string>> = {
  'Date.now': `${takeAClock} now()`,
  'performance.now': `${takeAClock} monotonic()`,
  'process.hrtime': `${takeAClock} monotonic()`,
  'process.hrtime.bigint': `${takeAClock} monotonic()`,
  Date: `${takeAClock} now(), then timestamp(ms)`,
  setTimeout: `${takeAClock} after() or sleep()`,
  setInterval: `${takeAClock} after() again each time`,
  'Math.random': 'take a Random (src/base/random.ts) and call next()',
  'crypto.randomUUID': 'take a Random (src/base/random.ts) and call id()',
  randomUUID: 'take a Random (src/base/random.ts) and call id()',
};
const timerModules = ['node:timers', 'node:timers/promises', 'timers', 'timers/promises'];

/** Time and chance that did not come in by the Clock and the Random handed in (I7). */
export function bannedUses({ path, tree, text, imports, lineOf }: Source): Violation[] {
  if (clockFiles.includes(path)) return [];
  const calls = nodesOf(tree).flatMap((node) => {
    const name = calledName(node, text) ?? '';
    const instead = Object.hasOwn(bannedCalls, name) ? bannedCalls[name] : undefined;
    return instead ? [{ path, line: lineOf(node.start), message: `${name} is banned: ${instead}` }] : [];
  });
  const timers = imports
    .filter(({ target }) => timerModules.includes(target))
    .map(({ target, line }) => ({
      path,
      line,
      message: `${target} is banned: ${takeAClock} after() or sleep()`,
    }));
  return [...calls, ...timers];
}

/** `Date.now` for `Date.now()`; `Date` for `Date()` and for `new Date()` without an argument. */
function calledName(node: Node, text: string): string | undefined {
  const isCall = node.type === 'CallExpression';
  const isEmptyNew =
    node.type === 'NewExpression' && Array.isArray(node.arguments) && node.arguments.length === 0;
  if ((!isCall && !isEmptyNew) || !isNode(node.callee)) return undefined;
  return text.slice(node.callee.start, node.callee.end).replace(/^globalThis\./, '');
}

const bannedForms: Readonly<Record<string, string>> = {
  ExportDefaultDeclaration: 'no default export: name what you export',
  TSAnyKeyword: 'no any: say what it is, or unknown and look',
  TSNonNullExpression: 'no "!": handle the case that it is not there',
  TSEnumDeclaration: 'no enum: a union of texts',
  TSParameterProperty: 'no parameter property: write the field',
};

export function forbiddenForms({ path, tree, lineOf }: Source): Violation[] {
  return nodesOf(tree).flatMap((node) => {
    const message = bannedForms[node.type];
    return message ? [{ path, line: lineOf(node.start), message }] : [];
  });
}

export interface Size {
  /** `path`, or `path#function`. */
  readonly name: string;
  readonly lines: number;
  readonly ceiling: number;
}

const fileCeiling = 400;
const functionCeiling = 60;

/**
 * The file and each of its functions with their lengths in lines; a function counts whole, whatever is
 * inside.
 */
export function sizesOf({ path, text, tree, lineOf }: Source): Size[] {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  const functions = functionsIn(tree, 'module').map(({ name, node }) => ({
    name: `${path}#${name}`,
    lines: lineOf(node.end) - lineOf(node.start) + 1,
    ceiling: functionCeiling,
  }));
  return [{ name: path, lines, ceiling: fileCeiling }, ...functions];
}

const functionTypes = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'];

interface Named {
  readonly name: string;
  readonly node: Node;
}

function functionsIn(node: Node, name: string, into: Named[] = []): readonly Named[] {
  // A group of tests is a heading and not a function: its length says nothing.
  const isHeading = node.type === 'CallExpression' && ['describe', 'suite'].includes(calleeOf(node));
  const named = nameOf(node) ?? name;
  if (functionTypes.includes(node.type)) into.push({ name: named, node });
  for (const child of childrenOf(node)) {
    if (isHeading && functionTypes.includes(child.type)) {
      for (const inner of childrenOf(child)) functionsIn(inner, named, into);
    } else functionsIn(child, named, into);
  }
  return into;
}

/** `describe` of `describe(…)`, `describe.each(…)(…)` and `describe.skipIf(…)(…)`. */
function calleeOf(node: Node): string {
  const inner = isNode(node.callee) ? node.callee : isNode(node.object) ? node.object : undefined;
  return inner === undefined ? String(node.name ?? '') : calleeOf(inner);
}

function nameOf(node: Node): string | undefined {
  const holder = isNode(node.id) ? node.id : isNode(node.key) ? node.key : undefined;
  return holder && 'name' in holder ? String(holder.name) : undefined;
}

/**
 * Sizes over their ceiling against the recorded ones. A recorded size may only shrink: one that is too large
 * by now must be lowered, so what was won is not lost again.
 */
export function overCeiling(sizes: readonly Size[], recorded: Readonly<Record<string, number>>): string[] {
  const over = new Map<string, Size>();
  for (const size of sizes) {
    const known = over.get(size.name);
    if (size.lines > size.ceiling && size.lines > (known?.lines ?? 0)) over.set(size.name, size);
  }
  const grown = [...over.values()]
    .filter(({ name, lines }) => lines > (recorded[name] ?? 0))
    .map(
      ({ name, lines, ceiling }) =>
        `${name} has ${lines} lines, allowed are ${recorded[name] ?? ceiling}: split it`,
    );
  const shrunk = Object.entries(recorded)
    .filter(([name, lines]) => (over.get(name)?.lines ?? 0) < lines)
    .map(([name]) => {
      const now = over.get(name)?.lines;
      return `${name}: ${now === undefined ? 'take it out of' : `write ${now} into`} test/tidy.baseline.json`;
    });
  return [...grown, ...shrunk];
}

const commentWidth = 110;

/** Lines of comments that are wider than a reader's eye follows, by file. */
export function wideComments({ path, text }: Pick<Source, 'path' | 'text'>): Size[] {
  const lines = text
    .split('\n')
    .filter((line) => line.length > commentWidth && /^\s*(\*|\/\*|\/\/)/.test(line));
  return lines.length === 0 ? [] : [{ name: `${path} (wide comments)`, lines: lines.length, ceiling: 0 }];
}
