/**
 * Host names of certificates: their canonical form, and which of them an Issuer allows.
 *
 * Pure. Absent: whether the host exists, and public suffixes (registered-domain.ts).
 */
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { sha256Hex } from './stored-certificate.ts';

/** RFC 1035: characters of a whole name, and of one label. */
const hostCharsMax = 253;
/** Letters of any script, digits, hyphens, and the dots of IDNA. */
const hostCharacters = /^[\p{L}\p{N}\p{M}\-.\u3002\uFF0E\uFF61]+$/u;
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The host in lower case, IDNA-encoded, without a trailing dot; a wildcard keeps its `*.`.
 *
 * @returns `{ invalid }` with the reason for people
 */
export function readHost(text: string): string | { readonly invalid: string } {
  const trimmed = text.trim();
  const isWildcard = trimmed.startsWith('*.');
  const given = trimmed.slice(isWildcard ? 2 : 0).replace(/\.$/, '');
  // Node takes a slash and the like as the start of another part of a URL, and drops it.
  const ascii = hostCharacters.test(given) ? domainToASCII(given).replace(/\.$/, '') : '';
  const labels = ascii.split('.');
  if (ascii === '' || isIP(ascii.replace(/^\[|\]$/g, '')) !== 0 || !labels.every((one) => label.test(one))) {
    return { invalid: `"${text.slice(0, 80)}" is not a host name` };
  }
  if (/^[0-9]+$/.test(labels.at(-1) ?? '')) return { invalid: `"${text.slice(0, 80)}" is not a host name` };
  const host = isWildcard ? `*.${ascii}` : ascii;
  return host.length > hostCharsMax
    ? { invalid: `"${host.slice(0, 80)}…" is too long for a host name` }
    : host;
}

/**
 * Whether a pattern of an Issuer's `spec.domains` allows the host: `*` stands for one label, `**` for one or
 * more. Only `*` and `**` match the host's own wildcard label.
 */
export function allows(pattern: string, host: string): boolean {
  return matches(pattern.toLowerCase().replace(/\.$/, '').split('.'), host.split('.'));
}

/** One pass over the host with all possible positions in the pattern, so no pattern makes it slow. */
function matches(pattern: readonly string[], host: readonly string[]): boolean {
  // Each part of a pattern takes at least one label, and a host has a bounded number.
  if (pattern.length > host.length) return false;
  let places: ReadonlySet<number> = new Set([0]);
  for (const one of host) {
    const next = new Set<number>();
    for (const place of places) {
      const part = pattern[place];
      if (part === '**') next.add(place);
      if (part === '**' || part === '*' || part === one) next.add(place + 1);
    }
    places = next;
  }
  return places.has(pattern.length);
}

/** The pattern in canonical form, or why it is invalid. */
export function readPattern(text: string): string | { readonly invalid: string } {
  const parts = text.trim().replace(/\.$/, '').split('.');
  const stars = parts.filter((part) => part === '*' || part === '**').length;
  const plain = parts.filter((part) => part !== '*' && part !== '**').join('.');
  if (plain === '') return stars > 0 ? parts.join('.') : { invalid: 'a pattern must not be empty' };
  const host = readHost(plain);
  if (typeof host !== 'string' || host.startsWith('*'))
    return { invalid: `"${text}" is not a host name pattern` };
  const labels = host.split('.');
  return parts.map((part) => (part === '*' || part === '**' ? part : (labels.shift() ?? ''))).join('.');
}

/** The label of Secrets with a certificate of ours. */
export const domainLabel = 'orrery.dev/domain';

/**
 * The value of the label `orrery.dev/domain`: the host if it is a valid value, otherwise a readable prefix
 * and a hash.
 */
export function hostLabel(host: string): string {
  if (host.length <= 63 && /^[a-z0-9]/.test(host)) return host;
  const readable = host
    .replace(/^\*\./, 'wildcard.')
    .slice(0, 46)
    .replace(/[^a-z0-9]+$/, '');
  return `${readable}-${sha256Hex(host).slice(0, 16)}`;
}
