/**
 * IP addresses in one canonical form, so that they can be compared: dotted decimal, RFC 5952.
 *
 * Refused: IPv4 with leading zeros (some readers take them as octal), zone ids (they are valid on one host
 * only), brackets, ports, surrounding blanks. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) becomes the
 * IPv4 address, as in Go's net package, which Pods and proxies use to name themselves.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type IpFamily = 'IPv4' | 'IPv6';

/** An address in canonical form (RFC 5952 for IPv6, dotted decimal for IPv4). */
export interface Address {
  readonly ip: string;
  readonly family: IpFamily;
}

/** @returns undefined if the text is no address */
export function parseAddress(text: string): Address | undefined {
  // isIP is strict about digits and zeros, and ipaddr.js is not. So isIP decides, and ipaddr.js writes the
  // canonical form.
  const version = text.includes('%') ? 0 : isIP(text);
  if (version === 0) return undefined;
  if (version === 4) return { ip: text, family: 'IPv4' };
  const parsed = ipaddr.IPv6.parse(inGroups(text));
  return parsed.isIPv4MappedAddress()
    ? { ip: parsed.toIPv4Address().toString(), family: 'IPv4' }
    : { ip: parsed.toRFC5952String(), family: 'IPv6' };
}

/**
 * The address without dots: ipaddr.js takes `::10.0.0.1`, an IPv6 address of a form that nobody uses any
 * more, for `::ffff:10.0.0.1`.
 */
function inGroups(text: string): string {
  return text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...quad: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = quad.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
}

const unreachable: Readonly<Record<string, string>> = {
  loopback: 'a loopback address',
  linkLocal: 'link-local',
  unspecified: 'no host’s address',
  multicast: 'a multicast address',
  broadcast: 'a broadcast address',
};

/**
 * Why clients on other hosts cannot reach the address, after "it is"; null: they can. The API server refuses
 * most of those in EndpointSlices.
 */
export function unreachability(text: string): string | null {
  const address = parseAddress(text);
  if (address === undefined) return text.includes('%') ? 'an address with a zone' : 'malformed';
  return unreachable[ipaddr.parse(address.ip).range()] ?? null;
}
