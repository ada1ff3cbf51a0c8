/** The validation rules of a definition (`x-kubernetes-validations`), compiled once for each schema. */
import type { Schema, ValidationRule } from '../schema.ts';
import { CelCompiler, CelError, type CelProgram } from './cel-library.ts';
import { CelTypes } from './types.ts';

export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: CelProgram | CelError;
  readonly messageProgram: CelProgram | CelError | undefined;
}

/** A node of the schema with rules at it or below. */
export interface RuleNode {
  readonly schema: Schema;
  readonly rules: readonly CompiledRule[];
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly additional: RuleNode | undefined;
  readonly items: RuleNode | undefined;
}

export interface Rules {
  readonly types: CelTypes;
  readonly root: RuleNode;
}

const known = new WeakMap<Schema, Rules | 'none'>();

/**
 * The rules of a whole schema; undefined if it has none. Nothing is thrown: a rule that cannot be compiled
 * says so in its place.
 */
export function rulesOf(schema: Schema): Rules | undefined {
  const found = known.get(schema) ?? compiled(schema);
  known.set(schema, found);
  return found === 'none' ? undefined : found;
}

function compiled(schema: Schema): Rules | 'none' {
  if (!hasRules(schema)) return 'none';
  const types = new CelTypes(schema);
  const compiler = new CelCompiler(types.all());
  const root = nodeOf(schema, (node) => compileRules(compiler, types, node));
  return root === undefined ? 'none' : { types, root };
}

/** Most schemas have no rules and need no compiler. */
function hasRules(schema: Schema): boolean {
  return ownRules(schema).length > 0 || childSchemas(schema).some(hasRules);
}

function childSchemas(schema: Schema): Schema[] {
  const { items, additionalProperties } = schema;
  return [
    ...Object.values(schema.properties ?? {}),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
    ...(items === undefined ? [] : [items]),
  ];
}

function ownRules(schema: Schema): readonly ValidationRule[] {
  return schema['x-kubernetes-validations'] ?? [];
}

function nodeOf(schema: Schema, compile: (schema: Schema) => CompiledRule[]): RuleNode | undefined {
  const rules = compile(schema);
  const properties = new Map<string, RuleNode>();
  for (const [key, field] of Object.entries(schema.properties ?? {})) {
    const node = nodeOf(field, compile);
    if (node !== undefined) properties.set(key, node);
  }
  const { items, additionalProperties } = schema;
  const additional =
    typeof additionalProperties === 'object' ? nodeOf(additionalProperties, compile) : undefined;
  const item = items === undefined ? undefined : nodeOf(items, compile);
  const isEmpty = rules.length + properties.size === 0 && additional === undefined && item === undefined;
  return isEmpty ? undefined : { schema, rules, properties, additional, items: item };
}

function compileRules(compiler: CelCompiler, types: CelTypes, schema: Schema): CompiledRule[] {
  return ownRules(schema).map((rule) => {
    const self = types.bareTypeOf(schema);
    const variables = { self, oldSelf: rule.optionalOldSelf === true ? `optional<${self}>` : self };
    return {
      rule,
      program: attempt(compiler, rule.rule, variables),
      messageProgram: rule.messageExpression
        ? attempt(compiler, rule.messageExpression, variables)
        : undefined,
    };
  });
}

function attempt(
  compiler: CelCompiler,
  text: string,
  variables: Readonly<Record<string, string>>,
): CelProgram | CelError {
  try {
    return compiler.compile(text, variables);
  } catch (thrown) {
    if (thrown instanceof CelError) return thrown;
    throw thrown;
  }
}
