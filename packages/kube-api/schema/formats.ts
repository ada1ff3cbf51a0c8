/**
 * Text formats that Kubernetes checks: times, base64, quantities, and the `format` keyword of custom
 * resources.
 */
import { isIPv4, isIPv6 } from 'node:net';

const rfc3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** RFC 3339 in UTC with whole seconds, or undefined. */
export function canonicalTime(text: string): string | undefined {
  const ms = rfc3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** UTC with exactly six fractional digits, or undefined: other numbers of digits are refused. */
export function canonicalMicroTime(text: string): string | undefined {
  const match = rfc3339.exec(text);
  const fraction = match?.[2];
  if (fraction === undefined || fraction.length !== 7) return undefined;
  const ms = Date.parse(`${match?.[1]}${match?.[3]}`);
  return Number.isNaN(ms) ? undefined : `${new Date(ms).toISOString().slice(0, 19)}${fraction}Z`;
}

/** Position of the first byte that is not standard base64, or -1. */
export function firstBadBase64Byte(text: string): number {
  const body = text.replace(/={0,2}$/, '');
  const bad = body.search(/[^A-Za-z0-9+/]/);
  if (bad >= 0) return bad;
  return text.length % 4 === 0 ? -1 : text.length - (text.length % 4);
}

export function isQuantity(text: string): boolean {
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/.test(text);
}

const checks: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => canonicalTime(text) !== undefined,
  datetime: (text) => canonicalTime(text) !== undefined,
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: (text) =>
    /^[^/]+\/\d+$/.test(text) && (isIPv4(text.split('/')[0] ?? '') || isIPv6(text.split('/')[0] ?? '')),
  hostname: (text) =>
    /^[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*$/.test(
      text,
    ),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uuid: (text) => /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(text),
  byte: (text) => firstBadBase64Byte(text) < 0,
  uri: (text) => URL.canParse(text),
  duration: (text) => /^-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h|d|w))+$/.test(text),
};

/**
 * Whether `text` has the form that a schema's `format` names; formats that Kubernetes does not know are not
 * checked.
 */
export function hasFormat(text: string, format: string): boolean {
  return checks[format]?.(text) ?? true;
}

const patterns = new Map<string, RegExp | undefined>();

/** The most compiled patterns kept; more than any set of definitions has. */
const patternsMax = 10_000;

/**
 * A schema's `pattern`; undefined if it is not a regular expression. The real server's dialect is RE2;
 * structural schemas use what both dialects share.
 */
export function compiledPattern(text: string): RegExp | undefined {
  if (patterns.has(text)) return patterns.get(text);
  if (patterns.size >= patternsMax) patterns.clear();
  const expression = compile(text, 'u') ?? compile(text, '');
  patterns.set(text, expression);
  return expression;
}

function compile(text: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(text, flags);
  } catch {
    return undefined;
  }
}
