/** Rules for IP addresses in fields: one spelling, and the special ranges that an endpoint may not have. */
import { isIPv4 } from 'node:net';
import { parseAddress } from '../../../src/base/address.ts';
import { type Cause, invalidValue } from '../causes.ts';

export type Family = 'IPv4' | 'IPv6';

/** The address must be canonical, of the family (if given), and not a special one. */
export function endpointAddressCauses(list: string, index: number, text: string, family: Family): Cause[] {
  const field = `${list}[${index}]`;
  const spelling = spellingProblem(text);
  if (spelling !== '') return [invalidValue(field, text, spelling)];
  const found: Family = isIPv4(text) ? 'IPv4' : 'IPv6';
  const causes = found === family ? [] : [invalidValue(list, text, `must be an ${family} address`)];
  const special = specialRange(text);
  return special === '' ? causes : [...causes, invalidValue(field, text, special)];
}

/** What is wrong with the spelling of an address; empty if nothing is. */
export function spellingProblem(text: string): string {
  if (/^[0-9.]+$/.test(text) && /(^|\.)0\d/.test(text)) return 'must not have leading 0s';
  const parsed = parseAddress(text);
  if (parsed === undefined) return 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
  if (parsed.family === 'IPv4' && text.includes(':')) return 'must not be an IPv4-mapped IPv6 address';
  return parsed.ip === text ? '' : `must be in canonical form ("${parsed.ip}")`;
}

/**
 * Why no endpoint can have the address. Loopback is missing on purpose: the Pods of a development cluster
 * have 127.x addresses (docs/development-cluster.md).
 */
function specialRange(ip: string): string {
  if (ip === '0.0.0.0' || ip === '::') return `may not be unspecified (${ip})`;
  if (ip.startsWith('169.254.') || /^fe[89ab]/.test(ip))
    return 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
  if (ip.startsWith('224.0.0.') || /^ff[0-9a-f]2:/.test(ip))
    return 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';
  return '';
}
