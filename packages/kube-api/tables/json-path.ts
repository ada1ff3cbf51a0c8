/**
 * JSON paths as printer columns use them: `.spec.replicas`, `.a['b\\.c']`, `.list[0]`, `.list[*].name`,
 * `.conditions[?(@.type=="Ready")].status`, `..name`.
 *
 * Promises: an unreadable path leads nowhere; nothing throws. Absent: functions, unions, slices and regular
 * expressions.
 */
import { isObject, type Json } from '../json.ts';

type Step = (value: Json) => Json[];

/** All values that the path leads to, in order. */
export function follow(path: string, value: Json): Json[] {
  const steps = stepsOf(path);
  return steps === undefined ? [] : steps.reduce((found, step) => found.flatMap(step), [value]);
}

const stepPattern =
  /\.\.(?<below>[\w-]+)|\.(?<field>(?:[^.[\]\\]|\\.)+)|\[(?<index>-?\d+)\]|\[(?<all>\*)\]|\['(?<quoted>[^']*)'\]|\[\?\((?<filter>[^)]*)\)\]/y;

/** undefined: not a path. */
function stepsOf(path: string): Step[] | undefined {
  const text = path.startsWith('.') || path.startsWith('[') ? path : `.${path}`;
  const steps: Step[] = [];
  stepPattern.lastIndex = 0;
  while (stepPattern.lastIndex < text.length) {
    const groups = stepPattern.exec(text)?.groups;
    const step = groups === undefined ? undefined : stepOf(groups);
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return steps;
}

function stepOf(groups: Readonly<Record<string, string | undefined>>): Step | undefined {
  const { below, field, index, all, quoted, filter } = groups;
  if (below !== undefined) return (value) => everyBelow(value).flatMap((one) => fieldOf(one, below));
  if (all !== undefined || field === '*') return itemsOf;
  if (field !== undefined) return (value) => fieldOf(value, field.replace(/\\(.)/g, '$1'));
  if (index !== undefined)
    return (value) => (Array.isArray(value) ? value.slice(...rangeOf(Number(index))) : []);
  if (filter !== undefined) return filterStep(filter);
  // Kubernetes reads a quoted key as a path of its own, so a dot in it still needs a backslash.
  return (value) => follow(`.${quoted}`, value);
}

function rangeOf(index: number): [number, number | undefined] {
  return [index, index === -1 ? undefined : index + 1];
}

function fieldOf(value: Json, key: string): Json[] {
  if (!isObject(value) || !Object.hasOwn(value, key)) return [];
  const found = value[key];
  return found === undefined ? [] : [found];
}

function itemsOf(value: Json): Json[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value).filter((item) => item !== undefined) : [];
}

function everyBelow(value: Json): Json[] {
  return [value, ...itemsOf(value).flatMap(everyBelow)];
}

/** `@.type=="Ready"`, or `@.name` for "has one". */
function filterStep(text: string): Step | undefined {
  const match = /^\s*@([^=!<>\s]*)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*$/.exec(text);
  if (match === null) return undefined;
  const [, path = '', sign, right] = match;
  const holds = (item: Json): boolean => {
    const left = follow(path, item)[0];
    if (sign === undefined || right === undefined) return left !== undefined;
    return left !== undefined && compares(left, sign, literalOf(right));
  };
  return (value) => itemsOf(value).filter(holds);
}

function literalOf(text: string): Json {
  const quoted = /^(["'])(.*)\1$/.exec(text);
  if (quoted !== null) return quoted[2] ?? '';
  if (text === 'true' || text === 'false') return text === 'true';
  return Number.isNaN(Number(text)) ? text : Number(text);
}

function compares(left: Json, sign: string, right: Json): boolean {
  if (sign === '==') return left === right;
  if (sign === '!=') return left !== right;
  if (left === null || right === null || typeof left !== typeof right) return false;
  const order = left < right ? -1 : left > right ? 1 : 0;
  return sign.startsWith('<')
    ? order < 0 || (sign === '<=' && order === 0)
    : order > 0 || (sign === '>=' && order === 0);
}
