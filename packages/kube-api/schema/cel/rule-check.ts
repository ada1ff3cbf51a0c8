/**
 * Checks an object against its definition's rules.
 *
 * Promises: a rule that names `oldSelf` runs only if there is an old value to compare with. On an update, an
 * unchanged part is not checked against rules that it broke before.
 */
import { type Cause, type CauseReason, invalidValue } from '../../causes.ts';
import { equal, isObject, type Json } from '../../json.ts';
import type { Schema } from '../schema.ts';
import { listKeyOf } from '../validate.ts';
import { CelError, type CelProgram, optionalOf } from './cel-library.ts';
import { fieldAt } from './field-path.ts';
import { type CompiledRule, type RuleNode, type Rules, rulesOf } from './rules.ts';

/** Field name of a cause about the object as a whole. */
const nowhere = '<nil>';

/** Complaints that keep the rules from running, because rules rely on what the schema says. */
const blocking: ReadonlySet<CauseReason> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** @param before complaints of the schema itself */
export function ruleCauses(
  schema: Schema,
  value: Json,
  old: Json | undefined,
  before: readonly Cause[],
): Cause[] {
  const rules = rulesOf(schema);
  if (rules === undefined) return [];
  if (before.some(({ reason }) => blocking.has(reason))) {
    const text =
      'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
    return [invalidValue(nowhere, null, text)];
  }
  const causes: Cause[] = [];
  check({ rules, causes }, rules.root, value, old, '');
  return causes;
}

interface Round {
  readonly rules: Rules;
  readonly causes: Cause[];
}

function check(round: Round, node: RuleNode, value: Json, old: Json | undefined, path: string): void {
  if (value === null) return;
  for (const rule of node.rules) {
    const cause = ask(round.rules, node.schema, rule, value, old ?? undefined, path);
    if (cause !== undefined) round.causes.push(cause);
  }
  if (isObject(value)) {
    const before = isObject(old) ? old : {};
    for (const [key, field] of Object.entries(value)) {
      const own = node.properties.get(key);
      const at = own === undefined ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      const inner = own ?? (isDeclared(node.schema, key) ? undefined : node.additional);
      if (inner !== undefined && field !== undefined) check(round, inner, field, before[key], at);
    }
  }
  if (Array.isArray(value) && node.items !== undefined) {
    for (const [index, item] of value.entries())
      check(round, node.items, item, oldItem(node.schema, item, old), `${path}[${index}]`);
  }
}

function isDeclared(schema: Schema, key: string): boolean {
  return Object.hasOwn(schema.properties ?? {}, key);
}

/** Only items of lists with keys can be found again. */
function oldItem(schema: Schema, item: Json, old: Json | undefined): Json | undefined {
  if (!Array.isArray(old) || schema['x-kubernetes-list-type'] !== 'map') return undefined;
  const key = listKeyOf(schema, item);
  return old.find((other) => equal(listKeyOf(schema, other), key));
}

function ask(
  rules: Rules,
  schema: Schema,
  compiled: CompiledRule,
  value: Json,
  old: Json | undefined,
  path: string,
): Cause | undefined {
  const { rule, program } = compiled;
  if (program instanceof CelError)
    return invalidValue(path || nowhere, schema.type ?? '', `rule compile error: ${program.message}`);
  const isOptional = rule.optionalOldSelf === true;
  if (program.usesOldSelf && !isOptional && old === undefined) return undefined;
  if (!program.usesOldSelf && old !== undefined && equal(value, old)) return undefined;
  const before = old === undefined ? undefined : rules.types.valueOf(schema, old);
  const variables = {
    self: rules.types.valueOf(schema, value),
    oldSelf: isOptional ? optionalOf(before) : before,
  };
  try {
    if (program.run(variables) === true) return undefined;
  } catch (thrown) {
    if (!(thrown instanceof CelError)) throw thrown;
    return invalidValue(path || nowhere, schema.type ?? '', evaluationText(thrown, compiled));
  }
  return refusal(schema, compiled, value, variables, path);
}

function evaluationText(error: CelError, { rule }: CompiledRule): string {
  const shown = (rule.message || rule.rule).trim();
  if (!error.message.startsWith('no such overload')) return `${error.message} evaluating rule: ${shown}`;
  return `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${shown}`;
}

function refusal(
  schema: Schema,
  compiled: CompiledRule,
  value: Json,
  variables: Readonly<Record<string, unknown>>,
  path: string,
): Cause {
  const { rule, messageProgram } = compiled;
  const place = rule.fieldPath ? fieldAt(schema, rule.fieldPath, path) : path;
  const message =
    told(messageProgram, variables) ?? (rule.message?.trim() || `failed rule: ${rule.rule.trim()}`);
  const isShown = !isObject(value) && !Array.isArray(value);
  const shown = isShown ? [JSON.stringify(value)] : [];
  const reason = (rule.reason || 'FieldValueInvalid') as CauseReason;
  return { reason, field: place || nowhere, message: reasonText(reason, message, shown) };
}

/** The message does not repeat objects and lists. */
function reasonText(reason: CauseReason, message: string, shown: readonly string[]): string {
  switch (reason) {
    case 'FieldValueRequired':
      return `Required value: ${message}`;
    case 'FieldValueForbidden':
      return `Forbidden: ${message}`;
    case 'FieldValueDuplicate':
      return ['Duplicate value', ...shown].join(': ');
    default:
      return ['Invalid value', ...shown, message].join(': ');
  }
}

/** Longest message that an expression may produce, bytes; Kubernetes' bound. */
const messageBytesMax = 5 * 1024;

/** The result of the message's expression; undefined if it fails or says nothing useful. */
function told(
  program: CelProgram | CelError | undefined,
  variables: Readonly<Record<string, unknown>>,
): string | undefined {
  if (program === undefined || program instanceof CelError) return undefined;
  try {
    const text = String(program.run(variables)).trim();
    const isUseful = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= messageBytesMax;
    return isUseful ? text : undefined;
  } catch (thrown) {
    if (thrown instanceof CelError) return undefined;
    throw thrown;
  }
}
