/** Label selectors in the form of a query: `app=web,tier!=db,zone in (a,b),!old`. Parsing and matching. */
import { type ApiError, badRequest } from '../status.ts';

type Operator = 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';

export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

export type LabelSelector = readonly Requirement[];

/** @throws ApiError 400 in the real server's words */
export function parseLabelSelector(text: string): LabelSelector {
  const parser = new Parser(text);
  return parser.requirements();
}

/** Kubernetes' rule: `!=` and `notin` also match objects without the label. */
export function matchesLabels(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return selector.every((requirement) => meets(requirement, labels?.[requirement.key]));
}

function meets({ operator, values }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    default:
      return isBeyond(operator, value, values[0] ?? '');
  }
}

function isBeyond(operator: 'gt' | 'lt', value: string | undefined, bound: string): boolean {
  if (value === undefined || !/^-?\d+$/.test(value)) return false;
  return operator === 'gt' ? Number(value) > Number(bound) : Number(value) < Number(bound);
}

const operators = new Set(['=', '==', '!=', 'in', 'notin', '>', '<']);
const keyForm = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const valueForm = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Walks over the tokens of one selector. */
class Parser {
  readonly #tokens: string[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = text.match(/==|!=|[=!<>(),]|[^\s=!<>(),]+/g) ?? [];
  }

  requirements(): Requirement[] {
    const found: Requirement[] = [];
    if (this.#peek() === '') return found;
    for (;;) {
      found.push(this.#requirement());
      const separator = this.#take();
      if (separator === '') return found;
      if (separator !== ',') throw unexpected(separator, "',' or 'end of string'");
      if (!isIdentifier(this.#peek()) && this.#peek() !== '!')
        throw badRequest(`found '${this.#peek()}', expected: identifier after ','`);
    }
  }

  #peek(): string {
    return this.#tokens[this.#next] ?? '';
  }

  #take(): string {
    const token = this.#peek();
    this.#next += 1;
    return token;
  }

  #requirement(): Requirement {
    if (this.#peek() === '!') {
      this.#take();
      return { key: this.#key(), operator: 'absent', values: [] };
    }
    const key = this.#key();
    const next = this.#peek();
    if (next === '' || next === ',') return { key, operator: 'exists', values: [] };
    this.#take();
    if (!operators.has(next)) throw unexpected(next, 'in, notin, =, ==, !=, gt, lt');
    return { key, ...this.#condition(key, next) };
  }

  #condition(key: string, sign: string): { operator: Operator; values: string[] } {
    if (sign === 'in' || sign === 'notin') return { operator: sign, values: this.#list(key) };
    const value = this.#value(key);
    if (sign !== '>' && sign !== '<') return { operator: sign === '!=' ? 'notin' : 'in', values: [value] };
    if (!/^-?\d+$/.test(value))
      throw badSelector(`values[0][${key}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer");
    return { operator: sign === '>' ? 'gt' : 'lt', values: [value] };
  }

  #key(): string {
    const key = this.#take();
    if (!isIdentifier(key)) throw unexpected(key, 'identifier');
    if (!keyForm.test(key))
      throw badSelector('key', key, 'name part must consist of alphanumeric characters');
    return key;
  }

  #value(key: string): string {
    const next = this.#peek();
    if (next === '' || next === ',') return '';
    return checkedValue(key, this.#identifier());
  }

  #identifier(): string {
    const token = this.#take();
    if (!isIdentifier(token)) throw unexpected(token, 'identifier');
    return token;
  }

  #list(key: string): string[] {
    if (this.#take() !== '(') throw unexpected(this.#tokens[this.#next - 1] ?? '', "'('");
    const values: string[] = [];
    for (;;) {
      values.push(isIdentifier(this.#peek()) ? checkedValue(key, this.#take()) : '');
      const sign = this.#take();
      if (sign === ')') return values;
      if (sign !== ',') throw unexpected(sign, "',', or 'identifier'");
    }
  }
}

function isIdentifier(token: string): boolean {
  return token !== '' && !/^[=!<>(),]/.test(token);
}

function checkedValue(key: string, value: string): string {
  if (valueForm.test(value)) return value;
  throw badSelector(
    `values[0][${key}]`,
    value,
    'a valid label must be an empty string or consist of alphanumeric characters',
  );
}

function unexpected(found: string, expected: string): ApiError {
  return badRequest(`unable to parse requirement: found '${found}', expected: ${expected}`);
}

function badSelector(field: string, value: string, detail: string): ApiError {
  return badRequest(
    `unable to parse requirement: ${field}: Invalid value: ${JSON.stringify(value)}: ${detail}`,
  );
}
