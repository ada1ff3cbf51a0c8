/**
 * What is wrong with the rules of a definition: they must compile, and their messages must be of one line.
 */
import { type Cause, invalidValue, notSupported, required } from '../../causes.ts';
import type { Schema, ValidationRule } from '../schema.ts';
import { CelError, type CelProgram } from './cel-library.ts';
import { fieldAt } from './field-path.ts';
import { type CompiledRule, type RuleNode, rulesOf } from './rules.ts';

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/** @param path where the schema stands in the definition */
export function definitionRuleCauses(schema: Schema, path: string): Cause[] {
  const rules = rulesOf(schema);
  return rules === undefined ? [] : nodeCauses(rules.root, path, undefined);
}

/** @param unmatched the list whose items cannot be told again, if the node stands in one */
function nodeCauses(node: RuleNode, path: string, unmatched: string | undefined): Cause[] {
  const own = node.rules.flatMap((rule, index) =>
    causesOf(node.schema, rule, `${path}.x-kubernetes-validations[${index}]`, unmatched),
  );
  const fields = [...node.properties].flatMap(([key, inner]) =>
    nodeCauses(inner, `${path}.properties[${key}]`, unmatched),
  );
  const isKeyed = node.schema['x-kubernetes-list-type'] === 'map';
  const { additional, items } = node;
  return [
    ...own,
    ...fields,
    ...(additional === undefined ? [] : nodeCauses(additional, `${path}.additionalProperties`, unmatched)),
    ...(items === undefined
      ? []
      : nodeCauses(items, `${path}.items`, unmatched ?? (isKeyed ? undefined : path))),
  ];
}

function causesOf(
  schema: Schema,
  compiled: CompiledRule,
  path: string,
  unmatched: string | undefined,
): Cause[] {
  const { rule, program } = compiled;
  if ((rule.rule ?? '').trim() === '') return [required(`${path}.rule`, 'rule is not specified')];
  const causes = [...textCauses(rule, path), ...placeCauses(schema, rule, path)];
  if (program instanceof CelError) {
    causes.push(invalidValue(`${path}.rule`, shownRule(rule), `compilation failed: ${program.message}`));
  } else {
    if (program.type !== 'bool')
      causes.push(invalidValue(`${path}.rule`, shownRule(rule), 'cel expression must evaluate to a bool'));
    causes.push(...oldSelfCauses(rule, program, path, unmatched));
  }
  return [...causes, ...messageCauses(compiled, path)];
}

function textCauses(
  { rule, message = '', messageExpression = '', reason }: ValidationRule,
  path: string,
): Cause[] {
  const causes: Cause[] = [];
  const isLong = rule.trim().includes('\n');
  if (message !== '' && message.trim() === '')
    causes.push(invalidValue(`${path}.message`, message, 'message must be non-empty if specified'));
  else if (message.trim().includes('\n'))
    causes.push(invalidValue(`${path}.message`, message, 'must not contain line breaks'));
  else if (isLong && message === '' && messageExpression === '')
    causes.push(required(`${path}.message`, 'message must be specified if rule contains line breaks'));
  if (reason !== undefined && !reasons.includes(reason))
    causes.push(notSupported(`${path}.reason`, reason, reasons));
  return causes;
}

function placeCauses(schema: Schema, { fieldPath = '' }: ValidationRule, path: string): Cause[] {
  if (fieldPath === '' || fieldAt(schema, fieldPath, '') !== undefined) return [];
  return [invalidValue(`${path}.fieldPath`, fieldPath, 'must be a valid path')];
}

function oldSelfCauses(
  rule: ValidationRule,
  { usesOldSelf }: CelProgram,
  path: string,
  unmatched: string | undefined,
): Cause[] {
  if (!usesOldSelf && rule.optionalOldSelf !== undefined) {
    const text = 'may not be set if oldSelf is not used in rule';
    return [invalidValue(`${path}.optionalOldSelf`, rule.optionalOldSelf, text)];
  }
  if (!usesOldSelf || unmatched === undefined) return [];
  const text = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${unmatched}`;
  return [invalidValue(`${path}.rule`, rule.rule, text)];
}

function messageCauses({ rule, messageProgram }: CompiledRule, path: string): Cause[] {
  const field = `${path}.messageExpression`;
  if (messageProgram instanceof CelError)
    return [
      invalidValue(field, shownRule(rule), `messageExpression compilation failed: ${messageProgram.message}`),
    ];
  if (messageProgram === undefined || messageProgram.type === 'string') return [];
  return [invalidValue(field, shownRule(rule), 'messageExpression must evaluate to a string')];
}

/** The rule as the real server shows it in its errors. */
function shownRule(rule: ValidationRule) {
  return {
    Rule: rule.rule,
    Message: rule.message ?? '',
    MessageExpression: rule.messageExpression ?? '',
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? '',
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}
