/**
 * The expression language of Kubernetes' validation rules (CEL): the one file that knows the library.
 *
 * Owns: environments with Kubernetes' functions, compilation, and errors in the words of the real server's
 * compiler. Absent: comprehensions with two variables, cost limits, and the exact words of syntax errors.
 */
import {
  Environment,
  EvaluationError,
  Optional,
  ParseError,
  TypeError as TypingError,
} from '@marcbachmann/cel-js';
import { asError } from '../../../../src/base/errors.ts';
import { addressFunctions, addressTypes } from './addresses.ts';
import { type CelFunction, formatted, listFunctions, namespaces, textFunctions } from './functions.ts';
import { quantityFunctions, quantityTypes } from './quantities.ts';

/** A class of objects that expressions see, with the types of its fields. */
export interface CelObjectType {
  readonly name: string;
  readonly ctor: new () => object;
  readonly fields: Readonly<Record<string, string>>;
}

export interface CelProgram {
  /** Type of the result, e.g. `bool`. */
  readonly type: string;
  readonly usesOldSelf: boolean;
  /** @throws CelError */
  readonly run: (variables: Readonly<Record<string, unknown>>) => unknown;
}

/** An expression that cannot be compiled or run; the message is the real server's. */
export class CelError extends Error {}

/** Compiles expressions about values of one type. */
export class CelCompiler {
  readonly #environment: Environment;

  constructor(types: readonly CelObjectType[]) {
    this.#environment = base.clone();
    for (const { name, ctor, fields } of types) {
      this.#environment.registerType(name, { ctor, fields: { ...fields } });
      this.#environment.registerOperator(`${name} == ${name}`, isSame);
    }
  }

  /** @throws CelError */
  compile(text: string, variables: Readonly<Record<string, string>>): CelProgram {
    const environment = this.#environment.clone();
    for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
    const own = text.replace(
      hasCalls,
      (whole, quoted: string | undefined) => quoted ?? `Has${whole.slice(3)}`,
    );
    const program = parsed(environment, own);
    // The library's own variable, which Kubernetes does not have.
    if (usesVariable(program.ast, 'cel')) throw new CelError(undeclared('cel', text));
    const { valid, type = '', error } = program.check();
    if (!valid) throw new CelError(compilerText(error, text));
    return {
      type,
      usesOldSelf: usesVariable(program.ast, 'oldSelf'),
      run: (values) => evaluated(() => program({ ...values })),
    };
  }
}

/** `oldSelf` where a rule says `optionalOldSelf`; undefined: there is none. */
export function optionalOf(value: unknown): unknown {
  return Optional.of(value);
}

/** A duration of the expression language. @throws CelError */
export function durationOf(text: string): unknown {
  return evaluated(() => base.evaluate(`duration(${JSON.stringify(text)})`));
}

/**
 * Quoted text, which stays, and calls of `has`, which is replaced by our own, for the library's takes plain
 * names only.
 */
const hasCalls = /("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\bhas(?=\s*\()/g;

const base = baseEnvironment();

function baseEnvironment(): Environment {
  const environment = new Environment({ enableOptionalTypes: true });
  for (const { name, ctor } of [...addressTypes, ...quantityTypes, ...namespaces]) {
    environment.registerType(name, { ctor, fields: {} });
  }
  for (const { name, variable, ctor } of namespaces) environment.registerConstant(variable, name, new ctor());
  const functions: readonly CelFunction[] = [
    ...textFunctions,
    ...listFunctions,
    ...addressFunctions,
    ...quantityFunctions,
  ];
  for (const [signature, handler] of functions) environment.registerFunction(signature, handler);
  for (const { name } of [...addressTypes, ...quantityTypes])
    environment.registerOperator(`${name} == ${name}`, isSame);
  environment.registerFunction('Has(ast): bool', hasMacro);
  environment.registerFunction('string.format(ast): string', formatMacro);
  return environment;
}

interface Node {
  readonly op: string;
  readonly args: readonly unknown[];
}

interface Checker {
  check(node: unknown, context: unknown): unknown;
  getType(name: string): unknown;
  createError(code: string, message: string, node: unknown): Error;
}

interface Evaluator {
  run(node: unknown, context: unknown): unknown;
  debugType(value: unknown): {
    fieldLazy(value: unknown, key: unknown, node: unknown, self: Evaluator): unknown;
  };
}

/** `has(e.f)`: whether the object `e` has a field `f`, which its type must know. */
function hasMacro({ args, ast }: { args: readonly Node[]; ast: unknown }) {
  const [field] = args;
  return {
    typeCheck(checker: Checker, _macro: unknown, context: unknown) {
      if (field?.op !== '.') throw checker.createError('has', 'invalid argument to has() macro', field);
      checker.check(field.args[0], context);
      try {
        checker.check(field, context);
      } catch {
        throw checker.createError('has', `No such field: ${field.args[1]}`, ast);
      }
      return checker.getType('bool');
    },
    evaluate(evaluator: Evaluator, _macro: unknown, context: unknown) {
      const owner = evaluator.run(field?.args[0], context);
      const found = evaluator.debugType(owner).fieldLazy(owner, field?.args[1], field, evaluator);
      return found !== undefined;
    },
  };
}

/** `text.format([…])`, whose list may be of many types. */
function formatMacro({ args, receiver }: { args: readonly Node[]; receiver: unknown }) {
  const [list] = args;
  const items = list?.op === 'list' && Array.isArray(list.args) ? (list.args as unknown[]) : undefined;
  return {
    typeCheck(checker: Checker, _macro: unknown, context: unknown) {
      checker.check(receiver, context);
      for (const item of items ?? [list]) checker.check(item, context);
      return checker.getType('string');
    },
    evaluate(evaluator: Evaluator, _macro: unknown, context: unknown) {
      const values = items?.map((item) => evaluator.run(item, context)) ?? evaluator.run(list, context);
      return formatted(String(evaluator.run(receiver, context)), Array.isArray(values) ? values : []);
    },
  };
}

function parsed(environment: Environment, text: string) {
  try {
    return environment.parse(text);
  } catch (thrown) {
    throw new CelError(compilerText(asError(thrown), text));
  }
}

function evaluated(run: () => unknown): unknown {
  try {
    return run();
  } catch (thrown) {
    const error = asError(thrown);
    const text = error instanceof EvaluationError ? error.summary : error.message;
    throw new CelError(
      text
        .replace(/^No such key: index out of bounds, index (\d+).*/, 'index out of bounds: $1')
        .replace(/^No such key/, 'no such key'),
    );
  }
}

function undeclared(name: string, source: string): string {
  const summary = `Unknown variable: ${name}`;
  const start = Math.max(0, source.indexOf(name));
  return compilerText(new TypingError({ message: summary, range: { start, end: start } }), source);
}

/** The error as the real compiler tells it: place, text, the line and a mark below it. */
function compilerText(thrown: Error | undefined, source: string): string {
  const error = thrown instanceof ParseError || thrown instanceof TypingError ? thrown : undefined;
  const start = error?.range?.start ?? 0;
  const { text, at } = toldError(error, thrown?.message ?? 'unknown error', start, source);
  const before = source.slice(0, at).split('\n');
  const column = before.at(-1)?.length ?? 0;
  const line = source.split('\n')[before.length - 1] ?? '';
  return `ERROR: <input>:${before.length}:${column + 1}: ${text}\n | ${line}\n | ${'.'.repeat(column)}^`;
}

function toldError(
  error: ParseError | TypingError | undefined,
  fallback: string,
  start: number,
  source: string,
): { text: string; at: number } {
  const summary = error?.summary ?? fallback;
  const key = /^No such key: (.*)$/.exec(summary)?.[1];
  if (key !== undefined) return { text: `undefined field '${key}'`, at: Math.max(0, start - 1) };
  const unset = /^No such field: (.*)$/.exec(summary)?.[1];
  if (unset !== undefined) return { text: `undefined field '${unset}'`, at: source.indexOf('(', start) };
  const name = /^Unknown variable: (.*)$/.exec(summary)?.[1];
  if (name !== undefined) return { text: `undeclared reference to '${name}' (in container '')`, at: start };
  const binary = /^no such overload: (.+) (\S+) (.+)$/.exec(summary);
  if (binary !== null) {
    const [, left = '', sign = '', right = ''] = binary;
    const text = `found no matching overload for '_${sign}_' applied to '(${left}, ${right})'`;
    return { text, at: operatorAt(error, sign, start, source) };
  }
  const call = /^found no matching overload for '(?:(\S+)\.)?(\w+)\((.*)\)'$/.exec(summary);
  if (call !== null) return callError(call[1], call[2] ?? '', call[3] ?? '', start, source);
  return { text: error instanceof ParseError ? `Syntax error: ${summary}` : summary, at: start };
}

/** Where the sign stands: the last one before the right operand. */
function operatorAt(
  error: ParseError | TypingError | undefined,
  sign: string,
  start: number,
  source: string,
): number {
  const node = error?.node as { args?: ReadonlyArray<{ start?: number }> } | undefined;
  const right = node?.args?.[1]?.start;
  return right === undefined ? start : Math.max(start, source.lastIndexOf(sign, right - 1));
}

function callError(receiver: string | undefined, name: string, args: string, start: number, source: string) {
  const at = Math.max(start, source.indexOf(`${name}(`, start) + name.length);
  const isKnown = base.getDefinitions().functions.some((known) => known.name === name);
  if (!isKnown) return { text: `undeclared reference to '${name}' (in container '')`, at };
  const applied = receiver === undefined ? `(${args})` : `${receiver}.(${args})`;
  return { text: `found no matching overload for '${name}' applied to '${applied}'`, at };
}

function usesVariable(node: unknown, name: string): boolean {
  if (Array.isArray(node)) return node.some((part) => usesVariable(part, name));
  if (typeof node !== 'object' || node === null || !('op' in node) || !('args' in node)) return false;
  return (node.op === 'id' && node.args === name) || usesVariable(node.args, name);
}

/** Equality of what the library cannot compare: our objects, by their fields. */
function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof Map && b instanceof Map)
    return a.size === b.size && [...a].every(([key, value]) => b.has(key) && isSame(value, b.get(key)));
  const left = Object.entries(a);
  const right: Readonly<Record<string, unknown>> = Object.fromEntries(Object.entries(b));
  return (
    left.length === Object.keys(right).length &&
    left.every(([key, value]) => Object.hasOwn(right, key) && isSame(value, right[key]))
  );
}
