/**
 * IP addresses in the one form in which they are compared: dotted decimal, RFC 5952.
 *
 * Refused: IPv4 with leading zeros (octal to some readers, decimal to others), zone ids (they mean something
 * on one host only), brackets, ports, surrounding blanks. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) is
 * the IPv4 address that it maps, as in Go's net package, by which Pods and proxies name themselves.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type IpFamily = 'IPv4' | 'IPv6';

/** An address in canonical form (RFC 5952 for IPv6, dotted decimal for IPv4). */
export interface Address {
  readonly ip: string;
  readonly family: IpFamily;
}

/** undefined: the text is no address. */
export function parseAddress(text: string): Address | undefined {
  // isIP is strict about digits and zeros, ipaddr.js is not: the one decides, the other writes.
  const version = text.includes('%') ? 0 : isIP(text);
  if (version === 0) return undefined;
  if (version === 4) return { ip: text, family: 'IPv4' };
  const parsed = ipaddr.IPv6.parse(text);
  return parsed.isIPv4MappedAddress()
    ? { ip: parsed.toIPv4Address().toString(), family: 'IPv4' }
    : { ip: parsed.toRFC5952String(), family: 'IPv6' };
}

/**
 * Whether clients elsewhere can be sent to the address: not loopback, link-local, unspecified or multicast.
 * The API server refuses most of these in EndpointSlices.
 */
export function isPublishable({ ip }: Address): boolean {
  const range: string = ipaddr.parse(ip).range();
  return !['loopback', 'linkLocal', 'unspecified', 'multicast', 'broadcast'].includes(range);
}
