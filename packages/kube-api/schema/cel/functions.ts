/**
 * Functions on texts, lists and sets that Kubernetes adds to the standard ones of its expression language.
 *
 * The library's own (`lowerAscii`, `split`, `join`, `substring`, `matches`, …) are not repeated.
 */
import { compiledPattern } from '../formats.ts';

/** Signature and implementation. Integers are bigints, doubles numbers, lists arrays. */
export type CelFunction = readonly [signature: string, handler: (...values: never[]) => unknown];

/** Variables whose methods are functions: `sets.contains(a, b)`. */
export const namespaces: ReadonlyArray<{ name: string; variable: string; ctor: new () => object }> = [
  { name: 'SetsNamespace', variable: 'sets', ctor: class SetsNamespace {} },
];

export const textFunctions: readonly CelFunction[] = [
  ['string.charAt(int): string', (text: string, at: bigint) => charAt([...text], Number(at))],
  [
    'string.replace(string, string): string',
    (text: string, from: string, to: string) => text.replaceAll(from, () => to),
  ],
  [
    'string.replace(string, string, int): string',
    (text: string, from: string, to: string, count: bigint) => replaceSome(text, from, to, Number(count)),
  ],
  ['string.reverse(): string', (text: string) => [...text].reverse().join('')],
  [
    'string.find(string): string',
    (text: string, pattern: string) => expression(pattern).exec(text)?.[0] ?? '',
  ],
  ['string.findAll(string): list<string>', (text: string, pattern: string) => findAll(text, pattern, -1)],
  [
    'string.findAll(string, int): list<string>',
    (text: string, pattern: string, count: bigint) => findAll(text, pattern, Number(count)),
  ],
];

type Ordered = bigint | number | string | boolean | Date;

export const listFunctions: readonly CelFunction[] = [
  [
    'list.isSorted(): bool',
    (list: Ordered[]) => list.every((item, at) => at === 0 || (list[at - 1] ?? item) <= item),
  ],
  ['list<int>.sum(): int', (list: bigint[]) => list.reduce((sum, item) => sum + item, 0n)],
  ['list<double>.sum(): double', (list: number[]) => list.reduce((sum, item) => sum + item, 0)],
  ['list<A>.min(): A', (list: Ordered[]) => extreme('min', list, (a, b) => a < b)],
  ['list<A>.max(): A', (list: Ordered[]) => extreme('max', list, (a, b) => a > b)],
  [
    'list<A>.indexOf(A): int',
    (list: unknown[], item: unknown) => BigInt(list.findIndex((other) => same(other, item))),
  ],
  [
    'list<A>.lastIndexOf(A): int',
    (list: unknown[], item: unknown) => BigInt(list.findLastIndex((other) => same(other, item))),
  ],
  ['list<A>.distinct(): list<A>', (list: unknown[]) => list.filter((item, at) => indexIn(list, item) === at)],
  [
    'list<A>.slice(int, int): list<A>',
    (list: unknown[], from: bigint, to: bigint) => slice(list, Number(from), Number(to)),
  ],
  ['list<A>.reverse(): list<A>', (list: unknown[]) => list.toReversed()],
  ['list<A>.sort(): list<A>', (list: Ordered[]) => list.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))],
  ['SetsNamespace.contains(list<A>, list<A>): bool', (_: unknown, a: unknown[], b: unknown[]) => holds(a, b)],
  [
    'SetsNamespace.equivalent(list<A>, list<A>): bool',
    (_: unknown, a: unknown[], b: unknown[]) => holds(a, b) && holds(b, a),
  ],
  [
    'SetsNamespace.intersects(list<A>, list<A>): bool',
    (_: unknown, a: unknown[], b: unknown[]) => b.some((item) => indexIn(a, item) >= 0),
  ],
];

function charAt(chars: readonly string[], at: number): string {
  if (at < 0 || at > chars.length) throw new Error(`index out of range: ${at}`);
  return chars[at] ?? '';
}

function replaceSome(text: string, from: string, to: string, count: number): string {
  if (count < 0) return text.replaceAll(from, () => to);
  const parts = text.split(from);
  const changed = Math.min(count, parts.length - 1);
  const head = parts.slice(0, changed + 1).join(to);
  return [head, ...parts.slice(changed + 1)].join(from);
}

function expression(pattern: string): RegExp {
  const compiled = compiledPattern(pattern);
  if (compiled === undefined) throw new Error(`Illegal regex: error parsing regexp: \`${pattern}\``);
  return compiled;
}

function findAll(text: string, pattern: string, count: number): string[] {
  const { source, flags } = expression(pattern);
  const all = [...text.matchAll(new RegExp(source, `${flags}g`))].map((match) => match[0]);
  return count < 0 ? all : all.slice(0, count);
}

/** `%s`, `%d`, `%f`, `%e`, `%x`, `%o`, `%b`, with a precision for the numbers that have one. */
export function formatted(text: string, values: readonly unknown[]): string {
  let next = 0;
  return text.replace(
    /%(?:%|(?:\.(\d+))?(.))/g,
    (whole, precision: string | undefined, verb: string | undefined) => {
      if (verb === undefined) return '%';
      if (next >= values.length) throw new Error(`index ${next} out of range`);
      const value = values[next];
      next += 1;
      return verbText(verb, value, Number(precision ?? 6)) ?? whole;
    },
  );
}

function verbText(verb: string, value: unknown, precision: number): string | undefined {
  const radix = { x: 16, X: 16, o: 8, b: 2 }[verb];
  if (verb === 's') return shownValue(value);
  if (verb === 'd') return String(value);
  if (verb === 'f') return Number(value).toFixed(precision);
  if (verb === 'e')
    return Number(value)
      .toExponential(precision)
      .replace(/e([+-])(\d)$/, 'e$10$2');
  if (radix === undefined) throw new Error(`unrecognized formatting clause "${verb}"`);
  const digits =
    typeof value === 'string' ? Buffer.from(value).toString('hex') : BigInt(value as bigint).toString(radix);
  return verb === 'X' ? digits.toUpperCase() : digits;
}

function shownValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shownValue).join(', ')}]`;
  if (value instanceof Map)
    return `{${[...value].map(([key, item]) => `${shownValue(key)}: ${shownValue(item)}`).join(', ')}}`;
  return value instanceof Date ? value.toISOString() : String(value);
}

function extreme(
  name: string,
  list: readonly Ordered[],
  isBetter: (a: Ordered, b: Ordered) => boolean,
): Ordered {
  const [first, ...rest] = list;
  if (first === undefined) throw new Error(`${name} called on empty list`);
  return rest.reduce((best, item) => (isBetter(item, best) ? item : best), first);
}

function slice(list: readonly unknown[], from: number, to: number): unknown[] {
  if (from < 0 || to > list.length || from > to)
    throw new Error(`cannot slice(${from}, ${to}), start and end must be within the list of ${list.length}`);
  return list.slice(from, to);
}

function holds(list: readonly unknown[], wanted: readonly unknown[]): boolean {
  return wanted.every((item) => indexIn(list, item) >= 0);
}

function indexIn(list: readonly unknown[], item: unknown): number {
  return list.findIndex((other) => same(other, item));
}

function same(a: unknown, b: unknown): boolean {
  return (
    a === b ||
    (Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, at) => same(item, b[at])))
  );
}
